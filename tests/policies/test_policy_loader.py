"""Policies by name, module, file and entry point; and what people are told when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.builtin.focus import Focus
from policies.host.loader import BUILT_IN, LoadError, load, load_all, names

ONE = "class Mine:\n    name = 'mine'\n    def react(self, event, view):\n        return []\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, with an installed package that has an entry point."""
    (tmp_path / "mine.py").write_text(ONE)
    (tmp_path / "two.py").write_text(ONE + ONE.replace("Mine", "Other"))
    (tmp_path / "made.py").write_text(ONE + ONE.replace("Mine", "Other") + "policy = Mine()\n")
    (tmp_path / "none.py").write_text("x = 3\n")
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    (tmp_path / "plain.py").write_text("def make():\n    return 3\n")
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[sluice.policies]\nfrugal = mine:Mine\nbad = broken:Mine\nfocus = mine:Mine\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("policy", BUILT_IN)
def test_built_in_policies_load_by_name(policy: type) -> None:
    assert type(load(policy.name)) is policy  # type: ignore[attr-defined]


def test_every_way_to_name_one(site: Path) -> None:
    for what in (
        "mine:Mine",
        f"{site}/mine.py",
        f"{site}/two.py:Mine",
        f"{site}/made.py",
        "frugal",
    ):
        assert load(what).name == "mine", what
    assert isinstance(load("focus"), Focus)  # a built-in name can't be taken over
    assert "frugal" in names()


def test_several_in_order_with_parameters() -> None:
    first, second = load_all(["text_first", "focus"], {"focus": {"share": 0.5}})
    assert (first.name, second.name) == ("text_first", "focus")
    with pytest.raises(LoadError, match="'focsu', which is not among"):
        load_all(["focus"], {"focsu": {}})


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("focsu", "no policy is called 'focsu'; did you mean 'focus'?"),
        ("", "no policy is called ''"),
        ("{site}/mien.py", "did you mean 'mine.py'"),
        ("{site}/nowhere/x.py", "no .py file is there"),
        ("{site}/none.py", "no class in it has a method `react`"),
        ("{site}/two.py", "Say one of .*two.py:Mine, .*two.py:Other"),
        ("{site}/broken.py", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("broken:Mine", "can't import 'broken'"),
        ("bad", r"policy 'bad' \(broken:Mine\)"),
        ("mine:Mien", "nothing is called 'Mien'; did you mean 'Mine'?"),
        ("plain:make", "3 is no policy: it needs `name` and `react`"),
        ("no.such.module:x", "can't import"),
    ],
)
def test_errors_say_what_was_looked_for_and_what_there_is(
    site: Path, what: str, message: str
) -> None:
    with pytest.raises(LoadError, match=message):
        load(what.format(site=site))


def test_parameters_that_do_not_fit(site: Path) -> None:
    with pytest.raises(LoadError, match=r"built-in policy 'focus': ValueError: share 2"):
        load("focus", {"share": 2})
    with pytest.raises(LoadError, match="unexpected keyword argument 'shear'"):
        load("focus", {"shear": 0.5})
    with pytest.raises(LoadError, match="takes no parameters"):
        load(f"{site}/made.py", {"x": 1})

"""Where plug-ins are found: a file, a module, an installed package, a table of built-in ones."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from plugins.finding import LoadError, PluginSort, find, installed, make, suggest

SORT = PluginSort("import driver", "sluice.test_drivers", "find", "import drivers")
ONE = 'class One:\n    name = "one"\n\n    def find(self):\n        return 1\n'


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "one.py").write_text(ONE)
    (tmp_path / "two.py").write_text(ONE + ONE.replace("One", "Two"))
    (tmp_path / "named.py").write_text(ONE + "import_driver = One()\n")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "raises.py").write_text("1 / 0\n")
    info = tmp_path / "x-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[sluice.test_drivers]\nuno = one:One\nbad = raises:One\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("one", "two", "named", "empty", "raises"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def name_of(found: object) -> str:
    return str(getattr(found, "__name__", type(found).__name__))


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("{site}/one.py", "One"),
        ("{site}/two.py:Two", "Two"),
        ("{site}/named.py", "One"),
        ("two:Two", "Two"),
        ("uno", "One"),
        ("mine", "int"),
    ],
)
def test_it_is_found(site: Path, what: str, name: str) -> None:
    found, where = find(what.format(site=site), SORT, {"mine": int})
    assert name_of(found) == name
    assert what.format(site=site) in where


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("eins", "no import driver is called 'eins'"),
        ("{site}/noe.py", "did you mean 'one.py'"),
        ("{site}/empty/x.py", "no .py file is there"),
        ("{site}/empty.py", "no class in it has a method `find`"),
        ("{site}/two.py", "which of its import drivers"),
        ("{site}/raises.py", "import driver file .*: ZeroDivisionError"),
        ("{site}/one.py:Once", "nothing is called 'Once'; did you mean 'One'"),
        ("raises:One", "can't import 'raises': ZeroDivisionError"),
        ("bad", r"import driver 'bad' \(raises:One\): ZeroDivisionError"),
    ],
)
def test_errors_are_one_sentence_that_says_where(site: Path, what: str, message: str) -> None:
    with pytest.raises(LoadError, match=message) as caught:
        find(what.format(site=site), SORT)
    assert "\n" not in str(caught.value)


def test_a_file_that_others_can_write_is_not_run(site: Path) -> None:
    (site / "one.py").chmod(0o666)
    with pytest.raises(LoadError, match="is not run"):
        find(str(site / "one.py"), SORT)


def test_what_is_found_is_called_if_it_makes_plugins() -> None:
    class Driver:
        def __init__(self, size: int = 1) -> None:
            self.size = size

        def find(self) -> int:
            return self.size

    made = make(Driver, "here", {"size": 3}, SORT)
    assert isinstance(made, Driver)
    assert made.find() == 3
    assert make(made, "here", {}, SORT) is made
    assert isinstance(make(partial(Driver, 2), "here", {}, SORT), Driver)
    with pytest.raises(LoadError, match="here: TypeError"):
        make(Driver, "here", {"sice": 3}, SORT)
    with pytest.raises(LoadError, match="takes no parameters"):
        make(made, "here", {"size": 3}, SORT)


def test_names_of_installed_ones_come_after_the_built_in(site: Path) -> None:
    assert installed(SORT, ("uno", "mine")) == ("uno", "mine", "bad")
    assert suggest("mien", ("mine",)) == "; did you mean 'mine'? (there are: mine)"

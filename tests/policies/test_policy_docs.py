"""docs/policies.md: its policies are taken from the file and run, its tables held to the code."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from hats.disciplines import registry
from policies.api.commands import Command
from policies.api.events import Event
from policies.api.plan import Decision
from policies.host.loader import BUILT_IN, load

TEXT = (Path(__file__).parents[2] / "docs" / "policies.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python (file|test)=(\S+)\n(.*?)^```$", TEXT, re.M | re.S)
FILES = {name: code for kind, name, code in BLOCKS if kind == "file"}
TESTS = [(name, code) for kind, name, code in BLOCKS if kind == "test"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the document, saved as it says, where Python finds them."""
    for name, code in FILES.items():
        (tmp_path / name).write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_every_block_of_python_is_run() -> None:
    assert len(FILES) == 2
    assert len(TESTS) == 3
    assert TEXT.count("```python") == len(BLOCKS)


@pytest.mark.parametrize(("name", "code"), TESTS)
def test_the_policies_do_what_the_document_says(folder: Path, name: str, code: str) -> None:
    assert "assert" in code
    assert (folder / name).exists()
    exec(compile(code, f"docs/policies.md:{name}", "exec"), {})


@pytest.mark.parametrize("name", FILES)
def test_the_files_load_as_the_document_says(folder: Path, name: str) -> None:
    policy = load(str(folder / name))
    assert policy.name == name.removesuffix(".py")


def test_the_first_one_has_twenty_lines() -> None:
    code = FILES["patience.py"]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20


def listed(heading: str) -> list[str]:
    """The names in the first column of the table under a heading."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.M)


def test_the_tables_list_what_there_is() -> None:
    assert listed("What a policy hears") == [event.__name__ for event in get_args(Event)]
    assert listed("What a policy can say") == [command.__name__ for command in get_args(Command)]
    assert set(listed("Rules")) == set(Decision.__dataclass_fields__)
    for name in (*registry.names(), *(policy.name for policy in BUILT_IN)):
        assert f"`{name}`" in TEXT

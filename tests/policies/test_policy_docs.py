"""docs/policies.md: its policies are taken from the file and run, its tables held to the code."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import get_args

import pytest

from hats.disciplines import registry
from policies.api.commands import (
    Cancel,
    Command,
    Defer,
    Fetch,
    GiveWay,
    Raise,
    Reserve,
    Resume,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetWeight,
)
from policies.api.commands import (
    Path as NodePath,
)
from policies.api.events import DocumentClosed, DocumentOpened, Event, Progress, SkeletonGrew
from policies.api.plan import Decision, Rule
from policies.host.checks import problem
from policies.host.loader import BUILT_IN, load
from policies.host.model import SessionModel
from policies.testing.simulated_remote import Item, SimulatedPage, SimulatedRemote
from wire.skeleton import Kind, Part, Use

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
    assert len(FILES) == 4
    assert len(TESTS) == 5
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


# -- what is refused -----------------------------------------------------------------------------

PAGE = SimulatedPage(1, (Item(2, 7_000), Item(4, 7_000)))
PARTS = tuple(Part(item.component, "u", Kind.IMAGE, Use.ELEMENT, 0) for item in PAGE.items)
OF_NODES: dict[str, Callable[[NodePath], Command]] = {
    "SetScheduler": lambda path: SetScheduler(path, "low_fidelity_first"),
    "SetWeight": lambda path: SetWeight(path, 2.0),
    "SetQuantum": lambda path: SetQuantum(path, 512),
    "Reserve": lambda path: Reserve(path, 500.0),
    "GiveWay": GiveWay,
}
PATHS = {
    "`()`": (), "application": ("browser",), "document": ("browser", "1"),
    "component": ("browser", "1", "4"),
}  # fmt: skip
HELD = SetPlan((Rule(components=(4,), level="none"),))
OF_COMPONENTS: dict[str, tuple[Command, list[Command]]] = {
    "Fetch": (Fetch(4, "high"), [HELD]),
    "Cancel": (Cancel(4), []),
    "Defer": (Defer(4), []),
    "Resume": (Resume(4), [Defer(4)]),
    "Raise": (Raise(4, 3), [SetScheduler(("browser", "1"), "priority")]),
}
"""What is commanded of component 4, and what before, so that it makes a difference."""


def cells(last: str) -> list[tuple[str, str, str]]:
    """Command, column and text of each cell in the table of which that is the last column."""
    section = TEXT.split("\n## What is refused\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    columns: list[str] = []
    found = []
    for name, *said in rows:
        if name == "command":
            columns = said
        elif said and columns[-1] == last:
            found += [(name.strip("`"), *cell) for cell in zip(columns, said, strict=True)]
    return found


def model(*events: Event) -> SessionModel:
    """What the device knows after these, of a page that was opened."""
    made = SessionModel()
    for event in (DocumentOpened(1, "u"), SkeletonGrew(1, PARTS), *events):
        made.hear(event, now=0.0)
    return made


STATES = {
    "on its way": model(),
    "all of it is here": model(Progress(4, 7_000, "original", True, 7_000)),
    "it ended at a coarser level": model(Progress(4, 1_000, "low", True, 7_000)),
    "gone": model(DocumentClosed(1)),
}


def remote(
    before: list[Command], *, sends: int = 0, plan: tuple[Rule, ...] = ()
) -> SimulatedRemote:
    """A remote that has the page, fetched by a plan, and has sent so many quanta."""
    made = SimulatedRemote(quantum=1_000, rate=1_000.0)
    made.obey(SetPlan(plan), now=0.0)
    made.open(PAGE)
    for command in before:
        assert made.obey(command, now=0.0) == ""
    order(made, sends)
    return made


def order(one: SimulatedRemote, quanta: int = 1_000) -> list[str]:
    """The components whose turn it is, until nothing is left to send."""
    grants = (one.multiplexer.next_quantum(0.0) for _ in range(quanta))
    served = []
    for grant in takewhile(lambda grant: grant, grants):
        assert grant is not None
        one.leaves[int(grant.leaf.name)].sent += grant.length
        served.append(grant.leaf.name)
    return served


@pytest.mark.parametrize(("name", "column", "said"), cells("component"))
def test_a_command_can_name_the_nodes_that_the_table_says(
    name: str, column: str, said: str
) -> None:
    command = OF_NODES[name](PATHS[column])
    refusals = problem(command, model()), remote([]).obey(command, now=0.0)
    for refusal in refusals:
        assert isinstance(refusal, str)
        assert said in refusal if said != "yes" else refusal == ""


@pytest.mark.parametrize(("name", "column", "said"), cells("gone"))
def test_a_command_about_a_component_does_what_the_table_says(
    name: str, column: str, said: str
) -> None:
    command, before = OF_COMPONENTS[name]
    refusal = problem(command, STATES[column])
    sends = 0 if column == "on its way" else 1_000
    plan = (Rule(level="low"),) if column == "it ended at a coarser level" else ()
    far, same = (remote(before, sends=sends, plan=plan) for _ in range(2))
    if column != "on its way":  # what was held comes, and then there is no more of it
        for one in (far, same):
            one.obey(SetPlan(()), now=0.0)
            one.obey(Resume(4), now=0.0)
            order(one)
    assert far.obey(command, now=0.0) == "", "the remote refuses nothing of components"
    changed = order(far) != order(same)
    assert changed == (said == "obeyed")
    assert said in refusal if said not in ("obeyed", "nothing") else refusal == ""


def test_a_fetch_of_a_level_that_is_here_is_not_refused() -> None:
    assert problem(Fetch(4, "low"), STATES["it ended at a coarser level"]) == ""


def test_the_tables_of_refusals_have_every_command_that_names_something() -> None:
    assert {name for name, _, _ in cells("component")} == set(OF_NODES)
    assert {name for name, _, _ in cells("gone")} == set(OF_COMPONENTS)
    assert {column for _, column, _ in cells("component")} == set(PATHS)
    assert {column for _, column, _ in cells("gone")} == set(STATES)
    of_the_policy = {"SetPlan", "WatchBandwidth", "SetTimer"}
    every = {command.__name__ for command in get_args(Command)}
    assert every == {*OF_NODES, *OF_COMPONENTS, *of_the_policy}

"""Tests of the tests: each module has a unit suite in its own room, through public names only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.house.test_rooms import COMPOSE, ROOT, TABLE, House, house

TESTS: Final = ROOT / "tests"
MOST_WITHOUT: Final = 0.05
"""Share of the modules outside pure rooms that may have no unit suite: what only a browser, a
kernel or an office program can run."""


def modules_imported(file: Path) -> Iterator[str]:
    """Names of all that a file imports: modules, and what may be one inside a package."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def private_names(source: str) -> Iterator[str]:
    """Names with an underscore before them that a test takes from somebody else."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                if _is_private(one.name):
                    yield f"{node.lineno}: {one.name}"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def without_suite(house: House, tests: Path) -> list[str]:
    """Modules that no test below the folder of their own top level imports."""
    suites: dict[str, set[str]] = {}
    for file in tests.rglob("*.py"):
        top = file.relative_to(tests).parts[0]
        suites.setdefault(top, set()).update(modules_imported(file))
    return [
        name
        for name, module in house.modules.items()
        if module.room
        and module.path.name not in ("__init__.py", "__main__.py")
        and name.partition(".")[0] not in COMPOSE
        and name not in suites.get(name.partition(".")[0], ())
    ]


def test_every_module_has_a_unit_suite_in_its_room() -> None:
    ours = house()
    missing = without_suite(ours, TESTS)
    pure = [name for name in missing if TABLE[ours.modules[name].room].get("pure")]
    assert pure == []
    others = [
        name
        for name, module in ours.modules.items()
        if module.room in TABLE and not TABLE[module.room].get("pure")
    ]
    assert len(missing) <= MOST_WITHOUT * len(others), missing


def test_no_test_takes_a_private_name() -> None:
    taken = [
        f"{file.relative_to(TESTS)}:{name}"
        for file in sorted(TESTS.rglob("*.py"))
        for name in private_names(file.read_text())
    ]
    assert taken == []


def test_a_module_without_a_suite_is_found(tmp_path: Path) -> None:
    """Planted: a suite in another room's folder does not count."""
    other = "hats"
    for path, text in (
        ("wire/frames.py", ""),
        ("wire/names.py", ""),
        ("tests/wire/test_frames.py", "from wire import frames"),
        (f"tests/{other}/test_names.py", "import wire.names"),
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert without_suite(House(tmp_path), tmp_path / "tests") == ["wire.names"]


def test_a_private_name_is_found() -> None:
    source = "from a import _b\nself._own\nthing._other.x\nthing.__class__\ncls._of_all"
    assert list(private_names(source)) == ["1: _b", "3: thing._other"]

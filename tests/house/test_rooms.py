"""Rooms keep their walls: size, what each may import, purity, no circles (rooms.toml)."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = tomllib.loads(Path(__file__).with_name("rooms.toml").read_text())
COMPOSE: Final = ("bench", "demo", "sluice")
"""They may import anything."""
MOST: Final = 15
"""Modules beside each other."""
IMPURE: Final = frozenset(
    ("asyncio", "socket", "ssl", "select", "time", "random", "threading", "os", "secrets")
)
"""Modules that bring sockets, clocks, randomness or tasks."""


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the product."""

    name: str
    path: Path
    imports: frozenset[str]
    """Modules of the product and top-level names of others."""

    @property
    def room(self) -> str:
        """The folder, dotted."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


@dataclass(slots=True)
class House:
    """All modules below one folder, by name."""

    root: Path
    modules: dict[str, Module] = field(default_factory=dict)

    def __post_init__(self) -> None:
        paths = {self._name(path): path for path in self._paths()}
        for name, path in paths.items():
            self.modules[name] = Module(name, path, frozenset(_imports(path, paths)))

    def _paths(self) -> Iterator[Path]:
        yield from self.root.glob("*.py")
        for room in sorted(self.root.iterdir()):
            if room.name[0] != "." and room.name not in ("tests", "build", "dist"):
                yield from sorted(room.rglob("*.py"))

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def rooms(self) -> set[str]:
        """All folders that hold a module."""
        return {module.room for module in self.modules.values()} - {""}

    def problems(self, table: Mapping[str, Any]) -> list[str]:
        """Every breach of the table, in words."""
        return [*self._crowded(), *self._circles(), *self._breaches(table)]

    def _crowded(self) -> Iterator[str]:
        for room in sorted(self.rooms()):
            here = [one for one in self.modules.values() if one.room == room]
            count = sum(one.path.name != "__init__.py" for one in here)
            if count > MOST:
                yield f"{room} holds {count} modules"

    def _breaches(self, table: Mapping[str, Any]) -> Iterator[str]:
        for module in self.modules.values():
            room = module.room
            if not room or room.split(".")[0] in COMPOSE:
                continue
            if room not in table:
                yield f"{room} is not in the table"
                continue
            known = set(table[room]["may"])
            for imported in sorted(module.imports):
                if table[room].get("pure") and imported in IMPURE:
                    yield f"{module.name} imports {imported}, and {room} is pure"
                if imported in self.modules:
                    other = self.modules[imported].room
                    if other not in {"", room} | known:
                        yield f"{module.name} imports {imported}, which {room} may not"

    def _circles(self) -> Iterator[str]:
        done: set[str] = set()
        for name in self.modules:
            yield from self._circle(name, [], done)

    def _circle(self, name: str, way: list[str], done: set[str]) -> Iterator[str]:
        if name in way:
            yield " > ".join([*way[way.index(name) :], name])
        elif name not in done:
            for imported in sorted(self.modules[name].imports & self.modules.keys()):
                yield from self._circle(imported, [*way, name], done)
            done.add(name)


def _imports(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    tree = ast.parse(path.read_bytes())
    lazy = {id(node) for node in _only_for_types(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [one if one in known else node.module for one in below]
        else:
            continue
        if id(node) not in lazy:
            yield from (one if one in known else one.split(".")[0] for one in names)


def _only_for_types(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            test = node.test
            name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
            if name == "TYPE_CHECKING":
                yield from ast.walk(node)


@cache
def house() -> House:
    """All modules of the product, read once."""
    return House(ROOT)


def test_the_walls_hold() -> None:
    assert len(house().modules) > 600
    assert house().problems(TABLE) == []


def test_the_table_says_no_more_than_is_used() -> None:
    ours = house()
    used: dict[str, set[str]] = {room: set() for room in ours.rooms()}
    for module in ours.modules.values():
        for imported in module.imports & ours.modules.keys():
            used.setdefault(module.room, set()).add(ours.modules[imported].room)
    unused = {room: sorted(set(one["may"]) - used.get(room, set())) for room, one in TABLE.items()}
    assert {room: more for room, more in unused.items() if more} == {}
    assert set(TABLE) <= ours.rooms()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"low/a.py": "import high.b"}, "low.a imports high.b, which low may not"),
        ({"low/a.py": "from high import b"}, "low.a imports high.b, which low may not"),
        ({"low/a.py": "import time"}, "low.a imports time, and low is pure"),
        ({"low/a.py": "import low.c", "low/c.py": "import low.a"}, "low.a > low.c > low.a"),
        ({f"low/m{n}.py": "" for n in range(15)}, "low holds 16 modules"),
        ({"attic/a.py": ""}, "attic is not in the table"),
    ],
)
def test_a_breach_is_found(files: dict[str, str], said: str, tmp_path: Path) -> None:
    table = {"low": {"may": [], "pure": True}, "high": {"may": ["low"]}}
    sound = {"low/ok.py": "", "high/b.py": "import low.ok\nimport time"}
    for name, text in sound.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert House(tmp_path).problems(table) == []
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert House(tmp_path).problems(table) == [said]

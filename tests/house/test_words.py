"""Docstrings are sentences that a newcomer understands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.house.test_rooms import ROOT

_STUB = re.compile(r"(\S+ )?\S+('s|s')\.( |$)|(Of|Those|That) ")
"""Whose a thing is, or which one of some, but not what it is."""
_MENTIONED = re.compile(r"(?<![\w/.<-])((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|js|toml|html))\b")
_MODULE = re.compile(r"(?<![\w/.<-])((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)\b")
_EXAMPLES: Final = {"bench/scenarios/coarse_soon.py", "file.py", "path/to/file.py"}
"""docs/benches.md has the reader write it; whoever has a plug-in wrote the others."""


def _files(pattern: str) -> Iterator[Path]:
    """All that is somebody's source: nothing of an environment or a build."""
    for top in sorted(ROOT.iterdir()):
        if top.is_dir() and not top.name.startswith(".") and top.name not in ("build", "dist"):
            yield from sorted(top.rglob(pattern))
        elif top.is_file() and top.match(pattern):
            yield top


@cache
def docstrings() -> Sequence[tuple[str, ast.AST, str]]:
    """Each with its place."""
    return tuple(_docstrings())


def _docstrings() -> Iterator[tuple[str, ast.AST, str]]:
    for path in _files("*.py"):
        name = path.relative_to(ROOT)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text is not None:
                    yield f"{name}:{getattr(node, 'lineno', 1)}", node, text


def test_a_header_says_what_its_module_does() -> None:
    headers = [(at, text) for at, node, text in docstrings() if isinstance(node, ast.Module)]
    assert len(headers) > 900
    assert [f"{at}: {text}" for at, text in headers if text.startswith("What")] == []


def test_a_docstring_is_more_than_whose_a_thing_is() -> None:
    found = docstrings()
    assert len(found) > 5_000
    stubs = [f"{at}: {text}" for at, _, text in found if _STUB.match(text) or " " not in text]
    assert stubs == []


ALIKE: Final = (
    {"policies/api/commands.py", "wire/messages.py", "transport/nai/messages/message.py"},
    {"policies/builtin/text_first.py", "hats/disciplines/text_first.py"},
    {"policies/builtin/low_fidelity_first.py", "hats/disciplines/low_fidelity_first.py"},
    {"local_proxy/http/model.py", "wire/messages.py"},
)
"""Modules whose classes may have one name: what a policy commands and the message that carries it,
the same act on a message of NAI, a scheduler and the policy that installs it."""


def public_classes() -> Iterator[tuple[str, str]]:
    """Names, and the modules of the product that define them."""
    for at, node, _ in docstrings():
        module = at.rpartition(":")[0]
        if not isinstance(node, ast.Module) or module.startswith("tests/"):
            continue
        for one in node.body:
            if isinstance(one, ast.ClassDef) and not one.name.startswith("_"):
                yield one.name, module


def test_a_public_name_means_one_thing() -> None:
    known: dict[str, list[str]] = {}
    for name, module in public_classes():
        known.setdefault(name, []).append(module)
    assert len(known) > 900
    twice = {
        name: modules
        for name, modules in known.items()
        if len(modules) > 1 and not any(alike.issuperset(modules) for alike in ALIKE)
    }
    assert twice == {}


def test_every_room_says_what_it_is_for() -> None:
    rooms = list(_files("__init__.py"))
    assert len(rooms) > 60
    silent = [path for path in rooms if not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert silent == []


def test_files_that_texts_name_are_there() -> None:
    files = [path for path in _files("*.*") if path.is_file()]
    known = {path.relative_to(ROOT).as_posix() for path in files}
    folders = {name.split("/")[0] for name in known}
    absent = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        if path.suffix in (".py", ".md", ".toml")
        for name in _MENTIONED.findall(path.read_text("utf-8"))
        if name.split("/")[0] in folders and name not in known | _EXAMPLES
    ]
    assert absent == []


def test_a_module_names_neighbours_or_says_where_others_are() -> None:
    """From its own folder, or from one above: who reads it need not search."""
    far, found = [], 0
    for path in _files("*.py"):
        if path.is_relative_to(ROOT / "tests"):
            continue
        folders = [folder for folder in path.parents if folder.is_relative_to(ROOT)]
        for name in _MODULE.findall(path.read_text("utf-8")):
            found += 1
            if name not in _EXAMPLES and not any((folder / name).exists() for folder in folders):
                far.append(f"{path.relative_to(ROOT)}: {name}")
    assert found > 300
    assert far == []

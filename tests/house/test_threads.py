"""Nothing of ours runs in asyncio's own threads, which know no turns and are few: one sort of work
would hold up all others. What may take them is the name of the remote proxy, or of what listens."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.test_rooms import ROOT, TABLE

PACKAGES = sorted({room.split(".")[0] for room in TABLE} - {"emulation"})
NAMES = {
    "observation/addresses.py",
    "transport/spp/edge/udp.py",
    "transport/tcp/sockets.py",
}
"""They look names up that people have set, and nothing that comes over the network."""


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            yield name, node


def uses_of_asyncios_threads(path: Path) -> list[str]:
    """What in a file runs there."""
    found = []
    for name, call in calls(path):
        none = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value is None
        if name in ("to_thread", "ThreadedResolver", "DefaultResolver") or (
            name == "run_in_executor" and none
        ):
            found.append(name)
        elif name in ("getaddrinfo", "getnameinfo") and isinstance(call.func, ast.Attribute):
            whose = call.func.value
            if isinstance(whose, ast.Name) and whose.id in ("loop", "_loop", "socket"):
                found.append(name)
    return found


@pytest.mark.parametrize("package", [*PACKAGES, "sluice.py"])
def test_nothing_runs_in_asyncios_threads_but_names_that_people_set(package: str) -> None:
    root = ROOT / package
    files = [root] if root.is_file() else list(root.rglob("*.py"))
    assert files
    for path in files:
        where = path.relative_to(ROOT).as_posix()
        found = uses_of_asyncios_threads(path)
        assert set(found) <= ({"getaddrinfo"} if where in NAMES else set()), f"{where}: {found}"


def test_the_look_finds_what_it_looks_for(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(
        "async def f(loop, x):\n"
        "    await asyncio.to_thread(x)\n"
        "    await loop.run_in_executor(None, x)\n"
        "    await loop.run_in_executor(x, x)\n"
        "    await loop.getaddrinfo('a', 1)\n"
        "    await channel.getaddrinfo('a', 1)\n"
        "    aiohttp.ThreadedResolver()\n"
    )
    assert sorted(uses_of_asyncios_threads(path)) == [
        *("ThreadedResolver", "getaddrinfo", "run_in_executor", "to_thread"),
    ]

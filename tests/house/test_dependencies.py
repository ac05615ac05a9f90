"""Dependencies point down, and pure packages stay pure (ARCHITECTURE.md, "The house")."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BELOW = {"hats", "wire", "web", "office", "monitor", "admission"}
"""What knows neither links nor proxies."""
_UNDER_PROXIES = {*_BELOW, "transport", "transcoders", "policies", "scheduling", "pairing"}
MAY_IMPORT: dict[str, set[str]] = {
    "hats": set(),
    "wire": set(),
    "web": set(),
    "office": set(),
    "monitor": set(),
    "admission": set(),
    "transport": {"hats", "wire", "monitor", "admission"},
    "transcoders": {"wire"},
    "policies": {"hats", "wire"},
    "scheduling": {"hats", "wire", "admission", "policies", "transcoders"},
    "pairing": set(),
    "remote_proxy": _UNDER_PROXIES,
    "local_proxy": _UNDER_PROXIES,
    "browsers": {"local_proxy", "policies", "pairing"},
    "cli": {"local_proxy", "policies", "pairing"},
    "emulation": {"transport", "wire", "pairing"},
}
"""Our own packages that each package may import, itself aside. Anything may be imported by bench
and by sluice.py, which compose."""
IMPURE = {"asyncio", "socket", "ssl", "select", "time", "random", "threading", "os", "secrets"}
"""Modules that bring sockets, clocks, randomness or tasks."""
OURS = {*MAY_IMPORT, "bench", "sluice"}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_down(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        upward = (imports(path) & OURS) - MAY_IMPORT[package] - {package}
        assert not upward, f"{path.relative_to(ROOT)} imports {', '.join(sorted(upward))}"


@pytest.mark.parametrize(
    "package", ["hats", "wire", "web", "office", "monitor", "admission", "scheduling"]
)
def test_pure_packages_are_pure(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        impure = imports(path) & IMPURE
        assert not impure, f"{path.relative_to(ROOT)} imports {', '.join(sorted(impure))}"

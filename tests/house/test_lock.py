"""The lock file names all that Sluice runs with, in versions that it takes, with their digests."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
_LINE = re.compile(
    r"^([A-Za-z0-9._-]+)==(\S+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}[^\n]*\n)+)", re.M
)


def locked() -> dict[str, str]:
    return {canonicalize_name(name): version for name, version, _ in _LINE.findall(LOCK)}


def test_each_dependency_is_locked_to_a_version_that_is_taken() -> None:
    found = locked()
    for line in PROJECT["dependencies"]:
        wanted = Requirement(line)
        version = found[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(version), line


OLDEST = {"python_full_version": "3.11.0", "python_version": "3.11", "extra": ""}


def needed(name: str) -> set[str]:
    """What a package asks for, with this Python or the oldest one that Sluice runs with."""
    try:
        wanted = [Requirement(line) for line in requires(name) or ()]
    except PackageNotFoundError:
        return set()  # only an older Python has it
    return {
        canonicalize_name(one.name)
        for one in wanted
        if one.marker is None or one.marker.evaluate(OLDEST) or one.marker.evaluate({"extra": ""})
    }


def test_what_the_oldest_python_needs_besides_is_locked_too() -> None:
    found = locked()
    assert {name: more for name in found if (more := needed(name) - found.keys())} == {}


def test_nothing_is_locked_without_a_digest_and_no_place_is_named() -> None:
    pins = [line for line in LOCK.splitlines() if not line.startswith((" ", "#"))]
    assert len(pins) == len(locked()) > 30
    assert "://" not in LOCK
    assert "--index" not in LOCK

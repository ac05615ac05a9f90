"""The lock file names all that Sluice runs with, in versions that it takes, with their digests."""

from __future__ import annotations

import re
import tomllib
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


def test_nothing_is_locked_without_a_digest_and_no_place_is_named() -> None:
    pins = [line for line in LOCK.splitlines() if not line.startswith((" ", "#"))]
    assert len(pins) == len(locked()) > 30
    assert "://" not in LOCK
    assert "--index" not in LOCK

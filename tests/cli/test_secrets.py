"""Where private keys lie while a proxy runs: on no disk that others share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from local_proxy.front.tls.authority import Authority
from tests.cli.commands import PROGRAM, home, running, sluice

KEEP = (
    "import os, runpy, sys; del os.memfd_create; os.unlink = lambda *_, **__: None;"
    f" sys.argv[0] = {PROGRAM[0]!r}; sys.path.insert(0, os.path.dirname(sys.argv[0]));"
    " runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs the program on a system without files in memory, and lets no file go that was removed."""


def keys(folder: Path) -> list[Path]:
    """Files below it with a private key."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if b"PRIVATE KEY" in path.read_bytes()]


@pytest.mark.parametrize("proxy", ["local", "remote"])
def test_the_identity_never_lies_among_temporary_files(tmp_path: Path, proxy: str) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    user = home(tmp_path, TMPDIR=str(temporary))
    paired = sluice("pair", "me", "--address=127.0.0.1:9", home=user).out.strip()
    given = [f"--pair={paired}"] if proxy == "local" else []
    with running(proxy, "--listen=127.0.0.1:0", *given, home=user, program=("-c", KEEP)):
        pass
    assert not keys(temporary)
    found = keys(user.folder)
    assert any(path.name.startswith(".key-") for path in found)  # where it was for a moment
    assert all(path.stat().st_mode & 0o077 == 0 for path in found)


def test_keys_of_leaves_touch_no_disk(tmp_path: Path) -> None:
    authority = Authority.open(tmp_path)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in tmp_path.iterdir())
    changed = tmp_path.stat().st_mtime_ns
    authority.context_for("a.test", alpn=("h2",))
    assert sorted((path.name, path.stat().st_mtime_ns) for path in tmp_path.iterdir()) == before
    if hasattr(os, "memfd_create"):
        assert tmp_path.stat().st_mtime_ns == changed

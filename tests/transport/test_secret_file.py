"""Tests of a private key as a file for a moment: read by its path, and nowhere afterwards."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from transport.tcp.secret_file import secret_file

SECRET = b"-----BEGIN PRIVATE KEY-----\n" * 100


def no_memory(*_: object) -> int:
    raise OSError("not allowed here")


def test_where_there_are_files_in_memory_none_is_on_the_disk(tmp_path: Path) -> None:
    if not hasattr(os, "memfd_create"):
        pytest.skip("this system has no files in memory")
    with secret_file(SECRET, folder=tmp_path / "keys") as path:
        assert Path(path).read_bytes() == SECRET
        assert path.startswith("/proc/")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="No such file"):
        Path(path).read_bytes()


@pytest.mark.parametrize("fails", [False, True])
def test_elsewhere_it_is_the_owner_s_alone_and_gone_at_once(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "memfd_create", no_memory, raising=False)
    folder = tmp_path / "of" / "the owner"
    try:
        with secret_file(SECRET, folder=folder) as path:
            assert Path(path).read_bytes() == SECRET
            assert Path(path).parent == folder
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            if fails:
                raise KeyError("mine")
    except KeyError:
        assert fails
    assert list(folder.iterdir()) == []


def test_without_a_folder_a_key_is_not_written_to_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with pytest.raises(OSError, match="no folder is given"), secret_file(SECRET, folder=None):
        raise AssertionError("it was")

"""Whose a file is, as other users of the machine see it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ownership import NotOwn, check_own, read_own

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
DAEMON = 1
"""User and group of one name, on every Linux and BSD: as systems make them for people."""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder of DAEMON's that it reaches, as pytest's own are root's alone."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, DAEMON, DAEMON)
    yield folder
    shutil.rmtree(folder)


def as_daemon(path: Path) -> str:
    """What it is told of the file."""
    os.setresgid(DAEMON, DAEMON, 0)
    os.setresuid(DAEMON, DAEMON, 0)
    try:
        check_own(path)
    except NotOwn as error:
        return str(error)
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
    return ""


@as_root
def test_a_users_own_group_is_the_user(shared: Path) -> None:
    file = shared / "file"
    file.touch()
    os.chown(file, DAEMON, DAEMON)
    file.chmod(0o664)
    shared.chmod(0o775)
    assert as_daemon(file) == ""
    file.chmod(0o666)
    assert "can be written by others" in as_daemon(file)
    file.chmod(0o664)
    os.chown(file, DAEMON, DAEMON + 1)
    assert "can be written by others" in as_daemon(file)
    os.chown(file, 0, 0)
    assert "can be written by others" in as_daemon(file)  # root has no group of its own
    file.chmod(0o644)
    assert as_daemon(file) == ""
    os.chown(file, DAEMON + 1, DAEMON)
    assert "belongs to" in as_daemon(file)


def test_what_is_not_there_yet_must_not_be_anybodys_to_make(tmp_path: Path) -> None:
    check_own(tmp_path / "new" / "file")
    tmp_path.chmod(0o777)
    with pytest.raises(NotOwn, match="can be written by others"):
        check_own(tmp_path / "new" / "file")


def test_links_are_followed_step_by_step(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "open" / "second").symlink_to("../file")
    (tmp_path / "first").symlink_to(tmp_path / "open" / "second")
    assert read_own(tmp_path / "first") == b"mine"
    (tmp_path / "open").chmod(0o777)  # where the second link could become another
    with pytest.raises(NotOwn, match="/open can be written"):
        read_own(tmp_path / "first")
    (tmp_path / "endless").symlink_to("endless")
    with pytest.raises(OSError, match="symbolic links"):
        check_own(tmp_path / "endless")


def test_nothing_comes_of_the_null_device_and_all_of_a_pipe() -> None:
    assert read_own(Path(os.devnull)) == b""
    ends = os.pipe()
    os.write(ends[1], b"[local]")
    os.close(ends[1])
    assert read_own(Path(f"/dev/fd/{ends[0]}")) == b"[local]"
    os.close(ends[0])

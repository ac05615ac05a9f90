"""Tells whether a file is this user's own: nobody but the user and root can have written it.

What a program obeys (settings, policies, keys, who it is paired with) must come from such places
only; else whoever writes there commands it. A file counts as own if it, all folders on the way to
it and all links that are followed belong to the user or to root, and none of them may be written
by anybody else. A folder in which everybody may make files but not touch others' (mode 1777, as
/tmp) may lie on the way, and a group of which the user is the only member counts as the user.
Access lists beyond the mode are not looked at. Where the system has no user ids (Windows)
everything counts as own.

It knows nothing of what files hold. Source: sshd's rules for authorized_keys (StrictModes).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

with contextlib.suppress(ImportError):  # Windows has no such users, and asks for none here
    import grp
    import pwd

ROOT: Final = 0
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS: Final = 40
"""Links that are followed on one way, as in Linux (path_resolution(7))."""


class NotOwn(Exception):
    """Somebody else could have written a file; the text says who may write what, and what to do."""


def read_own(path: Path) -> bytes:
    """What the file holds. Raises NotOwn, OSError."""
    try:
        file = path.open("rb")
    except PermissionError:
        check_own(path)  # kernels that follow no stranger's link do not say whose it is
        raise
    with file:
        status = os.fstat(file.fileno())
        if _is_null(status):
            return b""
        if stat.S_ISFIFO(status.st_mode):  # the shell's <(command): a pipe is on no way
            _check(path, status, last=True)
        else:
            check_own(path)
        return file.read()


def check_own(path: Path) -> None:
    """Raises NotOwn, and OSError where something on the way can't be looked at.

    What is not there yet is fine if nobody else could make it.
    """
    if not hasattr(os, "getuid"):
        return
    for place, last in _way(path):
        try:
            status = place.lstat()
        except FileNotFoundError:
            return
        _check(place, status, last=last)


def _way(path: Path) -> Iterator[tuple[Path, bool]]:
    """Each folder and link on the way to `path`, then what it names; and whether that is it."""
    steps = list(reversed(path.absolute().parts))
    here = Path(steps.pop())
    yield here, not steps
    links = 0
    while steps:
        step = steps.pop()
        if step == "..":
            here = here.parent
            continue
        here /= step
        if not here.is_symlink():
            yield here, not steps
            continue
        yield here, False
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = here.readlink()
        here = Path(target.anchor) if target.is_absolute() else here.parent
        steps += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _check(place: Path, status: os.stat_result, *, last: bool) -> None:
    if status.st_uid not in (ROOT, os.getuid()):
        raise NotOwn(
            f"{place} belongs to {_name(status.st_uid)}, who could put anything there: let it "
            "belong to the user who runs sluice, or take another place"
        )
    others = status.st_mode & _OTHERS
    if others == stat.S_IWGRP and _is_private(status.st_gid):
        return
    if stat.S_ISLNK(status.st_mode) or not others:
        return
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX and not last:
        return
    raise NotOwn(
        f"{place} can be written by others, who could put anything there. If nobody has, run: "
        f"chmod go-w '{place}'"
    )


def _is_private(group: int) -> bool:
    """Whether the group is the user's alone, as many systems make one for each user, to whom they
    give a umask of 002 (Debian's sshd allows the same). Root has none."""
    try:
        user, found = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    own = user.pw_uid != ROOT and user.pw_gid == group and found.gr_name == user.pw_name
    return own and not set(found.gr_mem) - {user.pw_name}


def _is_null(status: os.stat_result) -> bool:
    """Whether it is /dev/null, which everybody may write and nobody fills."""
    null = Path(os.devnull).stat()
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == null.st_rdev


def _name(user: int) -> str:
    try:
        return f"the user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"

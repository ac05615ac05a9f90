"""Network namespaces as ip-netns(8) and setns(2) have them: enter one, end one, find what was left.

Names carry the process id of who made them, so that a run can remove what a killed one has left.
Knows processes and the `ip` command; nothing of what a namespace is for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

Result = TypeVar("Result")

_SPACES: Final = Path("/run/netns")
_CLONE_NEWNET: Final = 0x40000000
"""sched.h"""


class NoNamespaces(Exception):
    """None can be made here; the message says why."""


def require_root() -> None:
    """Raises NoNamespaces when none can be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise NoNamespaces("a network namespace needs root and iproute2")


def ip(*words: str) -> str:
    """What iproute2 says. Raises OSError with its complaint."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def command(name: str, *words: str) -> tuple[str, ...]:
    """What runs `words` inside; the process is that of `words`."""
    return ("ip", "netns", "exec", name, *words)


def enter(name: str) -> None:
    """The calling thread belongs to that namespace from now on. Raises OSError."""
    with (_SPACES / name).open() as space:
        _enter(space.fileno(), name)


@contextlib.contextmanager
def own() -> Iterator[int]:
    """A descriptor of the calling thread's namespace."""
    with Path("/proc/thread-self/ns/net").open() as space:
        yield space.fileno()


def go_back(space: int) -> None:
    """The calling thread belongs to the namespace of that descriptor again. Raises OSError."""
    _enter(space, "the namespace before")


def _enter(space: int, name: str) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(space, _CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, f"{name} can't be entered: {os.strerror(code)}")


def inside(name: str, do: Callable[[], Result]) -> Result:
    """What `do` gives when the namespace is its thread's own. Raises OSError."""

    def visit() -> Result:
        enter(name)
        return do()

    # A thread can't be trusted to be outside again afterwards: this one ends.
    with ThreadPoolExecutor(1) as visitor:
        return visitor.submit(visit).result()


def end(name: str) -> None:
    """End what runs inside and remove it; what is not there is no error."""
    with contextlib.suppress(OSError):
        for process in ip("netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
    with contextlib.suppress(OSError):
        ip("netns", "del", name)


def left(pattern: re.Pattern[str]) -> list[str]:
    """Namespaces whose makers are gone. The pattern's first group is a maker's process id."""
    names = sorted(path.name for path in _SPACES.iterdir()) if _SPACES.is_dir() else []
    found = ((name, pattern.fullmatch(name)) for name in names)
    return [name for name, match in found if match and not Path("/proc", match[1]).exists()]

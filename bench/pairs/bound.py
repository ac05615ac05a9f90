"""Programs that end when the bench that has started them does, however that ends.

A bench that is killed has no chance to end what it has started: browsers and proxies went on, and
took the processors from the next one. The kernel tells such programs (PR_SET_PDEATHSIG, prctl(2)),
by way of setpriv of Debian's util-linux; where that is missing they are left as they are, and so is
one that leaves the foreground (ziproxy). Knows command lines; nothing of what they run.
"""

from __future__ import annotations

import shutil


def bound(*command: str) -> tuple[str, ...]:
    """What runs `command` so; the process is that of `command`."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig=TERM", *command) if setpriv else command


def giving_way(*command: str) -> tuple[str, ...]:
    """What runs `command` when nobody else wants the processors (SCHED_IDLE, sched(7)).

    For what stands for another machine, whose work takes no time from this one.
    """
    chrt = shutil.which("chrt")
    return (chrt, "--idle", "0", *command) if chrt else command

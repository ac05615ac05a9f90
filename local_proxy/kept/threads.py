"""Threads for work that takes long, one lot for each sort: a slow disk under the store must hold up
no preview, and neither of them the look-up of the remote proxy's name.

They belong to the process, as asyncio's own do, in which nothing else of ours runs: those are left
to names (transport/tcp/sockets.py). Must not know the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Threads:
    """So many of them."""

    def __init__(self, name: str, *, count: int) -> None:
        """`name`: for who looks at the process."""
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def run(self, work: Callable[_P, _T], *args: _P.args, **named: _P.kwargs) -> _T:
        """What `work` returns, or raises. It goes on if nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(work, *args, **named))


STORE: Final = Threads("store", count=1)
"""For the store: SQLite has one writer at a time."""
DOCUMENTS: Final = Threads("documents", count=2)
"""For documents: pages of previews, their files, sums of these."""
USERS: Final = Threads("users", count=1)
"""For finding out which user of this machine has a connection: /proc may be long."""
PROGRAMS: Final = Threads("programs", count=2)
"""For finding programs, and what they need and leave on disk."""

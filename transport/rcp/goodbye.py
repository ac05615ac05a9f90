"""Says goodbye a bounded number of times, once all has arrived (3.3.2). Pure.

The receiver knows first that nothing is left to do, so its FIN begins. The sender answers and keeps
nothing to wait for; if all answers are lost, the receiver closes after its last attempt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from transport.rcp.segments import Fin
from wire.errors import PeerError

ATTEMPTS: Final = 5
"""FINs that go without an answer."""


class RcpGoodbye:
    """The receiver's end of the connection's end."""

    def __init__(self) -> None:
        self.closed = False
        """Nothing more will be said."""
        self.deadline: float | None = None
        """When the next FIN goes, or none any more; None: not now."""
        self._attempts = 0

    def to_send(self, length: int, now: float, timeout: float) -> Iterator[Fin]:
        """The FIN that is due; `timeout`: seconds for an answer to the first one."""
        if self.closed or (self.deadline is not None and now < self.deadline):
            return
        if self._attempts == ATTEMPTS:
            self._close()
            return
        self.deadline = now + timeout * 2**self._attempts
        self._attempts += 1
        yield Fin(length)

    def answered(self, length: int, *, done: int | None) -> None:
        """The sender says goodbye. `done`: the stream's length if all is here. Raises PeerError."""
        if done != length or not self._attempts:
            raise PeerError("the sender leaves although not all has arrived")
        self._close()

    def _close(self) -> None:
        self.closed, self.deadline = True, None

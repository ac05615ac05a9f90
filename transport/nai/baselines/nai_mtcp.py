"""NAI over a TCP connection for each priority, of which the highest may have several (ATP, section
5.2: NAI-MTCP1 to NAI-MTCP4).

Each connection is as in NAI-TCP, and takes the first message of its priority that waits. But "MTCP
can terminate transmission of a message early if its timer expires": what has not gone to the kernel
then is not sent. Nothing is done about how the connections share the link; that is TCP's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transport.nai.baselines.nai_tcp import Backlog, Lanes, Sent
from transport.nai.carriers.streams import CarrierStream
from transport.nai.errors import NaiError


class NaiMtcp(Lanes):
    """NAI-MTCP's sending side."""

    def __init__(self, streams: Mapping[int, Sequence[CarrierStream]]) -> None:
        """Connections by priority. Call it from within the loop it shall run in."""
        if not streams or not all(streams.values()):
            raise NaiError("a priority without a connection")
        self._by_priority = {priority: Backlog() for priority in streams}
        lanes = [
            (stream, self._by_priority[priority])
            for priority, several in streams.items()
            for stream in several
        ]
        super().__init__(lanes, gives_up=True)

    def submit(self, data: bytes, *, priority: int = 0, timer: float | None = None) -> Sent:
        """Queue a message; `timer` in seconds. Raises NaiError, CarrierError."""
        backlog = self._by_priority.get(priority)
        if backlog is None:
            known = sorted(self._by_priority)
            raise NaiError(f"no connection for priority {priority}; for {known}")
        return self._put(backlog, data, priority=priority, timer=timer)

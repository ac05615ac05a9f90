"""The quantum follows the link's rate, once that is known."""

import asyncio

from bench.synthetic import Prepared, Shelf
from bench.virtual_time import run
from remote_proxy.delivery import Services
from remote_proxy.session import RemoteSession
from transport.link import BandwidthEstimate, Inbox, LinkError, LinkStatistics, Outbox


class QuietLink:
    """A link that carries nothing and says of its rate what it is told to."""

    def __init__(self) -> None:
        self.estimate: BandwidthEstimate | None = None
        self._inbox: Inbox | None = None

    def start(self, outbox: Outbox, inbox: Inbox) -> None:
        self._inbox = inbox

    def wake(self) -> None:
        pass

    def close(self, error: LinkError | None = None) -> None:
        assert self._inbox is not None
        self._inbox.link_closed(error)

    def statistics(self) -> LinkStatistics:
        return LinkStatistics(0, 0, 0, 0.0, None, None, self.estimate, None)


async def _quanta(estimates: list[BandwidthEstimate | None]) -> list[int]:
    """The quantum a second after each estimate."""
    link, found = QuietLink(), []
    services = Services(Shelf([]), Prepared({}))
    session = RemoteSession(link, services, quantum=1024, memory=1 << 20)
    running = asyncio.create_task(session.run())
    for link.estimate in estimates:
        await asyncio.sleep(1.0)
        found.append(session.outbox.quantum)
    link.close()
    await running
    return found


def test_a_guess_does_not_move_the_quantum_and_a_measurement_does() -> None:
    guess = BandwidthEstimate(5e7, 0.0, 0.1, "tcp_info")
    modem = BandwidthEstimate(7_000, 0.0, 1.0, "reports")
    dsl = BandwidthEstimate(312_500, 0.0, 0.6, "reports")
    assert run(_quanta([None, guess, modem, guess, dsl])) == [1024, 1024, 644, 644, 1444]

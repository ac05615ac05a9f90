"""The quantum follows the link's rate, once that is known."""

import asyncio
import time
from collections.abc import Callable

from bench.origins.synthetic import Prepared, Shelf
from emulation.memory.virtual_time import run
from monitor.estimate import BandwidthEstimate
from remote_proxy.jobs.services import Services
from remote_proxy.session import RemoteSession
from transport.link.interface import Inbox, LinkError, LinkStatistics, Outbox

USUAL = 644
"""Bytes of a quantum on a link of 48,000 bytes/second."""
LOOKS = 100
"""Of a tenth of a second, until the loop is in time."""


class QuietLink:
    """A link that carries nothing and says of its rate what it is told to."""

    def __init__(self) -> None:
        self.estimate: BandwidthEstimate | None = None
        self.cap = 0.0
        self.under_way = 0
        self.woken = 0
        self._inbox: Inbox | None = None

    def start(
        self, outbox: Outbox, inbox: Inbox, *, competes: Callable[[], bool] = lambda: True
    ) -> None:
        self._inbox = inbox

    def wake(self) -> None:
        self.woken += 1

    def close(self, error: LinkError | None = None) -> None:
        assert self._inbox is not None
        self._inbox.link_closed(error)

    def statistics(self) -> LinkStatistics:
        return LinkStatistics(0, 0, self.under_way, self.cap, None, None, self.estimate, None)


async def _quanta(
    estimates: list[BandwidthEstimate | None], *, caps: list[float] | None = None
) -> list[int]:
    """The quantum a second after each estimate, with as much under way as the cap says."""
    link, found = QuietLink(), []
    services = Services(Shelf([]), Prepared({}))
    session = RemoteSession(link, services, quantum=1024, memory=1 << 20)
    running = asyncio.create_task(session.run())
    for link.estimate, link.cap in zip(estimates, caps or [0.0] * len(estimates), strict=True):
        session.frames_received([], now=0.0)  # an estimate comes of what crosses
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


def test_a_link_that_nobody_fills_has_quanta_as_large_as_an_eighth_of_what_was_under_way() -> None:
    fast = BandwidthEstimate(5e7, 0.0, 0.3, "reports")
    slow = BandwidthEstimate(100_000, 0.0, 0.3, "reports")
    found = run(_quanta([fast, fast, slow, fast], caps=[4096.0, 65_536.0, 65_536.0, 1e6]))
    assert found == [1024, 8192, 8192, 16_384]


def test_a_late_loop_sends_larger_quanta_and_usual_ones_once_it_is_in_time() -> None:
    dsl = BandwidthEstimate(48_000, 0.0, 1.0, "reports")
    guess = BandwidthEstimate(48_000, 0.0, 0.1, "reports")

    async def go() -> list[int]:
        link, found = QuietLink(), []
        session = RemoteSession(link, Services(Shelf([]), Prepared({})), quantum=1024, memory=9999)
        running = asyncio.create_task(session.run())
        link.estimate = dsl
        for late in (False, True, False):
            for _ in range(3 if late else LOOKS):  # a busy machine makes the loop late by itself
                session.frames_received([], now=0.0)
                await asyncio.sleep(0.1)
                if late:
                    time.sleep(0.4)  # noqa: ASYNC251 - nobody has his turn
                await asyncio.sleep(0.01)
                if not late and session.outbox.quantum == USUAL:
                    break
            found.append(session.outbox.quantum)
            link.estimate = guess if late else dsl
            await asyncio.sleep(0.6)
        link.close()
        await running
        return found

    usual, larger, again = asyncio.run(go())
    assert usual == again == USUAL  # though all that is known of the link by then is a guess
    assert larger > 1.5 * usual

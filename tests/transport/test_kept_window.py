"""Under which congestion control a link's TCP is, when: said, and of real sockets."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from itertools import pairwise

import pytest

from monitor.tcp_view import TcpInfo
from tests.transport.test_last_words import connected
from transport.link.connection import DeliveryReport
from transport.link.interface import LinkError
from transport.tcp.connection import TcpConnection
from transport.tcp.kept_window import ANEW, KEEPS, LONG, LOSSY, PAUSE, WORTH, KeptWindow
from transport.tcp.sockets import USUAL, control, may_change, set_control

WIDE = TcpInfo(
    rtt=0.6,
    min_rtt=0.6,
    unacked_segments=0,
    window_segments=10 * WORTH,
    unsent=0,
    retransmitted_segments=0,
    segments=1000,
    delivery_rate=1e6,
    segment_size=1448,
)


def used(kept: KeptWindow, begin: float, seconds: float, view: TcpInfo = WIDE) -> list[str]:
    """The changes while bytes go every .05 s."""
    said: list[str] = []
    kept.seen(view)
    for step in range(round(seconds / 0.05)):
        said += kept.changes(begin + 0.05 * step, lambda: view)
    return said


def test_it_begins_with_the_usual_one_and_keeps_to_it_while_it_goes_on() -> None:
    assert used(KeptWindow(USUAL), 0.0, 30.0) == []


def test_after_a_pause_the_window_is_kept_until_use_has_been_long() -> None:
    kept = KeptWindow(USUAL)
    used(kept, 0.0, 5.0)
    assert used(kept, 5.0 + 2 * PAUSE, LONG - 0.1) == [KEEPS]
    assert used(kept, 5.0 + 2 * PAUSE + LONG - 0.1, 5.0) == [USUAL]
    assert used(kept, 60.0, 1.0) == [KEEPS], "each time"
    assert used(kept, 62.0, 1.0) == [], "it is kept already"
    assert used(kept, 90.0, 1.0) == [USUAL, KEEPS], "and begun anew"


def test_a_window_that_is_none_yet_is_not_kept() -> None:
    kept = KeptWindow(USUAL)
    used(kept, 0.0, 1.0)
    small = replace(WIDE, window_segments=10)
    assert used(kept, 5.0, 10.0, small) == [], "slow start does better"
    assert used(kept, 25.0, 1.0) == [KEEPS]


@pytest.mark.parametrize(("rate", "trip", "keeps"), [(48e3, 0.1, False), (2e6, 0.04, True)])
def test_a_path_that_holds_little_is_full_at_once_without_it(
    rate: float, trip: float, keeps: bool
) -> None:
    path = replace(WIDE, delivery_rate=rate, rtt=trip, min_rtt=trip)
    kept = KeptWindow(USUAL)
    used(kept, 0.0, 1.0, path)
    assert used(kept, 5.0, 1.0, path) == ([KEEPS] if keeps else [])


def test_where_the_kernel_tells_nothing_it_stays_as_it_was() -> None:
    kept = KeptWindow(USUAL)
    kept.changes(0.0, lambda: None)
    assert kept.changes(10.0, lambda: None) == ()


def test_losses_from_no_queue_are_not_halved_for_and_bbr_never_stops_to_measure() -> None:
    kept = KeptWindow(USUAL)
    used(kept, 0.0, 5.0)
    said: list[tuple[float, str]] = []
    for step in range(640):
        now = 5.0 + 0.05 * step
        if step < 500 and step % 100 == 0:
            kept.lost(now, WIDE)
        said += [(now, name) for name in kept.changes(now, lambda: WIDE)]
    begun = [at for at, name in said if name == KEEPS]
    assert begun[0] == 5.0
    assert max(b - a for a, b in pairwise(begun)) < ANEW + 0.1 < 10.0
    last, name = said[-1]
    assert name == USUAL
    assert last == pytest.approx(25.0 + LOSSY, abs=0.2)


def test_losses_from_a_full_queue_are_the_usual_control_s() -> None:
    kept = KeptWindow(USUAL)
    used(kept, 0.0, 5.0)
    kept.lost(5.0, replace(WIDE, rtt=0.9))
    assert used(kept, 5.0, 5.0) == []


class Link:
    """Has bytes to send when it is told to."""

    searching = False

    def __init__(self) -> None:
        self.left: list[bytes] = []

    def next_bytes(self) -> bytes | None:
        return self.left.pop(0) if self.left else None

    def next_time(self) -> float | None:
        return None

    def heard(self, data: bytes, *, age: float = 0.0) -> None: ...

    def delivered(self, news: DeliveryReport) -> None: ...

    def lost(self, sent_at: float) -> None: ...

    def ended(self, error: LinkError | None) -> None: ...

    def failed(self, error: Exception) -> None:
        raise error


def here() -> str:
    """The system's own."""
    with socket.socket() as own:
        return control(own)


@pytest.mark.parametrize(("said", "then"), [("", KEEPS), (USUAL, USUAL)])
def test_a_connection_keeps_what_it_has_won_where_nobody_says_a_control(
    monkeypatch: pytest.MonkeyPatch, said: str, then: str
) -> None:
    """Without leave for BBR, or for the usual one, it stays as it is."""
    monkeypatch.setattr("transport.tcp.kept_window.WORTH", 0)  # loopback is short
    usual = here()
    if said and not may_change(said):
        said = usual
    if not said and not may_change(KEEPS, USUAL if may_change(USUAL) else usual):
        then = usual

    async def go() -> str:
        ours, theirs = connected()
        connection, link = TcpConnection(ours), Link()
        connection.prepare(said)
        connection.start(link)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(60):
            for _ in range(100):  # the window opens
                link.left = [bytes(30_000)]
                connection.wake()
                came = 0
                while came < 30_000:
                    came += len(await loop.sock_recv(theirs, 65_536))
                await loop.sock_sendall(theirs, b"reports")
            await asyncio.sleep(2 * PAUSE)
            link.left = [b"words"]
            connection.wake()
            assert await loop.sock_recv(theirs, 100) == b"words"
        name = control(ours)
        connection.close()
        theirs.close()
        return name

    assert asyncio.run(go()) == (said or then)


def test_a_control_that_is_not_to_be_had_is_known_before_and_changes_nothing() -> None:
    usual = here()
    assert may_change(usual)
    assert not may_change(usual, "no-such")
    with socket.socket() as own:
        assert not set_control(own, "no-such")
        assert control(own) == usual

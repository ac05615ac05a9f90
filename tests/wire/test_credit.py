"""Credit over links of all rates and lengths: what limits is the link, or the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.credit import ALL, INITIAL, LARGEST, CreditWindows, ReceiveCredit, SendCredit

PIECE = 16_384


class Transfer:
    """One component over a link of `rate` bytes/second and a `delay` each way, in steps of a
    hundredth of a round trip."""

    def __init__(self, rate: float, delay: float, *, known: bool = True) -> None:
        self.rate, self.delay, self.now = rate, delay, 0.0
        self.send, self.receive = SendCredit(), ReceiveCredit()
        self.windows = CreditWindows(lambda: self.now, lambda: 2 * delay if known else 0.0)
        self.unread = 0
        self._free_at = 0.0
        self._way: list[tuple[float, int]] = []
        self._back: list[tuple[float, int]] = []

    def run(self, seconds: float, *, reads: float = 1e12) -> int:
        """Bytes read in so many seconds by somebody who reads as many a second."""
        end, step, read, allowed = self.now + seconds, self.delay / 50, 0, 0.0
        while self.now < end:
            self.now += step
            while self._back and self._back[0][0] <= self.now:
                self.send.grant(self._back.pop(0)[1])
            while self.send.available and self._free_at <= self.now:
                size = min(PIECE, self.send.available)
                self.send.spend(size)
                self._free_at = max(self._free_at, self.now - step) + size / self.rate
                self._way.append((self._free_at + self.delay, size))
            while self._way and self._way[0][0] <= self.now:
                size = self._way.pop(0)[1]
                self.receive.arrive(size)
                self.unread += size
            allowed = min(allowed + reads * step, self.unread)
            used = int(allowed)
            allowed -= used
            self.unread -= used
            read += used
            if more := self.receive.consume(used, self.windows):
                self._back.append((self.now + self.delay, more))
        return read


@pytest.mark.parametrize(
    ("rate", "delay"), [(6_250_000, 0.3), (1_562_500, 0.3), (12_500_000, 0.3), (25_000_000, 0.1)]
)
def test_a_long_fat_link_is_filled_within_seconds(rate: float, delay: float) -> None:
    transfer = Transfer(rate, delay)
    transfer.run(12 * delay)
    assert transfer.run(10 * delay) > 0.95 * rate * 10 * delay


def test_without_a_round_trip_it_was_not() -> None:
    transfer = Transfer(6_250_000, 0.3, known=False)
    transfer.run(3.0)
    assert transfer.run(6.0) < 0.35 * 6_250_000 * 6.0


@pytest.mark.parametrize(("rate", "delay"), [(7_000, 0.05), (250_000, 0.3), (6_250_000, 0.01)])
def test_what_fills_its_link_keeps_its_window(rate: float, delay: float) -> None:
    transfer = Transfer(rate, delay)
    transfer.run(max(200 * delay, 4 * INITIAL / rate))
    assert transfer.receive.received > 3 * INITIAL
    assert transfer.receive.window == INITIAL


def test_who_reads_slowly_has_no_more_wait_for_him_than_before() -> None:
    transfer = Transfer(6_250_000, 0.3)
    read = transfer.run(60.0, reads=100_000)
    assert read == pytest.approx(60 * 100_000, rel=0.1)
    assert transfer.receive.window == INITIAL
    assert transfer.unread <= INITIAL


def test_whoever_stalls_has_a_window_wait_for_him_and_no_more() -> None:
    transfer = Transfer(50_000_000, 0.3)
    transfer.run(10.0)
    transfer.run(60.0, reads=0)
    assert transfer.receive.window == LARGEST
    assert transfer.unread <= LARGEST


def test_all_of_one_link_have_no_more_wait_than_two_do() -> None:
    now = 0.0
    windows = CreditWindows(lambda: now, lambda: 0.6)
    many = [ReceiveCredit() for _ in range(100)]
    for _ in range(20):
        now += 0.01
        for credit in many:
            amount = credit.given - credit.received
            credit.arrive(amount)
            credit.consume(amount, windows)
    assert sum(credit.window for credit in many if credit.window > INITIAL) <= ALL
    del many[:50], credit
    before = sum(credit.window for credit in many)
    for _ in range(3):
        for one in many:
            amount = one.given - one.received
            one.arrive(amount)
            one.consume(amount, windows)
    assert sum(credit.window for credit in many) > before, "what has gone takes no place"


@given(
    st.lists(st.tuples(st.integers(1, 4 * INITIAL), st.floats(0, 2)), max_size=60),
    st.floats(0, 1),
)
def test_nobody_sends_more_than_he_was_given(steps: list[tuple[int, float]], trip: float) -> None:
    now, send, receive = 0.0, SendCredit(), ReceiveCredit()
    windows = CreditWindows(lambda: now, lambda: trip)
    for size, pause in steps:
        now += pause
        part = min(size, send.available)
        send.spend(part)
        receive.arrive(part)
        if more := receive.consume(part, windows):
            send.grant(more)
        assert send.available == receive.given - receive.received
        assert INITIAL <= receive.window <= LARGEST
        assert send.available > receive.window * 3 // 4 - 1

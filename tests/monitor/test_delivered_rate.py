"""The delivery curve: bytes within a window, however many reports tell of it."""

from hypothesis import given
from hypothesis import strategies as st

from monitor.sensors.delivered_rate import RateFilter

WINDOW = 0.1

reports = st.lists(
    st.tuples(
        st.floats(0.0, 0.15),  # seconds since the report before
        st.integers(1, 20_000),  # bytes that it has more
        st.sampled_from((0.0, 0.0, 0.0, 0.12, 0.3)),  # seconds that they waited
    ),
    min_size=2,
    max_size=60,
)


def curve(
    told: list[tuple[float, int, float]],
) -> tuple[RateFilter, list[tuple[float, int, float]]]:
    """The filter, and what it was told: clock, bytes in all, since when the new ones came.

    All was sent at once, so that when does not matter.
    """
    rates, clock, received, plain = RateFilter(), 0.0, 0, []
    for gap, gained, waited in told:
        clock, received = clock + gap, received + gained
        before = plain[-1][0] if plain else clock
        repaired = rates.add(clock, received, window=WINDOW, sent_at=0.0, waited=waited)
        begin = clock - waited if repaired else max(before, clock - max(0.05, waited))
        plain.append((clock, received, begin))
    return rates, plain


def delivered(plain: list[tuple[float, int, float]], start: float) -> float:
    """Bytes that came after `start`, each report's spread evenly over its time."""
    amount, known = 0.0, plain[0][1]
    for clock, received, begin in plain[1:]:
        if clock > start:
            part = 1.0 if begin >= start else (clock - start) / (clock - begin)
            amount += (received - known) * part
        known = received
    return amount


@given(reports)
def test_bytes_of_a_window_are_those_of_each_report_by_its_part_in_it(
    told: list[tuple[float, int, float]],
) -> None:
    rates, plain = curve(told)
    clock, first = plain[-1][0], plain[0][0]
    start = max(clock - WINDOW, first)
    expected = delivered(plain, start) if clock > start else 0.0
    if clock > start and clock - WINDOW < first:
        expected *= min(1.0, WINDOW / (clock - start))
    assert abs(rates.delivered(WINDOW) - expected) <= 1e-6 * max(1.0, expected)


@given(reports)
def test_a_clock_that_goes_back_stands_still(told: list[tuple[float, int, float]]) -> None:
    rates, plain = curve(told)
    clock, received, _ = plain[-1]
    rates.add(clock - 1.0, received + 1, window=WINDOW, sent_at=0.0)
    assert rates.clock == clock


def test_a_steady_link_has_its_rate_at_any_spacing_of_reports() -> None:
    for every in (0.0005, 0.005, 0.02):
        rates = RateFilter()
        for n in range(int(2 / every)):
            rates.add(n * every, round(n * every * 1e6), window=WINDOW, sent_at=n * every)
        assert abs(rates.most_delivered() / WINDOW / 1e6 - 1.0) < 0.01


def drained(*, rate: float) -> float:
    """What is measured of a link of a tenth of a megabyte that a queue keeps busy while for .4 s
    nothing is sent. `rate`: what is expected."""
    rates = RateFilter()
    for n in range(40):
        sent_at = 0.01 * n + 0.4 * (n >= 38)
        rates.add(n * 0.02, n * 2_000, window=WINDOW, sent_at=sent_at, rate=rate)
    return rates.delivered(WINDOW) / WINDOW


def test_a_pause_of_the_sender_that_a_queue_bridges_is_none_of_the_link() -> None:
    assert abs(drained(rate=1e5) / 1e5 - 1) < 0.01
    assert drained(rate=0.0) < 0.3e5, "while nobody knows the link it may be bytes let go at once"


def test_what_comes_in_one_burst_was_not_queued_but_held() -> None:
    rates = RateFilter()
    for n in range(20):
        rates.add(n * 0.02, n * 2_000, window=WINDOW, sent_at=n * 0.02, rate=1e5)
    rates.add(0.4, 80_000, window=WINDOW, sent_at=0.6, rate=1e5)
    assert rates.delivered(WINDOW) / WINDOW < 2.2e5

"""A device's limits, in times that the test chooses."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from remote_proxy.reach.limits import DAY, MAX_KNOWN, Devices, Limits, TokenBucket, Usage, in_words


def test_no_limit_is_met_where_there_is_none() -> None:
    usage = Usage(Limits(requests=0, requests_per_minute=0, connections=0, bytes_per_day=0))
    assert all(usage.begin(now=0.0, tunnel=True) is None for _ in range(10_000))
    assert usage.spend(10**15, now=0.0) is None
    assert usage.spare(now=0.0) > 10_000


def test_requests_under_way() -> None:
    usage = Usage(Limits(requests=2))
    assert usage.begin(now=0.0) is None and usage.begin(now=0.0) is None
    exceeded = usage.begin(now=0.0)
    assert exceeded is not None and exceeded.status == 503
    assert str(exceeded) == (
        "This device has 2 requests under way, which is its limit (remote.max_requests). "
        "It may ask again when one of them has ended."
    )
    usage.end()
    assert usage.begin(now=0.0) is None
    assert usage.statistics(now=0.0).requests_refused == 1


def test_tunnels_are_bounded_apart() -> None:
    usage = Usage(Limits(connections=1))
    assert usage.begin(now=0.0, tunnel=True) is None
    exceeded = usage.begin(now=0.0, tunnel=True)
    assert exceeded is not None and exceeded.status == 503
    assert "remote.max_connections" in str(exceeded)
    assert usage.begin(now=0.0) is None
    usage.end(tunnel=True)
    assert usage.begin(now=0.0, tunnel=True) is None


def test_requests_within_a_minute() -> None:
    usage = Usage(Limits(requests_per_minute=60))
    for _ in range(60):
        assert usage.begin(now=100.0) is None
        usage.end()
    exceeded = usage.begin(now=100.5)
    assert exceeded is not None and exceeded.status == 429
    assert str(exceeded).endswith("(remote.max_requests_per_minute). It may ask again in 1 s.")
    assert usage.begin(now=101.0) is None
    assert usage.begin(now=101.0) is not None


def test_bytes_of_a_day() -> None:
    usage = Usage(Limits(bytes_per_day=1000))
    assert usage.spend(1000, now=50.0) is None  # the last byte that is allowed ends nothing
    exceeded = usage.begin(now=51.0)
    assert exceeded is not None and exceeded.status == 429
    assert "remote.max_bytes_per_day" in str(exceeded) and "24 h 0 min" in str(exceeded)
    assert usage.spend(1, now=52.0) is not None
    assert usage.begin(now=50.0 + DAY - 1) is not None
    assert usage.begin(now=50.0 + DAY) is None
    assert usage.statistics(now=50.0 + DAY).bytes_today == 0


def test_bytes_of_a_day_count_wherever_they_passed() -> None:
    usage = Usage(Limits(bytes_per_day=1000))
    assert usage.spend(300, now=100.0) is None
    usage.elsewhere(600, left=500.0, now=110.0)
    assert usage.moved(now=110.0) == 300
    assert usage.statistics(now=110.0).bytes_today == 900
    assert usage.spare(now=110.0) == 0
    assert usage.spend(100, now=120.0) is None
    exceeded = usage.spend(1, now=130.0)
    assert exceeded is not None
    assert exceeded.retry == 480  # the day ends for all at once
    assert usage.begin(now=611.0) is None
    assert usage.statistics(now=611.0).bytes_today == 0


def test_what_nobody_asked_for_stops_first() -> None:
    usage = Usage(Limits(requests=8, requests_per_minute=100, bytes_per_day=1000))
    assert usage.spare(now=0.0) == 6
    for _ in range(5):
        usage.begin(now=0.0)
    assert usage.spare(now=0.0) == 1
    usage.begin(now=0.0)
    assert usage.spare(now=0.0) == 0
    assert usage.begin(now=0.0) is None  # asked for
    for _ in range(7):
        usage.end()
    assert usage.spare(now=0.0) == 6
    usage.spend(750, now=0.0)
    assert usage.spare(now=0.0) == 0
    assert usage.spare(now=DAY) == 6
    for _ in range(75):
        usage.begin(now=DAY)
        usage.end()
    assert usage.spare(now=DAY) == 0
    assert usage.begin(now=DAY) is None


@given(st.integers(1, 10_000), st.lists(st.floats(0, 10), max_size=200))
@example(2, [0.0, 0.0, 0.0])
def test_a_bucket_gives_its_rate_and_one_burst(per_minute: int, pauses: list[float]) -> None:
    bucket = TokenBucket(per_minute)
    now, taken = 0.0, 0
    for pause in pauses:
        now += pause
        taken += bucket.take(now)
        if not bucket.left(now) >= 1:
            now += bucket.wait(now) + 1e-6
            assert bucket.take(now)
            taken += 1
    assert taken <= per_minute + now * per_minute / 60 + 1


def test_a_clock_that_stands_or_jumps_back_gives_nothing() -> None:
    bucket = TokenBucket(1)
    assert bucket.take(10.0)
    assert not bucket.take(10.0)
    assert not bucket.take(5.0)
    assert not bucket.take(69.0)
    assert bucket.take(70.0)


def test_a_new_link_is_no_new_allowance() -> None:
    devices = Devices(Limits(requests=1))
    assert devices.of("a").begin(now=0.0) is None
    assert devices.of("a").begin(now=0.0) is not None
    assert devices.of("b").begin(now=0.0) is None


def test_names_without_end_fill_no_memory_and_oust_nobody_at_work() -> None:
    devices = Devices(Limits(requests=1))
    devices.of("at work").begin(now=0.0)
    for number in range(5000):
        devices.of(f"device {number}")
    assert devices.of("at work").begin(now=0.0) is not None
    assert devices.known <= MAX_KNOWN


def test_times_in_words() -> None:
    assert [in_words(one) for one in (0, 0.2, 59, 59.5, 61, 3599, 3600, 86399)] == [
        *("1 s", "1 s", "59 s", "1 min", "2 min", "1 h 0 min", "1 h 0 min", "24 h 0 min"),
    ]

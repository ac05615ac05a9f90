"""Padhye's model against values reckoned apart from it, its limits, and its direction."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.models.padhye import TcpPath, TimeoutsSeen, doubled, mean_window, timeout_share

INF = math.inf
TABLE = [
    # p, RTT, T0, b, Wm: segments/second sent and arriving, by decimal arithmetic to forty digits,
    # runs of timeouts summed up from the definition of their lengths
    (0.01, 0.1, 1.0, 1, INF, 98.829121, 91.497805),
    (0.01, 0.1, 1.0, 2, INF, 69.524463, 65.725442),
    (0.001, 0.2, 2.0, 2, INF, 132.786633, 130.405165),
    (0.05, 0.05, 0.3, 1, INF, 65.812516, 56.027942),
    (0.01, 0.1, 1.0, 2, 6, 41.664006, 40.477474),
    (0.001, 0.08, 0.5, 1, 20, 229.898258, 227.642447),
    (0.2, 0.1, 1.0, 2, INF, 4.037374, 3.171059),
    (0.5, 0.3, 3.0, 1, 44, 0.2391074, 0.1397661),
]
LOSSES = st.floats(1e-6, 0.5)
PATHS = st.builds(
    TcpPath,
    rtt=st.floats(0.001, 2),
    timeout=st.floats(0.2, 10),
    acks=st.sampled_from([1.0, 2.0]),
    window=st.one_of(st.just(INF), st.floats(4, 1000)),
)


@pytest.mark.parametrize("row", TABLE)
def test_rates_are_those_of_the_table(row: tuple[float, ...]) -> None:
    loss, rtt, timeout, acks, window, sent, arrives = row
    path = TcpPath(rtt=rtt, timeout=timeout, acks=acks, window=window)
    assert path.send_rate(loss) == pytest.approx(sent, rel=1e-6)
    assert path.throughput(loss) == pytest.approx(arrives, rel=1e-6)


@pytest.mark.parametrize("loss", [0.001, 0.02, 0.3])
@pytest.mark.parametrize("window", [4, 7, 30])
def test_the_share_of_timeouts_is_the_sum_that_defines_it(loss: float, window: int) -> None:
    """Fewer than three of the round got through, or of the next one (equations 22 and 23)."""
    got, first = 1 - loss, [(1 - loss) ** k * loss for k in range(window)]
    of_round = [one / sum(first) for one in first]
    few = sum(got**m * loss for m in range(3))
    assert timeout_share(window, loss) == pytest.approx(
        min(1.0, sum(of_round[:3]) + few * sum(of_round[3:]))
    )
    assert timeout_share(3, loss) == timeout_share(window, 1.0) == 1


def test_timeouts_double_six_times() -> None:
    assert doubled(0.0) == 1
    assert doubled(0.5) == pytest.approx(1 + sum(2**k * 0.5 ** (k + 1) for k in range(6)))
    assert doubled(1.0) == 64


@given(path=PATHS, loss=LOSSES, more=st.floats(1.01, 2))
def test_more_losses_or_longer_round_trips_make_it_slower(
    path: TcpPath, loss: float, more: float
) -> None:
    """But for the step between the two cases of equation 32, which do not meet: 8 % at most."""
    assert path.send_rate(min(1.0, loss * more)) <= path.send_rate(loss) * 1.08
    assert path.observed(min(1.0, loss * more)) <= path.observed(loss) * 1.08
    farther = TcpPath(path.rtt * more, path.timeout, path.acks, path.window)
    assert farther.send_rate(loss) < path.send_rate(loss)
    if path.chance(loss) < 1 - 1e-6:  # else timeouts are all, and round trips below their rounding
        assert farther.observed(loss) < path.observed(loss)
    assert farther.observed(loss) <= path.observed(loss)


def test_where_next_to_nothing_arrives_next_to_nothing_is_sent() -> None:
    path = TcpPath(1.0)
    assert path.send_rate(1 - 1e-16) == path.send_rate(1 - 1e-10) == 0.0
    assert path.send_rate(1 - 1e-8) < path.send_rate(0.5)


@given(rtt=st.floats(0.01, 1), loss=LOSSES, window=st.floats(4, 500), more=st.floats(1.5, 4))
def test_a_wider_window_makes_it_no_slower(
    rtt: float, loss: float, window: float, more: float
) -> None:
    narrow, wide = TcpPath(rtt, window=window), TcpPath(rtt, window=window * more)
    assert wide.observed(loss) >= narrow.observed(loss) * 0.94
    assert TcpPath(rtt).observed(loss) >= narrow.observed(loss) * 0.94


@pytest.mark.parametrize("window", [1, 5, 44, 1000])
def test_without_losses_the_window_is_the_limit(window: float) -> None:
    path = TcpPath(rtt=0.2, window=window)
    for rate in (path.send_rate, path.throughput, path.observed):
        assert rate(0.0) == window / 0.2
        assert rate(1e-12) == pytest.approx(window / 0.2, rel=1e-3)
    assert TcpPath(rtt=0.2).send_rate(0.0) == INF


@given(path=PATHS, counted=st.floats(1e-6, 0.4))
def test_the_chance_of_a_loss_event_is_more_than_what_is_counted(
    path: TcpPath, counted: float
) -> None:
    loss = path.chance(counted)
    assert counted <= loss <= 1
    if loss < 0.999:
        window = min(mean_window(loss, path.acks), path.window)
        assert (1 - loss) / loss + window == pytest.approx(1 / counted, rel=1e-6)


def test_timeouts_that_were_seen_stand_for_those_expected() -> None:
    path = TcpPath(rtt=0.1, timeout=1.0)
    none, some = TimeoutsSeen(0.0, 0.0), TimeoutsSeen(0.5, 2.0)
    assert path.observed(0.02, some) < path.observed(0.02) < path.observed(0.02, none)
    assert 1 / (1 / path.observed(0.02, some) - 1 / path.observed(0.02, none)) == pytest.approx(
        1 / (0.02 * 0.5 * 2.0)
    )


def test_a_path_that_loses_all_carries_nothing() -> None:
    assert TcpPath(rtt=0.1).send_rate(1.0) == 0
    assert 0 <= TcpPath(rtt=0.1).observed(1.0) < 1


@pytest.mark.parametrize("loss", [-0.1, 1.1, math.nan, INF])
def test_a_loss_rate_that_is_none_is_refused(loss: float) -> None:
    path = TcpPath(rtt=0.1)
    for rate in (path.send_rate, path.throughput, path.observed):
        with pytest.raises(ValueError, match="loss rate"):
            rate(loss)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rtt": 0.0}, {"rtt": math.nan}, {"rtt": INF}, {"rtt": 0.1, "timeout": -1.0},
        {"rtt": 0.1, "acks": 0.5}, {"rtt": 0.1, "window": 0.0}, {"rtt": 0.1, "window": math.nan},
    ],
)  # fmt: skip
def test_a_path_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"no path|no connection"):
        TcpPath(**wrong)


@pytest.mark.parametrize(("share", "seconds"), [(1.5, 1), (-0.1, 1), (0.5, -1), (0.5, INF)])
def test_timeouts_that_can_t_be_are_refused(share: float, seconds: float) -> None:
    with pytest.raises(ValueError, match="timeouts"):
        TimeoutsSeen(share, seconds)

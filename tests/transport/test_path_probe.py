"""The padding of a path: bursts, each only if the one before has come and told nothing."""

from __future__ import annotations

from transport.multipath.path_probe import BURSTS, RESUMED, PathProbe

SIZE = 1_000


def burst(probe: PathProbe, now: float, kept: int = 100) -> tuple[int, int]:
    return probe.burst(now, kept, size=SIZE)


def test_a_burst_goes_once_the_one_before_has_come_and_had_time_to_tell() -> None:
    probe = PathProbe()
    assert burst(probe, 0.0) == (4, 500)
    assert burst(probe, 5.0) == (0, 0)
    probe.asked(3, 5.1)
    assert burst(probe, 6.0) == (0, 0), "one of it is not here"
    probe.asked(1, 6.1)
    assert probe.due == 6.1 + 0.05
    assert burst(probe, 6.12) == (0, 0)
    assert burst(probe, 6.2) == (8, 500)


def test_it_ends_once_the_rate_is_known_or_all_has_gone() -> None:
    probe = PathProbe()
    sizes = []
    for number in range(10):
        cells, size = burst(probe, float(number))
        sizes.append(cells * size)
        probe.asked(cells, number + 0.1)
    assert sizes[:4] == [2_000, 4_000, 10_000, 20_000]
    assert not any(sizes[4:])
    assert probe.over
    assert probe.due is None
    known = PathProbe()
    known.known()
    assert known.over
    assert burst(known, 0.0) == (0, 0)


def test_no_more_cells_go_than_were_asked_for() -> None:
    probe = PathProbe()
    assert burst(probe, 0.0, kept=3) == (0, 0)
    assert burst(probe, 0.0, kept=4) == (4, 500)


def test_a_session_that_had_bytes_is_padded_by_less_than_a_first_one() -> None:
    def total(bursts: tuple[tuple[int, float], ...]) -> float:
        return sum(cells * share for cells, share in bursts)

    assert total(RESUMED) == 6.0
    assert total(BURSTS) == 36.0

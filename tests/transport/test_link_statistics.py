"""A link says of itself what holds for all its paths."""

from dataclasses import replace

from transport.link.interface import LinkStatistics, PathStatistics

LINK = LinkStatistics(0, 0, 0, 0.0, 0.06, None, None, None)
PATH = PathStatistics("wwan0", 1, 0, 0.0, 0.08, answers=True, quickest=True)


def test_a_round_trip_is_that_of_the_longest_path_that_answers() -> None:
    assert replace(LINK, min_delay=None).round_trip == 0.0
    assert LINK.round_trip == 0.06
    far = replace(PATH, round_trip=0.6)
    assert replace(LINK, paths=(PATH, far)).round_trip == 0.6
    assert replace(LINK, paths=(PATH, replace(far, answers=False))).round_trip == 0.08

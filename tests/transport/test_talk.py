"""Talk and transfers told apart by amount, in a time of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.sending.talk import BURST, LEAST_RATE, SHARE, Talk


def test_a_burst_is_talk_and_what_follows_at_once_is_not() -> None:
    talk = Talk(now=0.0)
    assert talk.say(BURST, now=0.0, rate=None)
    assert not talk.say(1, now=0.0, rate=None)


def test_it_may_talk_again_once_half_of_the_burst_is_saved() -> None:
    talk = Talk(now=0.0)
    talk.say(10 * BURST, now=0.0, rate=48_000.0)
    half = BURST / 2 / (48_000.0 * SHARE)
    assert not talk.say(10, now=half - 0.01, rate=48_000.0)
    assert talk.say(10, now=half + 0.02, rate=48_000.0)


@pytest.mark.parametrize(("rate", "lasting"), [(None, LEAST_RATE), (48_000.0, 48_000.0 * SHARE)])
def test_a_share_of_the_link_is_talk_for_as_long_as_one_likes(
    rate: float | None, lasting: float
) -> None:
    talk = Talk(now=0.0)
    assert all(talk.say(int(lasting / 10), now=n / 10, rate=rate) for n in range(10_000))


@given(st.lists(st.tuples(st.integers(1, 100_000), st.floats(0, 10)), max_size=50))
def test_talk_is_never_more_than_burst_and_share(said: list[tuple[int, float]]) -> None:
    talk, now, talked = Talk(now=0.0), 0.0, 0
    for amount, pause in said:
        now += pause
        if talk.say(amount, now=now, rate=None):
            talked += amount
    assert talked <= BURST + LEAST_RATE * now + 1

"""How long pictures wait for word of an <img> that shows them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from local_proxy.export_drivers.browser.standing import WordPatience


def test_it_shrinks_with_what_waits_in_vain_and_grows_with_what_comes_late() -> None:
    patience = WordPatience()
    assert patience.seconds == 0.5
    for _ in range(12):
        patience.vain()
    assert patience.seconds == 0.02
    patience.came(0.003)
    assert patience.seconds == 0.02
    patience.came(0.06)
    assert 0.17 < patience.seconds < 0.19
    patience.came(5.0)
    assert patience.seconds == 1.0


@given(heard=st.lists(st.none() | st.floats(0, 1e6)))
def test_whatever_is_heard_it_stays_within_its_bounds(heard: list[float | None]) -> None:
    patience = WordPatience()
    for after in heard:
        if after is None:
            patience.vain()
        else:
            patience.came(after)
        assert 0.02 <= patience.seconds <= 1.0

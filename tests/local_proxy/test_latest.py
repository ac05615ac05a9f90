"""A set of bounded size keeps what was added last."""

from __future__ import annotations

from local_proxy.export_drivers.markup.latest import Latest


def test_the_oldest_goes_first_and_what_is_added_again_is_new() -> None:
    some = Latest(3)
    for one in ("a", "b", "c", "a", "d"):
        some.add(one)
    assert list(some) == ["c", "a", "d"]
    assert "a" in some and "b" not in some
    some.discard("a")
    some.discard("x")
    assert list(some) == ["c", "d"]

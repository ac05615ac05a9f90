"""The clock goes on between being refused and asking when: no wake may be lost by that."""

from __future__ import annotations

from bench.scenarios.links.gate import EndlessOutbox, Silent
from transport.stream.endpoint import Endpoint


def test_who_is_refused_by_the_pacer_is_told_when_to_ask_again_however_late_he_asks() -> None:
    endpoint = Endpoint(EndlessOutbox(1024), now=0.0)
    endpoint.gate.on_sent(0.0, 1)  # with nothing under way there is nothing to wait for
    endpoint.gate.pacer.sent(0.0, 1_000, rate=1e6, burst=1)  # for a thousandth of a second
    assert endpoint.next_chunk(0.000_5) is None
    for asked_at in (0.000_5, 0.000_9, 0.001_5, 2.0):
        due = endpoint.next_time(asked_at)
        assert due is not None
        assert due < 0.001_1
    assert endpoint.next_chunk(0.001_5) is not None


def test_who_has_nothing_to_send_is_told_of_no_time() -> None:
    empty = Endpoint(Silent(), now=0.0)
    empty.receive(0.0, b"")
    assert empty.next_time(5.0) is None

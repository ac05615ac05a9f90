"""Tests of the link's facts: what is shown of TCP, and when nothing is."""

from __future__ import annotations

import pytest

from local_proxy.status.link_facts import LinkFacts
from tests.monitor.facts import transport


def test_two_looks_make_a_rate_and_the_newest_facts_are_shown() -> None:
    facts = LinkFacts()
    facts.look(transport(rtt_us=90_000, acked=0), now=5.0)
    shown = facts.shown(now=5.0)
    assert shown is not None and shown.delivered is None
    facts.look(
        transport(rtt_us=80_000, rttvar_us=3_000, acked=10_000, segments=9, retransmitted=2),
        now=6.0,
    )
    shown = facts.shown(now=8.0)
    assert shown is not None and shown.delivered is not None
    assert (shown.rtt, shown.rttvar, shown.min_rtt) == pytest.approx((0.08, 0.003, 0.05))
    assert (shown.segments, shown.retransmitted) == (9, 2)
    assert (shown.delivered.rate, shown.delivered.age) == (pytest.approx(10_000), 2.0)


def test_without_tcp_nothing_is_shown_and_another_connection_begins_anew() -> None:
    facts = LinkFacts()
    assert facts.shown(now=0.0) is None
    for at in (0.0, 1.0):
        facts.look(transport(acked=int(at * 50_000)), now=at)
    facts.look(None, now=2.0)
    assert facts.shown(now=2.0) is None
    facts.look(transport(connection=2, acked=90_000), now=3.0)
    shown = facts.shown(now=3.0)
    assert shown is not None and shown.delivered is None
    facts.look(transport(connection=2, acked=91_000), now=4.0)
    shown = facts.shown(now=4.0)
    assert shown is not None and shown.delivered is not None
    assert shown.delivered.rate == pytest.approx(1_000)

"""Clients that do not take our certificates are learnt of."""

from __future__ import annotations

import pytest

from local_proxy.front.tls.rejections import (
    DOUBT,
    FIRST_PAUSE,
    MAX_CLIENTS,
    MAX_HOSTS,
    PIN,
    Learnt,
    Rejections,
)


def test_a_client_that_never_trusted_us_is_left_alone_everywhere() -> None:
    known = Rejections()
    assert not known.refuses("a.test", "fox", now=0.0)
    assert "does not trust" in (known.rejected("a.test", "fox", now=0.0) or "")
    assert known.rejected("b.test", "fox", now=0.1) is None, "said once, not once a connection"
    assert known.refuses("c.test", "fox", now=1.0)
    assert not known.refuses("a.test", "chrome", now=1.0)
    assert known.learnt(now=1.0) == (Learnt("fox", "*", FIRST_PAUSE),)


def test_it_is_tried_again_after_ever_longer_pauses() -> None:
    known, now, pauses = Rejections(), 0.0, []
    for _ in range(10):
        known.rejected("a.test", "fox", now=now)
        (learnt,) = known.learnt(now=now)
        pauses.append(learnt.until - now)
        now = learnt.until
        assert not known.refuses("a.test", "fox", now=now)
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert max(pauses) == pytest.approx(PIN)


def test_a_client_that_trusts_us_is_left_alone_at_the_host_that_it_pins() -> None:
    known = Rejections()
    known.accepted("a.test", "app", now=0.0)
    assert "only the site's own" in (known.rejected("bank.test", "app", now=5.0) or "")
    assert known.refuses("bank.test", "app", now=5.0)
    assert not known.refuses("a.test", "app", now=5.0)
    assert not known.refuses("bank.test", "app", now=5.0 + PIN)
    assert known.learnt(now=6.0) == (Learnt("app", "bank.test", 5.0 + PIN),)


def test_a_client_that_has_learnt_to_trust_us_is_adapted_at_once() -> None:
    known = Rejections()
    known.rejected("a.test", "fox", now=0.0)
    known.accepted("b.test", "fox", now=0.5)
    assert not known.refuses("a.test", "fox", now=1.0)


def test_leaving_without_a_word_counts_from_the_third_time_and_for_that_host_alone() -> None:
    known = Rejections()
    assert known.suspected("a.test", "wget", now=0.0) is None
    assert known.suspected("b.test", "wget", now=1.0) is None
    assert known.suspected("a.test", "wget", now=DOUBT + 2) is None, "too long ago"
    assert known.suspected("a.test", "wget", now=DOUBT + 3) is None
    assert known.suspected("a.test", "wget", now=DOUBT + 4) is not None
    assert known.refuses("a.test", "wget", now=DOUBT + 4)
    assert not known.refuses("b.test", "wget", now=DOUBT + 4)


def test_a_trusting_browsers_unused_connections_mean_nothing() -> None:
    known = Rejections()
    known.accepted("a.test", "chrome", now=0.0)
    for now in range(20):
        assert known.suspected("a.test", "chrome", now=float(now)) is None
    assert known.learnt(now=20.0) == ()


def test_a_trusting_program_that_pins_in_silence_is_let_through_for_a_while() -> None:
    known = Rejections()
    known.accepted("a.test", "app", now=0.0)
    for now in (1.0, 2.0, 3.0):
        assert not known.refuses("bank.test", "app", now=now)
        known.suspected("bank.test", "app", now=now)
    assert known.refuses("bank.test", "app", now=4.0)
    assert not known.refuses("bank.test", "app", now=3.0 + FIRST_PAUSE)
    assert not known.refuses("a.test", "app", now=4.0)


def test_it_is_bounded_and_forgets() -> None:
    known = Rejections()
    for number in range(3 * MAX_HOSTS):
        known.accepted("a.test", "app", now=0.0)
        known.rejected(f"{number}.test", "app", now=0.0)
        known.suspected(f"{number}.test", "silent", now=0.0)
    assert len(known.learnt(now=1.0)) == MAX_HOSTS
    for number in range(3 * MAX_CLIENTS):
        known.rejected("a.test", f"client {number}" + "x" * 10_000, now=0.0)
    assert repr(known) == f"<Rejections of {MAX_CLIENTS} clients>"
    assert max(len(one.client) for one in known.learnt(now=1.0)) <= 256
    known.forget()
    assert known.learnt(now=1.0) == ()

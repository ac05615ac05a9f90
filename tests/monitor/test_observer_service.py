"""Tests of the daemon's answers: to whom, how large, and what is dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.observer.datagrams import (
    GetInfo,
    GetInfoBetween,
    Info,
    InfoBetween,
    Register,
    RegistrationAnswer,
    Unregister,
    Update,
    decode,
    encode,
)
from monitor.observer.observer import BandwidthObserver, Registration
from monitor.observer.service import AMPLIFICATION, ObserverService
from monitor.samples import ProgressSample, SensorKind
from tests.monitor.facts import transport
from tests.monitor.test_observer_datagrams import datagrams

SND, TRANSPORT = SensorKind.APP_SND, SensorKind.TRANSPORT


def serving() -> ObserverService:
    """One to which "us" has reported connection 7 with sensors of all kinds."""
    service = ObserverService(BandwidthObserver())
    for kind in SensorKind:
        service.handle(encode(Register(7, kind, "a", "b")), "us", now=0.0)
        for at in (0.0, 1.0):
            samples = (
                [transport(connection=7, acked=int(1000 * at))]
                if kind is TRANSPORT
                else [ProgressSample(7, int(1000 * at))]
            )
            assert service.handle(encode(Update(kind, at, samples)), "us", now=at) is None
    return service


def test_questions_are_answered_with_their_tags() -> None:
    service = serving()
    answer = service.handle(encode(GetInfo(7, 42)), "anybody", now=3.0)
    assert answer is not None
    info = decode(answer)
    assert isinstance(info, Info) and info.tag == 42
    assert [(one.sensor.name, one.rate, one.age) for one in info.estimates] == [
        ("TRANSPORT", 1000.0, 2.0), ("APP_RCV", 1000.0, 2.0), ("APP_SND", 1000.0, 2.0)
    ]  # fmt: skip
    assert decode(service.handle(encode(GetInfo(8, 1)), "x", now=3.0) or b"") == Info((), 1)
    answer = service.handle(encode(GetInfoBetween("a", "b", 5)), "x", now=3.0)
    between = decode(answer or b"")
    assert isinstance(between, InfoBetween)
    assert (between.connections, between.rate, between.age, between.tag) == (1, 1000.0, 2.0, 5)
    answer = service.handle(encode(GetInfoBetween("b", "a", 6, SND)), "x", now=3.0)
    assert decode(answer or b"") == InfoBetween(0, 0.0, 0.0, 0.0, 6)


def test_a_registration_is_answered_where_that_is_asked_for() -> None:
    service = serving()
    ways = [
        (Register(9, SND, "a", "b", 1), "us", Registration.DONE),
        (Register(9, SND, "a", "b", 2), "them", Registration.TAKEN),
        (Unregister(9, SND, 3), "them", Registration.TAKEN),
        (Unregister(9, SND, 4), "us", Registration.DONE),
        (Unregister(9, SND, 5), "us", Registration.UNKNOWN),
    ]
    for said, address, outcome in ways:
        answer = decode(service.handle(encode(said), address, now=1.0) or b"")
        assert answer == RegistrationAnswer(9, outcome, getattr(said, "tag", 0))
    assert service.handle(encode(Register(9, SND, "a", "b")), "us", now=1.0) is None
    assert service.handle(encode(Unregister(9, SND)), "us", now=1.0) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 28, b"GET / HTTP/1.1\r\n\r\n", encode(Info((), 1)), bytes(70_000)],
    ids=["empty", "zeros", "http", "an answer", "too large"],
)
def test_what_is_no_question_is_counted_and_dropped(data: bytes) -> None:
    service = ObserverService(BandwidthObserver())
    assert service.handle(data, "x", now=0.0) is None
    assert (service.statistics().faults, service.statistics().datagrams) == (1, 1)
    assert service.observer.statistics().samples == 0


@given(st.one_of(datagrams.map(encode), st.binary(max_size=100)))
def test_no_stranger_gets_more_than_four_times_what_it_sent(data: bytes) -> None:
    service = serving()
    answer = service.handle(data, "stranger", now=1.0)
    assert len(answer or b"") <= AMPLIFICATION * len(data)
    assert service.statistics().withheld == 0  # the layouts see to it


def test_an_answer_that_were_too_large_is_withheld_from_strangers_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("monitor.observer.service.AMPLIFICATION", 1)
    service = serving()
    question = encode(GetInfo(7, 1))
    assert service.handle(question, "stranger", now=1.0) is None
    assert service.handle(question, "us", now=1.0) is not None
    assert service.statistics().withheld == 1

"""Tests of the ids of requests: each is new, or goes on with what was there."""

from __future__ import annotations

import pytest

from remote_proxy.request_ids import RequestIds
from wire import messages as m
from wire.continuation import Continuation
from wire.errors import PeerError
from wire.frames import MAX_COMPONENT
from wire.session import Session, Side
from wire.skeleton import Kind, Part, Use


def ids(*, promised_before: int = 2, promises: int = 0) -> RequestIds:
    """Makes those of a session whose device knows earlier promises, and that made some since."""
    session = Session(Side.REMOTE, agent="test")
    session.receive(m.encode(m.Hello([1], first_promise=promised_before)))
    for _ in range(promises):
        session.new_component()
    return RequestIds(session)


def request(
    component: int, *, part: bool = False, level: str = "", goes_on: bool = False
) -> m.Request:
    line = Part(component, "http://a.test/p.jpg", Kind.IMAGE, Use.ELEMENT, 1) if part else None
    resume = Continuation(3, part=line, level=level) if part or level or goes_on else None
    return m.Request(component, 1, "GET", "http://a.test/p.jpg", b"", resume=resume)


def test_new_ids_are_odd_and_count_upwards() -> None:
    found = ids()
    for component in (1, 3, 9):
        found.check(request(component), busy=False)
    found.check(request(11, goes_on=True), busy=False)  # an earlier session's
    for component in (9, 5, 2, 0, -1):
        with pytest.raises(PeerError, match="not a new one"):
            found.check(request(component), busy=False)


def test_an_id_that_no_frame_can_carry_is_none() -> None:
    for component in (-1, MAX_COMPONENT + 2, 2**31 - 1, 2**62):
        for going_on in ({}, {"level": "original"}, {"part": True, "level": "low"}):
            with pytest.raises(PeerError, match="not a new one"):
                ids().check(request(component, **going_on), busy=False)
    ids().check(request(MAX_COMPONENT), busy=False)


def test_an_old_promise_keeps_its_id_while_nothing_of_it_is_under_way() -> None:
    found = ids(promised_before=6)
    found.check(request(4, part=True), busy=False)
    for component, busy in ((4, True), (6, False)):
        with pytest.raises(PeerError):
            found.check(request(component, part=True), busy=busy)


def test_a_picture_that_was_asked_for_goes_on_as_what_it_is_in_its_document() -> None:
    found = ids(promised_before=6)
    found.check(request(3, part=True), busy=False)
    with pytest.raises(PeerError):
        found.check(request(3, part=True), busy=False)


def test_a_picture_that_was_stopped_goes_on_under_its_id() -> None:
    found = ids(promises=3)
    found.check(request(7), busy=False)
    found.check(request(4, part=True, level="original"), busy=False)  # of this session
    found.check(request(7, level="original"), busy=False)
    for component, busy in ((4, True), (7, True), (8, False)):
        with pytest.raises(PeerError):
            found.check(request(component, part=True, level="original"), busy=busy)

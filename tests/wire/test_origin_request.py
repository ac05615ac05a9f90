"""Tests of the one record of a request: what it says is what the message says, both ways."""

from __future__ import annotations

from dataclasses import fields

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire import messages as m
from wire.abilities import Takes
from wire.applications import Application
from wire.continuation import Continuation, Kept
from wire.origin_request import OriginRequest

REQUESTS = st.builds(
    OriginRequest,
    method=st.sampled_from(["GET", "HEAD", "POST", "CONNECT"]),
    url=st.text(max_size=40),
    headers=st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=4),
    has_body=st.booleans(),
    levels=st.booleans(),
    tls=st.booleans(),
    treatment=st.sampled_from(m.Treatment),
    takes=st.integers(0, 63).map(Takes),
    kept=st.none() | st.builds(Kept, fresh=st.binary(max_size=8), stale=st.binary(max_size=8)),
    application=st.sampled_from(Application),
)


@given(REQUESTS)
def test_what_crosses_the_link_is_what_was_asked(request: OriginRequest) -> None:
    packed = msgspec.msgpack.encode(request.message(7, 5))
    message = msgspec.msgpack.decode(packed, type=m.Request)
    assert (message.component, message.document, message.resume) == (7, 5, None)
    assert OriginRequest.of(message, request.headers) == request


def test_a_resumed_request_says_what_is_here() -> None:
    resume = Continuation(100, b"digest")
    assert OriginRequest("GET", "http://a/", []).message(1, 1, resume).resume == resume


def test_every_attribute_has_a_place_in_the_message() -> None:
    carried = {one.name for one in fields(OriginRequest)}
    ours = {"component", "document", "resume"}
    assert set(m.Request.__struct_fields__) == carried | ours


@pytest.mark.parametrize(
    ("method", "has_body", "repeatable"),
    [("GET", False, True), ("HEAD", False, True), ("GET", True, False), ("POST", False, False)],
)
def test_only_what_can_do_no_harm_is_repeated(
    method: str, has_body: bool, repeatable: bool
) -> None:
    assert OriginRequest(method, "http://a/", [], has_body=has_body).repeatable is repeatable

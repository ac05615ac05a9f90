"""Tests of how a request says whose it is: in a byte, to ends that know of it and to others."""

from __future__ import annotations

import msgspec
import pytest

from wire import messages as m
from wire.applications import NODES, TUNNELS, Application
from wire.errors import PeerError
from wire.origin_request import OriginRequest

AT = 1 + m.Request.__struct_fields__.index("application")
"""Its place in a request, behind the tag."""
BARE = m.Request(1, 1, "GET", "http://a.test/", b"")


def packed(application: object) -> bytes:
    """A request in which something else is said of the application."""
    fields = msgspec.msgpack.decode(m.encode(BARE))
    return msgspec.msgpack.encode([*fields[:AT], application])


def test_each_application_has_a_node_of_its_own_beside_the_tunnels() -> None:
    assert [one.node for one in Application] == ["browser", "office", "background", "other"]
    assert (*(one.node for one in Application), TUNNELS) == NODES


@pytest.mark.parametrize("application", Application)
def test_a_request_says_whose_it_is_in_one_byte(application: Application) -> None:
    asked = OriginRequest("GET", "http://a.test/", [], application=application)
    message = m.decode(m.encode(asked.message(1, 1)))
    assert isinstance(message, m.Request)
    assert OriginRequest.of(message, []).application is application
    fields = msgspec.msgpack.decode(m.encode(asked.message(1, 1)))
    assert len(msgspec.msgpack.encode(fields[AT])) == 1


def test_an_end_that_does_not_say_it_is_a_browsers() -> None:
    fields = msgspec.msgpack.decode(m.encode(BARE))
    message = m.decode(msgspec.msgpack.encode(fields[:AT]))
    assert isinstance(message, m.Request)
    assert message.application is Application.BROWSER


@pytest.mark.parametrize("application", [4, -1, 1 << 40, "office", None, [1], 1.5])
def test_what_is_no_application_is_refused(application: object) -> None:
    with pytest.raises(PeerError):
        m.decode(packed(application))

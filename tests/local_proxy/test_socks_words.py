"""The words of SOCKS 5, whole, in pieces, and wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.front.socks.words import (
    LONGEST,
    SocksError,
    SocksReply,
    SocksTarget,
    greeting,
    reply,
    request,
)

NAME = b"\x05\x01\x00\x03\x0bhost.exampl\x01\xbb"
WHOLE = [
    (NAME, SocksTarget("host.exampl", 443)),
    (b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x16", SocksTarget("127.0.0.1", 22)),
    (b"\x05\x01\x00\x04" + bytes(15) + b"\x01\x1f\x90", SocksTarget("[::1]", 8080)),
]


@pytest.mark.parametrize(("data", "target"), WHOLE)
def test_a_request_is_understood_once_it_is_whole(data: bytes, target: SocksTarget) -> None:
    for length in range(len(data)):
        assert request(data[:length]) is None
    assert request(data + b"GET") == (target, len(data))
    assert len(data) <= LONGEST


def test_a_greeting_says_whether_authentication_can_be_done_without() -> None:
    for length in range(4):
        assert greeting(b"\x05\x02\x02\x00"[:length]) is None
    assert greeting(b"\x05\x02\x02\x00more") == (True, 4)
    assert greeting(b"\x05\x01\x02") == (False, 3)
    assert greeting(b"\x05\x00") == (False, 2)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x04\x01\x00\x01\x7f\x00\x00\x01\x00\x16", None),
        (b"\x05\x02" + NAME[2:], SocksReply.NO_COMMAND),
        (b"\x05\x03" + NAME[2:], SocksReply.NO_COMMAND),
        (b"\x05\x01\x00\x02\x7f\x00\x00\x01\x00\x16", SocksReply.NO_ADDRESS_TYPE),
        (b"\x05\x01\x00\x03\x00\x00\x16", SocksReply.NO_ADDRESS_TYPE),
        (b"\x05\x01\x00\x03\x02\xc3\xa9\x00\x16", SocksReply.FAILED),
    ],
)
def test_what_there_is_not_is_refused(data: bytes, says: SocksReply | None) -> None:
    with pytest.raises(SocksError) as refused:
        request(data)
    assert refused.value.reply == says
    with pytest.raises(SocksError):
        greeting(b"\x04" + data[1:])


def test_a_reply_has_an_address_of_nothing() -> None:
    assert reply(SocksReply.NOT_ALLOWED) == b"\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"


@given(st.binary(max_size=300))
def test_whatever_comes_is_a_request_more_to_come_or_refused(data: bytes) -> None:
    for read in (greeting, request):
        try:
            found = read(b"\x05" + data)
        except SocksError:
            continue
        assert found is None or 0 < found[1] <= len(data) + 1

"""All that msgspec ends with at bytes of others is told from a fault of our own."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malformed import MALFORMED
from tests.malformed import NESTED, NESTED_JSON, NO_UTF8


class _Form(msgspec.Struct):
    names: dict[str, int] = msgspec.field(default_factory=dict)


@pytest.mark.parametrize("data", [b"", b"{", b'{"names":{"\xff":1}}', b'{"names":1}', NESTED_JSON])
def test_json_that_is_none_is_malformed(data: bytes) -> None:
    with pytest.raises(MALFORMED):
        msgspec.json.decode(data, type=_Form)


@pytest.mark.parametrize("data", [b"", NO_UTF8, b"\x91" + NO_UTF8, b"\x92\x00" + NESTED])
def test_messagepack_that_is_none_is_malformed(data: bytes) -> None:
    with pytest.raises(MALFORMED):
        msgspec.msgpack.decode(data, type=list[str])


@given(st.binary(max_size=300))
def test_bytes_of_any_sort_are_a_message_or_malformed(data: bytes) -> None:
    with contextlib.suppress(MALFORMED):
        msgspec.msgpack.decode(data, type=dict[str, list[str]])

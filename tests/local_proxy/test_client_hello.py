"""ClientHellos: real ones whole, cut and mutated; and what is none."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.front.tls.client_hello import MAX_HELLO, ClientHello, parse_client_hello


def hello(
    *, name: str | None = "a.test", alpn: tuple[str, ...] = ("h2", "http/1.1"), old: bool = False
) -> bytes:
    """What OpenSSL says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if old:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    return out.read()


HELLO = hello()
KNOWN = ClientHello("a.test", ("h2", "http/1.1"), True)


def in_records(data: bytes, *, size: int) -> bytes:
    """The same message in records of `size` bytes."""
    message = data[5:]
    pieces = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + len(p).to_bytes(2) + p for p in pieces)


def test_a_hello_says_its_server_and_its_protocols() -> None:
    assert parse_client_hello(HELLO) == KNOWN
    assert parse_client_hello(HELLO + b"early data") == KNOWN
    assert parse_client_hello(hello(name=None, alpn=())) == ClientHello(None, (), True)
    assert parse_client_hello(hello(name="A.Test.")) == KNOWN
    assert parse_client_hello(hello(old=True)) == KNOWN


@pytest.mark.parametrize("size", [7, 100])
def test_a_hello_in_many_records(size: int) -> None:
    data = in_records(HELLO, size=max(size, len(HELLO) // 60))
    assert parse_client_hello(data) == KNOWN
    assert all(parse_client_hello(data[:end]) is None for end in range(len(data)))


def test_every_beginning_of_a_hello_wants_more() -> None:
    assert all(parse_client_hello(HELLO[:end]) is None for end in range(len(HELLO)))


def test_a_client_of_tls_1_1_is_not_modern() -> None:
    body = b"\x03\x02" + bytes(32) + b"\0" + b"\0\x02\x00\x2f" + b"\x01\0"
    message = b"\x01" + len(body).to_bytes(3) + body
    data = b"\x16\x03\x01" + len(message).to_bytes(2) + message
    assert parse_client_hello(data) == ClientHello(None, (), False)


def test_unknown_extensions_and_versions_are_ignored() -> None:
    """As GREASE has them (RFC 8701)."""
    grease = b"\x4a\x4a\0\x01\0"
    versions = b"\x00\x2b\x00\x05\x04\x7a\x7a\x03\x04"
    extensions = grease + versions
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0"
    body += len(extensions).to_bytes(2) + extensions
    message = b"\x01" + len(body).to_bytes(3) + body
    data = b"\x16\x03\x01" + len(message).to_bytes(2) + message
    assert parse_client_hello(data) == ClientHello(None, (), True)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x\r\n",
        b"\x80\x2e\x01\x00\x02",  # SSL 2
        b"\x16\x02",
        b"\x17\x03\x03\x00\x05",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff\x01",
        b"\x16\x03\x01\x00\x04\x0e\x00\x00\x00",
        b"\x16\x03\x01\x01\x00\x01" + (MAX_HELLO + 1).to_bytes(3),
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03",
        b"\x16\x03\x01\x00\x01\x01" + b"\x16\x03\x01\x00\x01\x00" * 64,
    ],
)
def test_what_is_no_hello(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse_client_hello(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_hello_or_not(data: bytes) -> None:
    try:
        found = parse_client_hello(data)
    except ValueError:
        return
    assert found is None or isinstance(found, ClientHello)


@given(st.integers(0, len(HELLO) - 1), st.binary(min_size=1, max_size=4))
def test_a_hello_with_some_bytes_changed(at: int, bits: bytes) -> None:
    data = HELLO[:at] + bits + HELLO[at + len(bits) :]
    try:
        found = parse_client_hello(data)
    except ValueError:
        return
    assert found is None or isinstance(found, ClientHello)

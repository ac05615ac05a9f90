"""Skeletons deflated: nothing is lost, what must not be deflated is not, bombs stay small."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from wire import messages as m
from wire import packing
from wire.errors import PeerError
from wire.packing import packed, unpacked
from wire.session import Session, Side
from wire.skeleton import Kind, Part, Use

PAGE = [
    Part(
        2 * number + 2,
        f"https://cdn.news.example/media/2024/05/photo-{number}-of-the-day.jpg",
        Kind.IMAGE,
        Use.ELEMENT,
        number,
    )
    for number in range(20)
]
SKELETON = m.Skeleton(1, PAGE, True)
SECRET = ("cookie", "session=0123456789abcdef")

parts = st.builds(
    Part,
    component=st.integers(0, 2**32),
    url=st.text(max_size=300),
    kind=st.sampled_from(Kind),
    use=st.sampled_from(Use),
    order=st.integers(0, 2**16),
    width=st.integers(0, 2**16),
    height=st.integers(0, 2**16),
)
skeletons = st.builds(
    m.Skeleton,
    document=st.integers(0, 2**32),
    parts=st.lists(parts, max_size=12),
    promised=st.booleans(),
    headers=st.binary(max_size=80),
)


def deflated(data: bytes) -> bytes:
    work = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=packing.DICTIONARY)
    return work.compress(data) + work.flush()


def sessions(*, accepts: bool = True) -> tuple[Session, Session]:
    """Both sides, open; the local one may be of before there was packing."""
    local, remote = Session(Side.LOCAL, agent="t"), Session(Side.REMOTE, agent="t")
    hello = local.next_control()
    assert hello is not None
    if not accepts:
        said = m.decode(hello)
        assert isinstance(said, m.Hello)
        hello = m.encode(structs.replace(said, accepts=[]))
    remote.receive(hello)
    answer = remote.next_control()
    assert answer is not None
    local.receive(answer)
    return local, remote


@given(skeletons)
def test_every_skeleton_survives_and_none_grows(message: m.Skeleton) -> None:
    made = packed(message)
    assert len(m.encode(made)) <= len(m.encode(message))
    again = m.decode(m.encode(made))
    assert (unpacked(again) if isinstance(again, m.Packed) else again) == message


def test_addresses_that_look_alike_take_a_third() -> None:
    made = packed(SKELETON)
    assert isinstance(made, m.Packed)
    assert len(m.encode(made)) < len(m.encode(SKELETON)) / 3


def test_the_first_address_already_gains_by_the_dictionary() -> None:
    url = "https://www.static.example.com/assets/images/" + "q7x" * 40 + ".jpg"
    made = packed(m.Skeleton(1, [Part(2, url, Kind.IMAGE, Use.ELEMENT, 0)], True))
    assert isinstance(made, m.Packed)


@pytest.mark.parametrize(
    "message",
    [
        m.Request(1, 1, "GET", "http://a.test/" + "a" * 500, b""),
        m.Head(1, 200, b"a" * 500),
        m.Trailers(1, b"a" * 500),
        m.Goodbye("a" * 500),
        m.Skeleton(1, PAGE[:1], True),
    ],
    ids=lambda message: type(message).__name__,
)
def test_nothing_else_is_deflated_and_no_short_skeleton(message: m.Message) -> None:
    assert packed(message) is message


@given(st.text(alphabet="0123456789abcdef", min_size=16, max_size=16))
def test_a_page_s_addresses_tell_nothing_of_the_headers_beside_them(guess: str) -> None:
    """CRIME: were the block deflated too, a right guess would make the message shorter."""
    block = b"session=0123456789abcdef"

    def size(name: str) -> int:
        url = f"https://cdn.news.example/{name}.jpg"
        part = Part(2, url, Kind.IMAGE, Use.ELEMENT, 0)
        with_headers = packed(m.Skeleton(1, [*PAGE, part], True, block))
        without = packed(m.Skeleton(1, [*PAGE, part], True))
        return len(m.encode(with_headers)) - len(m.encode(without))

    assert size(f"session={guess}") == size("session=0123456789abcdef") == len(block)


def test_a_session_packs_and_unpacks_with_the_headers() -> None:
    local, remote = sessions()
    remote.enqueue(SKELETON, [("accept", "image/*"), SECRET])
    payload = remote.next_control()
    assert payload is not None
    assert isinstance(m.decode(payload), m.Packed)
    message, headers = local.receive(payload)
    assert isinstance(message, m.Skeleton)
    assert message.parts == PAGE
    assert headers == [("accept", "image/*"), SECRET]


def test_a_peer_that_does_not_say_it_gets_plain_ones() -> None:
    _, remote = sessions(accepts=False)
    remote.enqueue(SKELETON)
    assert remote.next_control() == m.encode(SKELETON)


def test_a_packed_message_counts_as_what_is_in_it() -> None:
    local, remote = sessions()
    payload = m.encode(packed(SKELETON))
    with pytest.raises(PeerError, match="Skeleton from the local side"):
        remote.receive(payload)
    fresh = Session(Side.LOCAL, agent="t")
    with pytest.raises(PeerError, match="before Hello"):
        fresh.receive(payload)
    assert local.receive(payload)[0] == SKELETON


WHOLE = deflated(m.encode(SKELETON))
WITH_HEADERS = m.encode(structs.replace(SKELETON, headers=b"x"))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not all there"),
        (WHOLE[:-1], "not all there"),
        (WHOLE[: len(WHOLE) // 2], "not all there"),
        (WHOLE + b"x", "not all there"),
        (b"\xff" * 100, "malformed"),
        (deflated(bytes(m.MAX_MESSAGE + 1)), "too long"),
        (deflated(m.encode(m.Packed(WHOLE))), "Packed in a packed"),
        (deflated(m.encode(m.Ping(1))), "Ping in a packed"),
        (deflated(WITH_HEADERS), "Skeleton in a packed"),
        (deflated(b"\x91" * 60_000), "malformed control message"),
        (deflated(b""), "malformed control message"),
    ],
    ids=["empty", "cut", "half", "trailing", "noise", "long", "nested", "ping", "headers", "deep",
         "nothing"],
)  # fmt: skip
def test_what_is_no_packed_skeleton_is_the_peer_s_error(data: bytes, complaint: str) -> None:
    with pytest.raises(PeerError, match=complaint):
        unpacked(m.Packed(data))


@given(st.binary(max_size=400))
def test_noise_is_a_skeleton_or_the_peer_s_error(data: bytes) -> None:
    try:
        found = unpacked(m.Packed(data))
    except PeerError:
        return
    assert isinstance(found, m.Skeleton)


@given(st.data())
def test_mutated_ones_too(draw: st.DataObject) -> None:
    data = bytearray(WHOLE)
    data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        found = unpacked(m.Packed(bytes(data)))
    except PeerError:
        return
    assert isinstance(found, m.Skeleton)


def test_a_bomb_takes_no_more_memory_than_a_message() -> None:
    bomb = m.Packed(deflated(bytes(50 << 20)))
    assert len(bomb.data) < m.MAX_MESSAGE
    tracemalloc.start()
    try:
        with pytest.raises(PeerError, match="too long"):
            unpacked(bomb)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * m.MAX_MESSAGE

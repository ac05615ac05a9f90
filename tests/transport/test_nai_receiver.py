"""The receiving core: any order of segments, hostile ones, bounded memory; headers and the
stream."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transport.nai_world import let, sender
from transport.nai import headers
from transport.nai.carriers.segments import Cutter, Filler
from transport.nai.errors import SegmentFault
from transport.nai.headers import (
    Cancelled,
    Fault,
    MessageData,
    Poll,
    Polled,
    RefusalReason,
    RefusedMessage,
)
from transport.nai.messages.message import MessageState, NaiMessage
from transport.nai.receiving.receiver import MOST_STREAMS, Receiver


def sent(*messages: NaiMessage) -> list[bytes]:
    atp, box, _ = sender(segment=256)
    for message in messages:
        atp.submit(message, 0.0)
    return let(atp, box, 10_000, now=0.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 2)), max_size=12), st.randoms())
def test_segments_in_any_order_make_the_messages_in_their_order(
    wanted: list[tuple[int, int]], order: random.Random
) -> None:
    messages = [
        NaiMessage(bytes((number,)) * size, priority=priority, queue="äö"[:priority])
        for number, (size, priority) in enumerate(wanted)
    ]
    segments = sent(*messages)
    order.shuffle(segments)
    receiver, got = Receiver(), []
    for segment in segments:
        got += receiver.receive(segment, 0.0)
    for priority in range(3):
        assert [(one.queue, one.data) for one in got if one.priority == priority] == [
            ("äö"[:priority], bytes((number,)) * size)
            for number, (size, own) in enumerate(wanted)
            if own == priority
        ]
    assert receiver.statistics().held == receiver.statistics().open == 0


@settings(max_examples=50, deadline=None)
@given(st.randoms())
def test_a_cancelled_message_leaves_nothing_whatever_the_order(order: random.Random) -> None:
    atp, box, _ = sender(segment=256)
    message, other = NaiMessage(bytes(3000)), NaiMessage(b"other")
    atp.submit(message, 0.0)
    segments = let(atp, box, 4, now=0.0)
    atp.submit(other, 0.0)
    atp.cancel(message)
    segments += let(atp, box, 9, now=0.0)
    order.shuffle(segments)
    receiver = Receiver()
    got = [one for segment in segments for one in receiver.receive(segment, 0.0)]
    assert [one.data for one in got] == [b"other"]
    assert receiver.statistics().held == receiver.statistics().open == 0
    assert receiver.statistics().cancelled == 1


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255))))
def test_hostile_segments_raise_peer_fault_and_nothing_else(
    tail: bytes, mutations: list[tuple[int, int]]
) -> None:
    receiver = Receiver(memory=10_000)
    segments = [
        bytearray(one) for one in sent(NaiMessage(bytes(600)), NaiMessage(b"x", priority=-3))
    ]
    for place, value in mutations:
        segment = segments[place % len(segments)]
        segment[place % len(segment)] = value
    for segment in [*segments, bytearray(tail), *(bytearray((kind,)) + tail for kind in (16, 19))]:
        try:
            receiver.receive(bytes(segment), 0.0)
        except SegmentFault:
            continue
    assert 0 <= receiver.statistics().held <= 12_000


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([b""], "empty"),
        ([b"\x13"], "truncated"),
        ([b"\x13" + b"\xff" * 20], "absurd"),
        ([b"\x99\x01"], "kind"),
        ([headers.data(1, 0, size=5) + b"123456"], "past its end"),
        ([headers.data(1, 0, size=5, end=(0, 0)) + b"1234"], "not whole"),
        ([headers.data(1, 0)], "without bytes"),
        ([headers.data(1, 0, size=9) + b"12"] * 2, "came twice"),
        ([headers.data(1, 0, size=9) + b"12", headers.data(1, 1) + b"345"] * 2, "came twice"),
        ([headers.data(1, 0, size=4) + b"12", headers.data(1, 2) + b"34"], "does not end"),
        (
            [headers.data(1, 0, size=4) + b"12", headers.data(1, 1, end=(0, 0)) + b"23"],
            "gap",
        ),
        ([headers.data(1, 0, size=4, end=(0, 0)) + b"1234"] * 2, "place of another"),
        ([b"\x50\x01\x09\x05"], "refusal"),
        ([b"\x50\x01\x01"], "truncated"),
        ([headers.cancel(1, 2), headers.data(1, 0, size=9) + b"123"], "after it was cancelled"),
        ([headers.cancel(1, 2), headers.cancel(1, 2)], "cancelled twice"),
        ([b"\x11\x01\x00\x05\x02\xff\xff12345"], "UTF-8"),
        ([b"\x11\x01\x00\x05\xff12345"], "name"),
        ([headers.data(n, 1) + b"1" for n in range(1, 9000)], "unfinished"),
        (
            [
                headers.data(n, 0, size=0, queue=str(n), end=(0, 0))
                for n in range(1, MOST_STREAMS + 2)
            ],
            "pairs",
        ),
    ],
)
def test_what_no_sender_makes(segments: list[bytes], message: str) -> None:
    receiver = Receiver(memory=1 << 20)
    with pytest.raises(SegmentFault, match=message):
        for segment in segments:
            receiver.receive(segment, 0.0)


numbers = st.integers(0, 1 << 40)


@given(
    numbers, st.integers(0, 1 << 30), st.integers(-(1 << 20), 1 << 20), numbers,
    st.binary(min_size=1, max_size=50),
)  # fmt: skip
def test_headers_survive(id: int, offset: int, priority: int, place: int, data: bytes) -> None:
    one = headers.parse(headers.data(id, offset, end=(priority, place)) + data)
    assert one == MessageData(id, offset, None, "", True, priority, place, data)
    begun = headers.parse(headers.data(id, 0, size=1 << 31, queue="größe") + data)
    assert isinstance(begun, MessageData) and (begun.size, begun.queue) == (1 << 31, "größe")
    assert headers.parse(headers.cancel(id, offset)) == Cancelled(id, offset)
    assert headers.parse(headers.poll(id, size=300)) == Poll(id, 300)
    assert headers.parse(headers.polled(id, size=7, seconds=0.25)) == Polled(id, 7, 0.25)
    for why in RefusalReason:
        assert headers.parse(headers.refused(id, why, limit=offset)) == RefusedMessage(
            id, why, offset
        )
    assert headers.parse(headers.fault("größe" * 40)) == Fault("größe" * 14 + "gr")
    assert len(headers.data(id, offset, end=(priority, place))) <= headers.CONTINUED


def test_a_packet_pair_is_answered_by_the_time_between_the_two() -> None:
    receiver = Receiver()
    for number, at in ((1, 0.0), (2, 0.5), (2, 0.75), (3, 1.0), (3, 9.0)):
        receiver.receive(headers.poll(number, size=1000), at)
    assert [headers.parse(reply) for reply in receiver.replies()] == [Polled(2, 1000, 0.25)]
    assert receiver.replies() == []


@given(st.lists(st.binary(min_size=1, max_size=200), max_size=20), st.integers(1, 300))
def test_a_stream_is_cut_into_what_was_sent_however_it_comes(
    payloads: list[bytes], step: int
) -> None:
    for padding in Filler:
        stream = b""
        for payload in payloads:
            one = len(payload).to_bytes(2, "big") + payload
            stream += one.ljust(256, b"\0") if padding is Filler.PAPER else one
        cutter, got = Cutter(segment=256, padding=padding), []
        for start in range(0, len(stream), step):
            got += cutter.cut(stream[start : start + step])
        assert got == payloads and not cutter.incomplete


@pytest.mark.parametrize("length", [0, 255, 65_535])
def test_a_length_that_was_not_agreed_ends_the_stream(length: int) -> None:
    with pytest.raises(SegmentFault, match="agreed"):
        list(Cutter(segment=256).cut(length.to_bytes(2, "big")))


def refusals(receiver: Receiver) -> list[tuple[int, RefusalReason]]:
    found = [headers.parse(reply) for reply in receiver.replies()]
    return [(one.id, one.why) for one in found if isinstance(one, RefusedMessage)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 200, 900, 5000]), st.sampled_from(["a", "b"])), max_size=8
    ),
    st.randoms(),
)
def test_who_is_refused_is_told_and_nobody_else_is_held_up(
    wanted: list[tuple[int, str]], order: random.Random
) -> None:
    """Messages of 5000 bytes are too large, queue b is not known."""
    messages = [NaiMessage(bytes(size), queue=queue) for size, queue in wanted]
    segments = sent(*messages)
    order.shuffle(segments)
    receiver, got, told = Receiver(memory=4999, queues={"a"}), [], []
    for segment in segments:
        got += receiver.receive(segment, 0.0)
        told += refusals(receiver)
    took = {one.id for one in got}
    assert [one.id for one in got] == sorted(took)
    assert took | {id for id, _ in told} == {message.id for message in messages}
    assert len(told) + len(got) == len(messages)
    for message in messages:
        if message.queue == "b":
            assert (message.id, RefusalReason.UNKNOWN_QUEUE) in told or (
                message.id,
                RefusalReason.FULL,
            ) in told
        elif message.size == 5000:
            assert message.id not in took
    assert receiver.statistics().held == receiver.statistics().open == 0


def test_the_rest_of_a_refused_message_is_not_needed() -> None:
    """The sender stops in the middle, and the next one of the queue comes through."""
    atp, box, _ = sender(segment=256)
    large, small = NaiMessage(bytes(3000)), NaiMessage(b"small")
    receiver, got = Receiver(memory=2000), []
    atp.submit(large, 0.0)
    for segment in let(atp, box, 3, now=0.0):
        got += receiver.receive(segment, 0.0)
    (refusal,) = [headers.parse(reply) for reply in receiver.replies()]
    assert isinstance(refusal, RefusedMessage)
    refused, error = atp.known.refusal(refusal)
    assert refused is large
    atp.cancel(large, error)
    assert large.state is MessageState.CANCELLED and large.error is error
    assert "2000 bytes at most" in str(error)
    atp.submit(small, 0.0)
    for segment in let(atp, box, 9, now=0.0):
        got += receiver.receive(segment, 0.0)
    assert [one.data for one in got] == [b"small"]
    assert receiver.statistics().held == receiver.statistics().open == 0
    assert atp.statistics().turned_away == receiver.statistics().refused == 1


def test_who_only_asks_for_refusals_grows_nothing() -> None:
    receiver = Receiver(queues=())
    atp, box, _ = sender(segment=256)
    for number in range(5000):
        segment = headers.data(number, 0, size=1, queue="q", end=(0, number)) + b"x"
        assert receiver.receive(segment, 0.0) == []
        for reply in receiver.replies():
            atp.send_control(reply)
    assert receiver.statistics().held == 0
    assert len(let(atp, box, 9000, now=0.0)) == 1024

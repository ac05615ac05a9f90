"""The sending core, a segment at a time: order, expiry, verdicts, cancellation, exact accounts."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from admission.admission import Protects
from tests.transport.nai_world import Box, let, sender
from transport.nai import headers
from transport.nai.atp import AtpSender
from transport.nai.errors import CarrierError, NaiError
from transport.nai.headers import Cancelled, MessageData
from transport.nai.messages.message import Cancel, Continue, Defer, Expiry, MessageState, NaiMessage
from transport.nai.messages.queues import MOST_QUEUES, weight
from transport.nai.messages.segments import Cutting
from transport.nai.receiving.receiver import Receiver


def queued(
    atp: AtpSender, name: str, size: int = 2500, *, now: float = 0.0, **kind: object
) -> NaiMessage:
    message = NaiMessage(name.encode() * size, **kind)  # type: ignore[arg-type]
    atp.submit(message, now)
    return message


def order(segments: list[bytes]) -> str:
    """The messages' letters, a segment each; x: a cancellation."""
    found = ""
    for segment in segments:
        parsed = headers.parse(segment)
        found += "x" if isinstance(parsed, Cancelled) else ""
        found += chr(parsed.payload[0]) if isinstance(parsed, MessageData) else ""
    return found


def ask(message: NaiMessage, expiry: Expiry) -> None:
    raise AssertionError("the driver calls it, not the core")


def test_priority_then_deadline_then_arrival_and_a_message_is_interrupted() -> None:
    atp, box, _ = sender()
    queued(atp, "a")
    queued(atp, "b", timer=9.0)
    queued(atp, "c", timer=8.0)
    assert order(let(atp, box, 1, now=0.0)) == "c"
    queued(atp, "d", 900, priority=1)
    queued(atp, "e", 900, timer=1.0)
    assert order(let(atp, box, 100, now=0.0)) == "deccbbbaaa"
    assert atp.idle and atp.statistics().bytes == 0


def test_queues_share_by_their_highest_priority_and_none_starves() -> None:
    atp, box, _ = sender()
    queued(atp, "a", 200_000, queue="a", priority=2)
    queued(atp, "b", 200_000, queue="b")
    first = order(let(atp, box, 50, now=0.0))
    assert (first.count("a"), first.count("b")) == (40, 10)
    urgent = queued(atp, "c", 900, queue="b", priority=2)  # raises b's weight until it is sent
    assert order(let(atp, box, 2, now=0.0)).count("c") == 1
    assert urgent.state is MessageState.DELIVERED
    rest = order(let(atp, box, 50, now=0.0))
    assert rest.count("b") in (9, 10, 11)
    assert weight(100) == weight(8) and weight(-100) == weight(-8) > 0


def test_a_timer_that_can_not_be_kept_is_refused_at_once() -> None:
    atp, _, _ = sender(1000.0)
    assert queued(atp, "a", 5000, timer=1.0).state is MessageState.REJECTED
    refused = queued(atp, "b", 5000, timer=1.0, on_timer=ask)
    assert refused.state is MessageState.SUSPENDED
    assert atp.expired.popleft() == (refused, Expiry.REFUSED)
    atp.answer(refused, Cancel(), 0.0)
    assert refused.state is MessageState.REJECTED
    again = queued(atp, "c", 5000, timer=1.0, on_timer=ask)
    atp.answer(again, Continue(10.0), 0.0)
    assert again.state is MessageState.QUEUED and again.deadline == 10.0
    assert (
        queued(atp, "d", 6000, timer=11.0).state is MessageState.REJECTED
    )  # it would break c's timer
    assert atp.statistics().refused == 4


def test_late_expiry_suspends_before_anybody_is_asked() -> None:
    atp, box, _ = sender()
    message = queued(atp, "a", timer=1.0, on_timer=ask)
    let(atp, box, 1, now=0.5)
    assert message.state is MessageState.SENDING and atp.next_time(0.5) == 1.0
    assert let(atp, box, 5, now=1.0) == []
    assert message.state is MessageState.SUSPENDED and list(atp.expired) == [(message, Expiry.LATE)]
    atp.answer(message, Continue(), 1.1)
    assert order(let(atp, box, 5, now=1.1)) == "aa" and message.state is MessageState.DELIVERED
    atp.answer(message, Cancel(), 1.2)  # too late to matter
    assert message.state is MessageState.DELIVERED


def test_early_expiry_when_the_bandwidth_falls() -> None:
    atp, box, known = sender(10_000.0)
    first = queued(atp, "a", 5000, timer=1.0, on_timer=ask)
    second = queued(atp, "b", 2000, timer=2.0, on_timer=ask)
    known.tell(4000.0)
    let(atp, box, 0, now=0.1)
    assert [(message, expiry) for message, expiry in atp.expired] == [(first, Expiry.EARLY)]
    assert second.state is MessageState.QUEUED


def test_a_fall_too_small_to_tell_from_noise_expires_nobody() -> None:
    atp, box, known = sender(10_000.0)
    queued(atp, "a", 8000, timer=1.0, on_timer=ask)
    known.tell(9_000.0)
    let(atp, box, 0, now=0.1)
    assert not atp.expired


def test_defer_and_its_end() -> None:
    atp, box, _ = sender()
    message = queued(atp, "a", timer=1.0, on_timer=ask)
    let(atp, box, 0, now=1.0)
    atp.answer(atp.expired.popleft()[0], Defer(5.0), 1.0)
    assert message.state is MessageState.DEFERRED and atp.next_time(1.5) >= 2.0
    assert order(let(atp, box, 9, now=5.9)) == ""
    assert order(let(atp, box, 9, now=6.0)) == "aaa"


def test_without_a_callback_a_timer_drops_its_message_and_tells_the_receiver() -> None:
    atp, box, _ = sender()
    message = queued(atp, "a", timer=1.0)
    let(atp, box, 1, now=0.0)
    assert order(let(atp, box, 9, now=1.0)) == "x"
    assert message.state is MessageState.CANCELLED and atp.statistics().wasted > 900


@pytest.mark.parametrize("timer", [0.0, -5.0, float("-inf")])
def test_a_timer_in_the_past_expires_at_once(timer: float) -> None:
    atp, _, _ = sender()
    message = queued(atp, "a", timer=timer, on_timer=ask)
    assert list(atp.expired) == [(message, Expiry.LATE)]


def test_a_callback_that_asks_for_the_impossible_again_and_again_is_called_now_and_then() -> None:
    atp, box, _ = sender()
    message = queued(atp, "a", timer=0.0, on_timer=ask)
    calls, now = 0, 0.0
    while now < 1.0:
        while atp.expired:
            asked, _ = atp.expired.popleft()
            calls += 1
            atp.answer(asked, Continue(0.0), now)
        let(atp, box, 1, now=now)
        now += 0.01
    assert 5 <= calls <= 25 and message.state is MessageState.SUSPENDED


def test_what_the_application_did_meanwhile_goes_before_its_verdict() -> None:
    atp, _, _ = sender()
    message = queued(atp, "a", timer=0.0, on_timer=ask)
    message.timer = 3.0
    atp.resume(message, 0.0)
    atp.answer(message, Cancel(), 0.0)
    assert message.state is MessageState.QUEUED


def test_suspend_resume_restart_cancel_prioritise() -> None:
    atp, box, _ = sender()
    a, b = queued(atp, "a"), queued(atp, "b")
    let(atp, box, 1, now=0.0)
    atp.suspend(a)
    assert (a.state, a.left) == (MessageState.SUSPENDED, 2500 - a.sent) and a.sent > 900
    assert order(let(atp, box, 1, now=0.0)) == "b"
    atp.resume(a, 0.0)
    assert atp.prioritise(a, 3, 0.0)
    assert order(let(atp, box, 1, now=0.0)) == "a"
    atp.restart(a, 0.0)
    assert a.left == 2500
    assert order(let(atp, box, 4, now=0.0)) == "xaaa"
    atp.cancel(b)
    atp.cancel(b)
    assert order(let(atp, box, 9, now=0.0)) == "x"
    assert (a.state, b.state) == (MessageState.DELIVERED, MessageState.CANCELLED)
    for act in (lambda: atp.suspend(a), lambda: atp.resume(b, 0.0), lambda: atp.restart(a, 0.0)):
        with pytest.raises(NaiError, match="has ended"):
            act()


def test_a_priority_that_would_break_a_timer_is_not_taken() -> None:
    atp, _, _ = sender(1000.0)
    timed, bulk = queued(atp, "a", 2000, timer=4.0), queued(atp, "b", 5000)
    assert not atp.prioritise(bulk, 1, 0.0)
    assert (bulk.priority, bulk.state) == (0, MessageState.QUEUED)
    assert atp.prioritise(timed, 1, 0.0) and atp.prioritise(bulk, 1, 0.0)


def test_lower_priorities_make_way_if_told_so() -> None:
    atp, _, _ = sender(1000.0, protects=Protects.PEERS)
    low = queued(atp, "a", 3000, timer=4.5, on_timer=ask)
    high = queued(atp, "b", 3000, priority=1, timer=4.5)
    assert high.state is MessageState.QUEUED
    assert list(atp.expired) == [(low, Expiry.EARLY)]


def test_a_source_that_fails_costs_its_own_message_only() -> None:
    atp, box, _ = sender()

    def broken(offset: int, length: int) -> bytes:
        return bytes(length) if not offset else b""

    message = NaiMessage(broken, size=2500)
    atp.submit(message, 0.0)
    other = queued(atp, "b")
    assert order(let(atp, box, 9, now=0.0)) == "\0xbbb"
    assert message.state is MessageState.CANCELLED and isinstance(message.error, NaiError)
    assert other.state is MessageState.DELIVERED and atp.statistics().bytes == 0


def test_empty_messages_and_those_of_one_segment() -> None:
    atp, box, _ = sender()
    messages = [queued(atp, "a", 0), queued(atp, "b", 1), queued(atp, "c", 900)]
    segments = let(atp, box, 9, now=0.0)
    assert len(segments) == 3 and all(one.state is MessageState.DELIVERED for one in messages)
    received = [one.data for segment in segments for one in Receiver().receive(segment, 0.0)]
    assert received[0] == b""


def test_closing_cancels_everything_and_refuses_more() -> None:
    atp, _, _ = sender()
    ended: list[NaiMessage] = []
    messages = [queued(atp, "a"), queued(atp, "b", timer=0.0, on_timer=ask), queued(atp, "c")]
    for message in messages:
        message.on_end = ended.append
    atp.suspend(messages[2])
    atp.close()
    assert sorted(map(id, ended)) == sorted(map(id, messages)) and atp.idle
    with pytest.raises(CarrierError):
        queued(atp, "d")


def test_what_can_not_be_sent() -> None:
    atp, _, _ = sender()
    for kind in ({"priority": 1 << 40}, {"timer": float("nan")}, {"queue": "q" * 33}):
        with pytest.raises(NaiError):
            queued(atp, "a", **kind)
    with pytest.raises(NaiError, match="need a size"):
        NaiMessage(lambda offset, length: b"")
    with pytest.raises(NaiError, match="too small"):
        sender(segment=100)
    for number in range(MOST_QUEUES):
        queued(atp, "a", 1, queue=str(number))
    with pytest.raises(NaiError, match="queues"):
        queued(atp, "a", 1, queue="one more")


def test_bandwidth_is_told_once_when_it_leaves_the_range() -> None:
    atp, box, known = sender(1000.0)
    atp.watch_bandwidth(500, 2000, print)
    with pytest.raises(NaiError, match="empty"):
        atp.watch_bandwidth(2, 1, print)
    known.tell(1999.0)
    let(atp, box, 0, now=1.0)
    assert not atp.crossed
    for now, rate in ((2.0, 2001.0), (3.0, 5.0)):
        known.tell(rate)
        let(atp, box, 0, now=now)
    assert [available for _, available in atp.crossed] == [2001.0]
    atp.watch_bandwidth(500, 2000, print)  # 5 is outside already
    assert [available for _, available in atp.crossed] == [2001.0, 5.0]


steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["submit", "send", "suspend", "resume", "restart", "cancel", "prioritise", "defer",
             "rate", "answer"]
        ),
        st.integers(0, 1 << 20),
    ),
    max_size=60,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(steps, st.booleans(), st.sampled_from(Protects))
@example(
    [("send", 8056), ("submit", 2303), ("suspend", 0), ("rate", 181)],
    False,
    Protects.ALL,
)
def test_whatever_is_done_the_accounts_are_right_and_what_is_delivered_arrives(
    actions: list[tuple[str, int]], standby: bool, protects: Protects
) -> None:
    atp, box, known = sender(5_000.0, segment=256, standby=standby, protects=protects)
    receiver, arrived, messages, now = Receiver(), {}, [], 0.0
    for number, (what, choice) in enumerate(actions):
        alive = [message for message in messages if not message.state.ended]
        chosen = alive[choice % len(alive)] if alive else None
        now += choice % 7 * 0.02
        if what == "submit" or chosen is None:
            data = bytes((number % 256,)) * (choice % 1500)
            timer = (None, 0.1, 1.0, 5.0)[choice % 4]
            callback = ask if choice % 3 else None
            queue = ("", "a", "b")[choice % 5 % 3]
            message = NaiMessage(
                data, priority=choice % 4 - 1, timer=timer, queue=queue, on_timer=callback
            )
            atp.submit(message, now)
            messages.append(message)
        elif what == "prioritise":
            atp.prioritise(chosen, choice % 5 - 2, now)
        elif what == "defer":
            atp.defer(chosen, now, seconds=choice % 3 * 0.1)
        elif what == "rate":
            known.tell(float(choice % 20_000))
        elif what in ("suspend", "cancel"):
            getattr(atp, what)(chosen)
        elif what in ("resume", "restart"):
            getattr(atp, what)(chosen, now)
        elif what == "answer":
            while atp.expired:
                asked, _ = atp.expired.popleft()
                atp.answer(asked, (None, Continue(1.0), Defer(0.1), Continue())[choice % 4], now)
        for segment in let(atp, box, choice % 9 if what == "send" else 0, now=now):
            for one in receiver.receive(segment, now):
                arrived[one.id] = one.data
        _check_accounts(atp, Cutting(box), messages)
    alive = [message for message in messages if not message.state.ended]
    for message in alive:  # all of them, or one would be refused for another's timer
        atp.suspend(message)
        message.timer = None
    for message in alive:
        atp.resume(message, now)
    for segment in let(atp, box, 100_000, now=now):
        for one in receiver.receive(segment, now):
            arrived[one.id] = one.data
    delivered = {m.id for m in messages if m.state is MessageState.DELIVERED}
    assert set(arrived) == delivered and receiver.statistics().open == 0
    assert receiver.statistics().held == 0


def _check_accounts(atp: AtpSender, cutting: Cutting, messages: list[NaiMessage]) -> None:
    under_way = [message for message in messages if message.state.under_way]
    assert len(under_way) == atp.statistics().queued
    assert sum(message.left for message in under_way) == atp.contest.queues.tree.root.backlog
    assert sum(cutting.cost(one.left) for one in under_way) == atp.statistics().bytes
    assert sum(message.deadline is not None for message in under_way) == atp.contest.timed
    aside = [m for m in messages if m.state in (MessageState.SUSPENDED, MessageState.DEFERRED)]
    assert len(aside) == atp.statistics().waiting


__all__ = ["Box"]

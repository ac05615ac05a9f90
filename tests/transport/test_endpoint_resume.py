"""A stream of frames that goes on over a new connection: to the byte, whatever was cut where."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transport.stream.endpoint import Endpoint
from transport.stream.retained import Retained
from wire.errors import PeerError
from wire.frames import Control, Data


class Script:
    """An outbox that sends a list of frames."""

    def __init__(self, frames: list[Data | Control], quantum: int = 300) -> None:
        self.frames = deque(frames)
        self.quantum = quantum

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        return self.frames.popleft() if self.frames else None


class Wire:
    """One direction of a connection: bytes that may be cut off anywhere."""

    def __init__(self) -> None:
        self.bytes = bytearray()


class End:
    """An endpoint, what it received, and the connection's direction it sends into."""

    def __init__(self, frames: list[Data | Control]) -> None:
        self.endpoint = Endpoint(Script(frames), now=0.0)
        self.wire = bytearray()
        self.got: list[Data | Control] = []

    def send(self, now: float, chunks: int) -> None:
        for _ in range(chunks):
            chunk = self.endpoint.next_chunk(now)
            if chunk is None:
                return
            self.wire += chunk


def deliver(sender: End, receiver: End, now: float, nbytes: int) -> None:
    """The first bytes of what is on the way arrive."""
    data = bytes(sender.wire[:nbytes])
    del sender.wire[:nbytes]
    if data:
        receiver.got += receiver.endpoint.receive(now, data)


def reconnect(one: End, other: End, now: float) -> None:
    """All on its way is lost; a new connection begins."""
    one.wire.clear()
    other.wire.clear()
    here, there = one.endpoint.lost(), other.endpoint.lost()
    one.endpoint.resume(now, there)
    other.endpoint.resume(now, here)


frames = st.lists(
    st.one_of(
        st.builds(Data, st.integers(1, 3), st.integers(0, 700).map(lambda n: bytes([n % 251]) * n)),
        st.builds(Control, st.binary(min_size=1, max_size=40)),
    ),
    max_size=25,
)
step = st.one_of(
    st.tuples(st.just("down"), st.integers(1, 6), st.integers(1, 900)),
    st.tuples(st.just("up"), st.integers(1, 6), st.integers(1, 900)),
    st.tuples(st.just("cut"), st.just(0), st.just(0)),
)


@settings(max_examples=300, deadline=None)
@given(frames, frames, st.lists(step, max_size=60))
def test_whatever_is_cut_all_arrives_once_and_in_order(
    down: list[Data | Control], up: list[Data | Control], steps: list[tuple[str, int, int]]
) -> None:
    here, there = End(list(down)), End(list(up))
    now = 0.0
    for kind, chunks, nbytes in steps:
        now += 0.03
        if kind == "cut":
            reconnect(here, there, now)
            continue
        sender, receiver = (here, there) if kind == "down" else (there, here)
        sender.send(now, chunks)
        deliver(sender, receiver, now, nbytes)
    for _ in range(400):
        now += 1.5
        for sender, receiver in ((here, there), (there, here)):
            sender.send(now, 50)
            deliver(sender, receiver, now, len(sender.wire))
    assert there.got == down
    assert here.got == up


def test_only_what_the_peer_lacks_is_sent_again() -> None:
    here, there = End([Data(1, bytes(300)) for _ in range(4)]), End([])
    here.send(0.0, 4)
    sent = len(here.wire)
    deliver(here, there, 0.1, sent - 100)
    reconnect(here, there, 1.0)
    # The peer has all but 100 bytes, though it never reported them; whole frames go again only
    # in part.
    assert here.endpoint.statistics(1.0).replayed == 100
    here.send(1.0, 10)
    assert len(here.wire) == 100
    deliver(here, there, 1.1, 100)
    assert len(there.got) == 4


@pytest.mark.parametrize("received", [-1, 10_000])
def test_a_peer_that_claims_what_it_cannot_have_is_refused(received: int) -> None:
    here = End([Data(1, bytes(300))])
    here.send(0.0, 1)
    here.endpoint.lost()
    with pytest.raises(PeerError, match="received of 0 to"):
        here.endpoint.resume(1.0, received)


def test_a_peer_may_not_take_back_what_it_reported() -> None:
    kept = Retained()
    kept.add(bytes(100))
    kept.add(bytes(50))
    kept.reported(120)
    assert (kept.start, kept.end) == (120, 150)
    with pytest.raises(PeerError):
        kept.rewind(119)
    assert kept.rewind(130) == 20
    assert kept.next_again() == bytes(20)
    assert kept.next_again() == b""


def test_silence_counts_only_while_the_peer_owes_a_report() -> None:
    here, there = End([Data(1, bytes(300))]), End([])
    assert here.endpoint.silent(50.0) == 0.0
    here.send(100.0, 1)
    assert here.endpoint.silent(108.0) == pytest.approx(8.0)
    deliver(here, there, 100.1, len(here.wire))
    there.send(100.2, 1)
    deliver(there, here, 100.3, len(there.wire))
    assert here.endpoint.silent(108.0) == 0.0


def test_what_was_reported_of_a_record_that_never_ended_is_sent_again() -> None:
    """Over TLS arrivals are reported before they can be read; a cut there must lose nothing."""
    sender, receiver = End([Data(1, bytes(300)), Data(1, bytes(299), True)]), End([])
    sender.send(0.0, 1)
    chunk = bytes(sender.wire)
    receiver.endpoint.receive(0.1, b"", arriving=len(chunk))
    report = receiver.endpoint.next_chunk(0.1)
    assert report is not None
    sender.endpoint.receive(0.2, report)
    reconnect(sender, receiver, 0.3)
    now = 0.3
    while len(receiver.got) < 2 and now < 5.0:
        now += 0.1
        sender.send(now, 4)
        deliver(sender, receiver, now, 10_000)
        receiver.send(now, 1)
        deliver(receiver, sender, now, 10_000)
    assert receiver.got == [Data(1, bytes(300)), Data(1, bytes(299), True)]

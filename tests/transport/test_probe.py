"""A session pads before anybody asks: how much, when not, and what it is worth."""

from math import ceil
from typing import Final

import pytest

from bench.scenarios.pages.start import LINKS, WINDOW, measure
from tests.transport.ends import Queue
from transport.stream.endpoint import Endpoint
from transport.stream.probe import BURSTS, Probe
from wire.frames import PADDING, Control, Data, FrameReader, FrameWriter, Report

HELLO = FrameWriter().encode(Control(b"hello"))
WHOLE = 42_500
"""Bytes that a session may cost on a link that carries them in a moment."""
SLOW, MIDDLING = 6_600, 19_000
"""The same on slower ones: of the first two bursts, of three. Hello, its headers and reports are
among them."""

MSS: Final = 1348
"""Bytes of a segment, through a tunnel of 1,400."""
PROTECTION: Final = 40
"""Bytes of TLS and of the frame's header, at most."""


def spoken_to(queue: Queue) -> Endpoint:
    """An end that has heard its peer's first words."""
    endpoint = Endpoint(queue, now=0.0)
    endpoint.receive(0.0, HELLO)
    return endpoint


def sent(endpoint: Endpoint, now: float) -> list[Data | Control]:
    """All that goes now, but for reports."""
    reader, frames = FrameReader(), []
    while (chunk := endpoint.next_chunk(now)) is not None:
        frames += [one for one in reader.feed(chunk) if not isinstance(one, Report)]
    return frames


def paddings(frames: list[Data | Control]) -> list[bytes]:
    return [one.payload for one in frames if isinstance(one, Data) and one.component == PADDING]


def test_a_burst_goes_once_the_peer_has_spoken_and_no_more_before_its_reports() -> None:
    queue = Queue(1024)
    endpoint = Endpoint(queue, now=0.0)
    assert endpoint.next_chunk(0.0) is None
    endpoint.receive(0.0, HELLO)
    pieces = paddings(sent(endpoint, 0.0))
    assert [len(piece) for piece in pieces] == [512] * BURSTS[0].pieces
    assert endpoint.next_chunk(0.5) is None


def test_large_bursts_go_where_nothing_comes_alone() -> None:
    sizes = {}
    for comes in (False, True):
        probe, pieces = Probe(), []
        while piece := probe.next_piece(under_way=0, quantum=1000, comes=comes and len(pieces) > 9):
            pieces.append(len(piece))
        sizes[comes] = pieces
        assert probe.next_piece(under_way=0, quantum=1000) == b""
    small = [int(1000 * burst.size) for burst in BURSTS[:2] for _ in range(burst.pieces)]
    assert sizes[True] == small
    assert sizes[False][: len(small)] == small
    assert len(sizes[False]) == sum(burst.pieces for burst in BURSTS)


def test_what_wants_to_go_does_not_wait_for_padding() -> None:
    queue = Queue(1024)
    endpoint = spoken_to(queue)
    first = endpoint.next_chunk(0.0)
    assert first is not None
    queue.frames = [Data(2, b"asked for"), Data(4, bytes(9))]
    frames = sent(endpoint, 0.0)
    assert frames[:2] == [Data(2, b"asked for"), Data(4, bytes(9))]
    assert len(paddings(frames)) == BURSTS[0].pieces - 1


def test_no_padding_where_the_answer_itself_tells() -> None:
    queue = Queue(1024)
    queue.frames = [Data(2, bytes(1024)) for _ in range(20)]
    endpoint = spoken_to(queue)
    assert len(sent(endpoint, 0.0)) == 3
    assert paddings(sent(endpoint, 0.1)) == []


def test_padding_is_reported_and_never_heard_of() -> None:
    queues = Queue(1024), Queue(1024)
    there, here = (Endpoint(queue, now=0.0) for queue in queues)
    for queue in queues:
        queue.frames = [Control(b"hello")]
    hello = here.next_chunk(0.0)
    assert hello is not None
    there.receive(0.1, hello)
    heard: list[Data | Control] = []
    while (chunk := there.next_chunk(0.1)) is not None:
        heard += here.receive(0.2, chunk)
    assert heard == [Control(b"hello")]
    assert there.gate.under_way > 1500
    report = here.next_chunk(0.3)
    assert report is not None
    assert there.receive(0.4, report) == []
    assert there.gate.under_way == 0


def test_a_burst_is_not_compressible_and_has_an_end() -> None:
    probe, pieces = Probe(), []
    while piece := probe.next_piece(under_way=0, quantum=1024):
        pieces.append(piece)
    assert len(set(pieces)) == sum(burst.pieces for burst in BURSTS)
    assert sum(map(len, pieces)) <= WHOLE
    assert all(len(set(piece)) > 200 for piece in pieces)


@pytest.mark.parametrize(
    ("name", "first", "rested", "switch", "padding"),
    [
        # Before: 2.67 .55 .50 .14 1.89 .19 s; a switch at 56k took up to 2.3 s.
        ("56k", 2.80, 2.80, 0.36, SLOW),
        ("384k", 0.51, 0.52, 0.10, SLOW),
        ("1.6M", 0.25, 0.25, 0.10, SLOW),
        ("5M", 0.09, 0.08, 0.045, MIDDLING),
        ("satellite", 0.76, 0.76, 0.32, SLOW),
        ("lte", 0.08, 0.08, 0.06, WHOLE),
    ],
)
def test_the_first_answer_comes_over_a_link_that_is_known(
    name: str, first: float, rested: float, switch: float, padding: int
) -> None:
    outcome, late = measure(LINKS[name])
    assert outcome.first <= first
    assert outcome.rested <= rested
    assert max(late) <= switch
    assert outcome.padding_down <= padding


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("1.6M", 0.85, 1.05), ("5M", 0.85, 1.05), ("lte", 0.85, 1.05), ("20M", 0.8, 1.05)],
)
def test_what_a_link_carries_is_known_before_anybody_asks(
    name: str, least: float, most: float
) -> None:
    link = LINKS[name]
    outcome, _ = measure(link)
    assert least <= outcome.seen / link.rate_down <= most


def test_of_a_fast_link_it_is_known_that_it_is() -> None:
    outcome, _ = measure(LINKS["100M"])
    assert 2e6 <= outcome.seen <= LINKS["100M"].rate_down


def test_each_burst_fits_into_the_window_that_tcp_has_after_the_ones_before() -> None:
    """Else its rest comes a round trip later, and the link looks that much slower."""
    window = WINDOW
    for pieces, size in BURSTS:
        segments = pieces * ceil((1024 * size + PROTECTION) / MSS)
        assert segments <= window
        if window < 2 * segments:  # Linux, tcp_is_cwnd_limited: it grows only where it is used
            window += segments

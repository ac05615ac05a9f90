"""The quantum that a link fits by itself: what it costs, what it delays, and that it is enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.scenarios.links.gate_virtual import simulate
from emulation.memory.memory import LinkModel
from transport.link.quantum import SEGMENT, Chunks, chunks_of
from transport.tcp.tls import RECORD_OVERHEAD

HEADERS, FRAME = 52, 4
MODEM, DSL, BROADBAND = 7_000, 48_000, 625_000
PLAIN = chunks_of(record=0, segment=SEGMENT)
SECURED = chunks_of(record=RECORD_OVERHEAD, segment=SEGMENT)
CHUNKS = st.builds(
    chunks_of, record=st.sampled_from([0, RECORD_OVERHEAD]), segment=st.integers(500, 70_000)
)


def payload(chunks: Chunks, rate: float) -> int:
    return chunks.frames * chunks.quantum(rate)


def overhead(chunks: Chunks, rate: float) -> tuple[int, float]:
    """Bytes of a chunk's segments, and the share of what goes out that is no payload."""
    size = payload(chunks, rate)
    carried = size + chunks.record + chunks.frames * FRAME
    whole = carried + HEADERS * -(-carried // chunks.segment)
    return carried, 1 - size / whole


@pytest.mark.parametrize(
    ("rate", "plain", "secured"),
    [
        (1_200, 644, 471),
        (MODEM, 644, 471),
        (DSL, 644, 471),
        (200_000, 1_000, 500),  # 5 ms
        (BROADBAND, 2 * SEGMENT - 4, 1_433),  # whole segments
        (12_500_000, 16_384, 16_384),
    ],
)
def test_the_quantum_of_a_rate(rate: int, plain: int, secured: int) -> None:
    assert (PLAIN.quantum(rate), SECURED.quantum(rate)) == (plain, secured)


@given(chunks=CHUNKS, rate=st.floats(500, 3e6))
def test_a_chunk_is_cheap_or_as_large_as_a_segment(chunks: Chunks, rate: float) -> None:
    carried, share = overhead(chunks, rate)
    one_short = carried > chunks.segment - chunks.frames
    assert share <= 0.081 or one_short


@given(chunks=CHUNKS, rate=st.floats(500, 3e6))
def test_a_chunk_never_begins_a_segment_for_a_few_bytes(chunks: Chunks, rate: float) -> None:
    carried, _ = overhead(chunks, rate)
    assert carried < chunks.segment or -carried % chunks.segment < chunks.frames


@given(chunks=CHUNKS, rate=st.floats(500, 1e9), more=st.floats(1, 10))
def test_a_faster_link_never_has_a_smaller_quantum(
    chunks: Chunks, rate: float, more: float
) -> None:
    assert 64 <= chunks.quantum(rate) <= chunks.quantum(rate * more) <= 16_384


@pytest.mark.parametrize(
    ("rate", "late", "times"),
    [(DSL, 0.05, 1.0), (DSL, 0.09, 2.0), (DSL, 1.0, 4.5), (MODEM, 0.13, 1.0), (MODEM, 1.0, 4.5)],
)
def test_a_late_sender_s_chunks_are_larger_and_take_no_longer_than_it_is_late(
    rate: int, late: float, times: float
) -> None:
    usual, larger = PLAIN.quantum(rate), PLAIN.quantum(rate, late=late)
    assert larger / usual == pytest.approx(times, abs=0.6)  # in whole segments
    assert larger == usual or larger <= rate * late


def test_a_kernel_that_sends_more_at_once_knows_no_slow_link() -> None:
    assert chunks_of(record=0, segment=65_483) == PLAIN


@pytest.mark.parametrize(
    ("rate", "record", "median", "goodput"),
    [
        (MODEM, 0, 0.34, 0.91),
        (DSL, 0, 0.09, 0.92),
        (BROADBAND, 0, 0.055, 0.94),
        (MODEM, RECORD_OVERHEAD, 0.34, 0.91),
        (DSL, RECORD_OVERHEAD, 0.09, 0.92),
        (BROADBAND, RECORD_OVERHEAD, 0.055, 0.94),
    ],
)
def test_what_a_session_fits_is_as_good_as_the_best_by_hand(
    rate: int, record: int, median: float, goodput: float
) -> None:
    model = LinkModel(rate, rate, 0.04, queue=262_144, segment=1448, header=52, record=record)
    outcome = simulate(model, quantum=None, chunk=None, bypass=False, seconds=30)
    assert outcome.median <= median
    assert outcome.goodput >= goodput

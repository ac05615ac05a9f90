"""Bulk in long records: when a run counts as one, what it costs, and what it costs others."""

from __future__ import annotations

import pytest

from bench.links.memory import LinkModel
from bench.scenarios import gate_virtual
from bench.scenarios.gate_virtual import simulate
from transport.quantum import SEGMENT, Chunks, chunks_of
from transport.run import LONG, Run
from transport.tls import RECORD_OVERHEAD
from wire.frames import Control, Data

SECURED = chunks_of(record=RECORD_OVERHEAD, segment=SEGMENT)
MODEM = LinkModel(4_200, 7_000, 0.04, segment=SEGMENT, header=52, record=RECORD_OVERHEAD)


def test_one_components_bytes_are_a_run_after_a_while() -> None:
    run = Run()
    assert not run.is_long(100.0)
    run.sent(0.0, Data(2, b"a"))
    run.sent(LONG / 2, Data(2, b"b"))
    assert not run.is_long(LONG / 2)
    assert run.is_long(LONG)


@pytest.mark.parametrize("other", [Data(4, b"c"), Control(b"c")])
def test_anything_else_ends_it(other: Data | Control) -> None:
    run = Run()
    run.sent(0.0, Data(2, b"a"))
    run.sent(LONG, other)
    assert not run.is_long(LONG)
    run.sent(LONG + 1, Data(2, b"b"))
    assert not run.is_long(LONG + 2)
    assert run.is_long(2 * LONG + 1)


def test_a_record_of_a_run_is_as_long_as_a_packet() -> None:
    assert SECURED.frames_of_run(441) == SECURED.frames_of_run(471) == 3
    assert SECURED.frames_of_run(1_433) == SECURED.frames
    assert 3 * (471 + 4) + RECORD_OVERHEAD <= SEGMENT


def test_without_a_record_nothing_goes_together() -> None:
    assert Chunks().frames_of_run(644) == 1


def test_a_run_costs_less_and_an_urgent_quantum_behind_it_is_hardly_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate_virtual, "_CHUNK_EVERY", 2 * LONG + 1.31)
    long = simulate(MODEM, quantum=None, chunk=None, bypass=False, seconds=90)
    monkeypatch.setattr("transport.run.LONG", 1e9)
    short = simulate(MODEM, quantum=None, chunk=None, bypass=False, seconds=90)
    assert long.goodput >= short.goodput + 0.008
    assert long.median <= short.median + 0.04

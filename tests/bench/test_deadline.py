"""The bench of time limits: a load in small keeps its limit, and wrong estimates are wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.origins.synthetic import page, prepared
from bench.scenarios.deadline.deadline import checks_of, line, run
from bench.scenarios.deadline.deadline_figures import draw
from bench.scenarios.deadline.estimates import LEAST, EstimateError, MisjudgedLink
from bench.scenarios.deadline.picture_request import COUNT, SIZE, jpegs, request
from bench.scenarios.deadline.timed_load import TimedLoad, TracePiece, timed_load
from emulation.lines.schedule import Steps
from emulation.memory.memory import LinkModel, memory_links
from emulation.memory.virtual_time import run as run_virtually
from transport.link.interface import LinkStatistics

LOAD = TimedLoad(
    TracePiece("low", 3.0), EstimateError(), -1.0, 4.0, {"medium": 3, "none": 1}, late=1
)


def test_the_request_has_25_pictures_of_the_papers_size_and_no_two_alike() -> None:
    made = request()
    pictures = [file.data for file in made.files.values() if file.content_type == "image/jpeg"]
    assert len(set(pictures)) == COUNT
    assert sum(map(len, pictures)) == pytest.approx(SIZE, rel=0.02)
    assert len(set(jpegs(40, 400_000))) == 40


@pytest.mark.parametrize(
    ("error", "rate"),
    [
        (EstimateError(0.0), 100.0),
        (EstimateError(-50.0), 50.0),
        (EstimateError(100.0), 200.0),
        (EstimateError(0.0, delay=1.0), 400.0),
        (EstimateError(50.0, delay=0.5), 375.0),
        (EstimateError(-100.0), LEAST),
    ],
)
def test_an_estimate_is_off_by_so_much_of_the_last_second_and_late(
    error: EstimateError, rate: float
) -> None:
    schedule = Steps([(0.0, 400.0), (1.0, 100.0)], duration=10.0)
    assert error.rate(schedule, 2.0) == pytest.approx(rate)


def test_errors_have_names_of_their_own() -> None:
    errors = [EstimateError(), EstimateError(0.0), EstimateError(25.0), EstimateError(0.0, 0.5)]
    assert [one.label for one in errors] == ["own", "+0 %", "+25 %", "+0 %, 0.5 s late"]


def test_of_a_misjudged_link_another_rate_is_said_and_all_else_is_as_it_was() -> None:
    async def go() -> tuple[LinkStatistics, LinkStatistics]:
        near, far = memory_links(LinkModel(rate_up=1_000, rate_down=1_000))
        wrong = MisjudgedLink(near, lambda now: 77.0 + now, lambda: 3.0)
        sink: Any = _Sink()
        far.start(sink, sink)
        wrong.start(sink, sink)
        wrong.wake()
        said, true = wrong.statistics(), near.statistics()
        wrong.close()
        return said, true

    said, true = run_virtually(go())
    assert said.outgoing is not None
    assert (said.outgoing.rate, said.seen, said.outgoing.confidence) == (80.0, 80.0, 1.0)
    assert replace(said, outgoing=true.outgoing, seen=true.seen) == true


class _Sink:
    """Has nothing to send, and takes what comes."""

    quantum = 1024

    def next_frame(self, **_: object) -> None:
        return None

    def frames_received(self, *_: object, **__: object) -> None:
        pass

    def link_closed(self, error: object) -> None:
        pass


PAGE = page("http://small.test/", text=3_000, large=200_000)
MADE = prepared([PAGE])
TRACE = Steps([(0.0, 80_000.0), (1.5, 40_000.0), (4.0, 60_000.0)], duration=6.0)


def test_a_load_keeps_its_limit_and_uses_the_link_and_a_low_estimate_does_so_less() -> None:
    piece = TracePiece("steps", 0.5)
    own = timed_load(PAGE, MADE, TRACE, piece, EstimateError(), limit=5.0)
    low = timed_load(PAGE, MADE, TRACE, piece, EstimateError(-50.0), limit=5.0)
    assert sum(own.levels.values()) == len(PAGE.files) - 1
    assert own.late == 0 and -10 < own.deviation < 1
    assert 0 < own.unused < 12
    assert 1.0 <= own.fineness < 4.0, "coarser than the originals, and none without a level"
    assert low.unused > own.unused
    again = timed_load(PAGE, MADE, TRACE, piece, EstimateError(), limit=5.0)
    assert again == own


def test_what_does_not_come_by_the_limit_is_late() -> None:
    piece = TracePiece("steps", 0.0)
    fades = Steps([(0.0, 60_000.0), (4.0, 500.0), (7.0, 60_000.0)], duration=20.0)
    found = timed_load(PAGE, MADE, fades, piece, EstimateError(0.0, delay=2.0), limit=5.0)
    assert found.late > 0
    assert found.deviation > 5


def test_checks_hold_own_estimates_against_their_goals() -> None:
    far = replace(LOAD, deviation=12.0, unused=20.0)
    wrong = replace(far, error=EstimateError(100.0))
    assert all(one.ok for one in checks_of([LOAD, replace(LOAD, deviation=5.0), wrong]).values())
    found = {name: (one.value, one.ok) for name, one in checks_of([LOAD, far, far, wrong]).items()}
    assert [*found.values()] == [(12.0, False), (33.3, False), (85.3, False)]
    assert [value.ok for value in checks_of([replace(LOAD, unused=9.9)]).values()] == [True] * 3
    assert checks_of([wrong]) == {}


def test_a_line_has_means_and_their_confidence() -> None:
    words = line([LOAD, replace(LOAD, deviation=1.0)]).split()
    assert words == ["low", "own", "2", "+0.0", "±", "12.7", "4.0", "±", "0.0", "2", "1.50"]


def test_a_small_run_has_rows_checks_and_bars() -> None:
    said: list[str] = []
    found = run(runs=1, volatilities=("medium",), errors=(-50.0,), delays=(), say=said.append)
    own, low = found["runs"]
    assert (own["estimate"], low["estimate"]) == ("own", "-50 %")
    assert abs(own["deviation_pct"]) < 10
    assert own["unused_pct"] < low["unused_pct"] < 50
    assert sum(own["levels"].values()) == COUNT
    assert len(said) == 3
    assert found["exhibits"][0].groups == ["own", "-50 %"]
    assert len(found["checks"]) == 3


class Panel:
    """Stands in for a panel of matplotlib's; remembers curves and lines."""

    def __init__(self) -> None:
        self.curves: list[tuple[str, list[float], list[float], list[float]]] = []
        self.lines: list[float] = []

    def errorbar(
        self, at: list[float], means: list[float], *, yerr: list[float], label: str, **_: Any
    ) -> None:
        self.curves.append((label, at, means, yerr))

    def axhline(self, value: float, **_: Any) -> None:
        self.lines.append(value)

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: None


class Figure:
    """Has panels, and saves nothing."""

    shown: list[list[Panel]]

    def __init__(self, **_: Any) -> None:
        pass

    def subplots(self, rows: int, columns: int, **_: Any) -> list[list[Panel]]:
        Figure.shown = [[Panel() for _ in range(columns)] for _ in range(rows)]
        return Figure.shown

    def savefig(self, file: Path, **_: Any) -> None:
        file.write_text("drawn")


def test_curves_are_by_error_above_and_by_delay_below_with_own_estimates_as_lines(
    tmp_path: Path,
) -> None:
    right, late = (replace(LOAD, error=EstimateError(0.0, delay)) for delay in (0.0, 2.0))
    off = replace(LOAD, error=EstimateError(50.0), deviation=3.0)
    loads = [off, replace(off, deviation=5.0), LOAD, late, replace(right, deviation=0.0)]
    draw(loads, tmp_path / "figure", figure_class=Figure)
    assert (tmp_path / "figure").read_text() == "drawn"
    (deviations, unused), (by_delay, _) = Figure.shown
    assert deviations.curves == [
        ("low volatility", [0.0, 50.0], [0.0, 4.0], [0.0, pytest.approx(12.7, abs=0.1)])
    ]
    assert (deviations.lines, unused.lines) == ([-1.0], [4.0])
    assert by_delay.curves[0][1:3] == ([0.0, 2.0], [0.0, -1.0])

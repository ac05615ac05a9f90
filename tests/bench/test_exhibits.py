"""Reports draw curves, bands, bars and arrows beside their films."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from bench.reports import exhibits
from bench.reports.arrows import arrows
from bench.reports.bars import bars
from bench.reports.charts import bands, curves, steps
from bench.reports.drawing import Drawing, DrawnBox, DrawnPath, DrawnWords
from bench.reports.exhibits import (
    SHOTS,
    Arrow,
    Arrows,
    Bands,
    Bars,
    Curve,
    Curves,
    Film,
    Mark,
    of_loads,
)
from bench.reports.figure import draw
from tests.bench.loads import both, frame, load


def test_exhibits_survive_json_and_show_a_film_and_curves_of_each_page() -> None:
    shown = of_loads(both())
    assert exhibits.decode(exhibits.encode(shown)) == shown
    film, shares = shown
    assert isinstance(film, Film)
    assert isinstance(shares, Curves)
    assert [row.label for row in film.rows] == ["direct", "sluice"]
    assert shares.lines[3].points == [(0.0, 0.0), (2.0, 100.0), (12.0, 100.0)]


def test_a_film_is_played_by_what_was_on_the_screen_when() -> None:
    film = of_loads(both())[0]
    assert isinstance(film, Film)
    direct, sluice = film.rows
    assert [at for at, _ in direct.shots] == [3.0, 6.0, 12.0]
    assert [at for at, _ in sluice.shots] == [1.0, 2.0, 4.0]
    assert len({shot for _, shot in sluice.shots}) == 3
    frames = [frame(number / 50, "red") for number in range(500)]
    many = replace(load("direct", speed=1.0), frames=frames)
    film = of_loads([many])[0]
    assert isinstance(film, Film)
    assert len(film.rows[0].shots) <= SHOTS


def paths(drawn: Drawing) -> list[DrawnPath]:
    return [one for one in drawn.shapes if isinstance(one, DrawnPath)]


def words(drawn: Drawing) -> list[str]:
    return [one.words for one in drawn.shapes if isinstance(one, DrawnWords)]


def stack() -> Bands:
    points = [(0.0, 10.0), (0.5, 30.0), (1.0, 0.0)]
    lines = [Curve("<first>", points), Curve("second", [(0.0, 20.0), (0.5, 5.0), (1.0, 0.0)], 1)]
    return Bands("Who had the link", "kbit/s", lines, 40.0, [Mark(0.5, "back")])


def test_bands_lie_upon_each_other_and_close() -> None:
    drawn = bands(stack())
    closed = [one for one in paths(drawn) if one.steps.endswith("Z")]
    assert [one.style for one in closed] == ["band t0", "band t1"]
    assert [one.title for one in closed] == [one.label for one in drawn.legend]
    assert closed[0].title == "<first>"
    assert "back" in words(drawn)


def test_a_curve_has_its_dashes_in_the_legend_too() -> None:
    line = Curve("late", [(0.0, 0.0), (2.0, 50.0), (4.0, 100.0)], 8, "6 4")
    drawn = curves(Curves("Pictures", "%", [line], 100.0))
    (path,) = [one for one in paths(drawn) if one.title]
    assert (path.style, path.dash) == ("line t1", "6 4")
    assert path.steps == "M52.0 236.0H379.0V128.0H706.0V20.0"
    assert [(one.label, one.dash, one.line) for one in drawn.legend] == [("late", "6 4", True)]


def groups() -> Bars:
    series = [Curve("<ours>", [(0.0, 0.9), (1.0, 0.5)]), Curve("theirs", [(1.0, 0.25)], 6)]
    return Bars("Delivered", "share", ["light", "heavy & long"], series, 1.0)


def passed() -> Arrows:
    arrows = [Arrow(10.0, 10.5, "delivered 1"), Arrow(11.0, 12.0, "delivered <2>", 1)]
    return Arrows("Timeline", 10.0, 13.0, arrows, [Mark(11.0, "sent")], [Mark(12.5, "dropped")])


def test_bars_are_as_high_as_their_values_and_none_where_there_is_none() -> None:
    drawn = bars(groups())
    boxes = [one for one in drawn.shapes if isinstance(one, DrawnBox)]
    heights = [float(one.height) for one in boxes]
    assert heights == pytest.approx([0.9 * 216, 0.5 * 216, 0.25 * 216], abs=0.1)
    assert [one.style for one in boxes] == ["band t0", "band t0", "band t6"]
    assert boxes[0].title == "<ours>: 0.9"
    assert "heavy & long" in words(drawn)


def test_arrows_lead_downwards_from_the_sender_to_the_receiver() -> None:
    drawn = arrows(passed())
    ways = " ".join(one.steps for one in paths(drawn))
    ends = re.findall(r"M200 ([\d.]+)L400 ([\d.]+)M", ways)
    assert [[float(one) for one in pair] for pair in ends] == [[24, 47], [70, 116]]
    assert {"12.000 delivered <2>", "sent 11.000", "12.500 dropped"} <= set(words(drawn))
    kept = [groups(), passed()]
    assert exhibits.decode(exhibits.encode(kept)) == kept


@pytest.mark.parametrize(
    ("most", "expected"),
    [(100.0, [0, 25, 50, 75, 100]), (384.0, [0, 100, 200, 300]), (3.95, [0, 1, 2, 3]), (0.0, [0])],
)
def test_axes_have_round_steps(most: float, expected: list[float]) -> None:
    found = steps(most, about=4)
    assert found == pytest.approx(expected)


def test_figures_are_drawn_as_png_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "figure.png"
    draw([*of_loads(both()), stack(), groups(), passed()], file)
    with Image.open(file) as image:
        assert image.size[0] == 1300
    with pytest.raises(ValueError, match="nothing to draw"):
        draw([], file)

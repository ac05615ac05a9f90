"""Reports draw curves, bands, bars and arrows beside their films."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from bench.reports import exhibits, svg_arrows, svg_bars
from bench.reports.charts import bands, steps
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
    film, curves = shown
    assert isinstance(film, Film)
    assert isinstance(curves, Curves)
    assert [row.label for row in film.rows] == ["direct", "sluice"]
    assert curves.lines[3].points == [(0.0, 0.0), (2.0, 100.0), (12.0, 100.0)]


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


def stack() -> Bands:
    points = [(0.0, 10.0), (0.5, 30.0), (1.0, 0.0)]
    lines = [Curve("<first>", points), Curve("second", [(0.0, 20.0), (0.5, 5.0), (1.0, 0.0)], 1)]
    return Bands("Who had the link", "kbit/s", lines, 40.0, [Mark(0.5, "back")])


def test_bands_lie_upon_each_other_and_close() -> None:
    drawn = bands(stack())
    assert drawn.count('<path class="band') == drawn.count("Z") == 2
    assert "&lt;first&gt;" in drawn
    assert ">back</text>" in drawn


def groups() -> Bars:
    series = [Curve("<ours>", [(0.0, 0.9), (1.0, 0.5)]), Curve("theirs", [(1.0, 0.25)], 6)]
    return Bars("Delivered", "share", ["light", "heavy & long"], series, 1.0)


def passed() -> Arrows:
    arrows = [Arrow(10.0, 10.5, "delivered 1"), Arrow(11.0, 12.0, "delivered <2>", 1)]
    return Arrows("Timeline", 10.0, 13.0, arrows, [Mark(11.0, "sent")], [Mark(12.5, "dropped")])


def test_bars_are_as_high_as_their_values_and_none_where_there_is_none() -> None:
    drawn = svg_bars.bars(groups())
    heights = [float(found) for found in re.findall(r'height="([\d.]+)">', drawn)]
    assert heights == pytest.approx([0.9 * 216, 0.5 * 216, 0.25 * 216], abs=0.1)
    assert "&lt;ours&gt;: 0.9" in drawn and "heavy &amp; long" in drawn
    assert drawn.count("band t6") == 1


def test_arrows_lead_downwards_from_the_sender_to_the_receiver() -> None:
    drawn = svg_arrows.arrows(passed())
    ends = re.findall(r'd="M200 ([\d.]+)L400 ([\d.]+)M', drawn)
    assert [[float(one) for one in pair] for pair in ends] == [[24, 47], [70, 116]]
    assert "12.000 delivered &lt;2&gt;" in drawn
    assert "sent 11.000" in drawn and "12.500 dropped" in drawn
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

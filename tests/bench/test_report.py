"""Reports say what was measured, and the HTML needs nothing but itself."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from bench.__main__ import main
from bench.browsers.page_end import PageEnd, differences
from bench.browsers.visual import FrameBox, Moment
from bench.pages.page_load import in_order
from bench.pages.page_result import PageLoad, earliest_paint
from bench.pages.traffic import Traffic, counted
from bench.reports.exhibits import film_times, frame_at, of_loads
from bench.reports.report import Check, comparable, medians, seconds, table, write
from bench.reports.report_html import page as page_html
from bench.reports.report_html import share_of_goal
from bench.scenarios.pages.page_load import checks
from bench.scenarios.pages.two_documents import checks as two_checks
from emulation.lines.profiles import profile, profiles
from local_proxy.status.snapshot import DocumentStatus, HistoryStatus, LinkStatus, StatusSnapshot
from tests.bench.loads import both, data, frame, load


def test_a_run_has_the_fields_and_the_figures() -> None:
    run = load("sluice", speed=1.0).as_json()
    assert run == {
        "peer": "sluice", "page": "news/index.html", "policy": "", "text_s": 1.0, "painted_s": 2.0,
        "good_s": 4.0, "final_s": 4.0, "load_s": 3.0, "speed_index_s": 1.9, "bytes_down": 600_000,
        "bytes_up": 7_000, "connections": 6, "first_paint_s": 0.5, "pixels_90_s": 2.0,
        "pictures_over_time": [[1.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.5, 0.0], [4.0, 1.0, 1.0, 1.0]],
    }  # fmt: skip


def test_what_the_browser_says_of_pictures_is_in_a_run() -> None:
    run = replace(load("sluice", speed=1.0), said=(1.2, 1.5)).as_json()
    assert run["painted_s"] == 1.5
    assert run["pictures_over_time"] == [
        [1.0, 0.0, 0.0, 0.0], [1.2, 0.5, 0.0, 0.0], [1.5, 1.0, 0.0, 0.0], [2.0, 1.0, 0.5, 0.0],
        [4.0, 1.0, 1.0, 1.0],
    ]  # fmt: skip


def test_a_report_describes_itself_and_survives_json() -> None:
    made = json.loads(json.dumps(data(both(), seed=7)))
    assert set(made) >= {
        "scenario", "command", "commit", "seed", "profile", "machine", "runs", "checks"
    }  # fmt: skip
    assert made["seed"] == 7
    check = made["checks"]["news, sluice: pictures painted sooner"]
    assert check == {
        "value": 3.0, "unit": "times as soon as direct", "goal": "at least 2.0", "ok": True
    }  # fmt: skip


def test_a_slower_peer_falls_short() -> None:
    slow = data([load("direct", speed=1.0), load("sluice", speed=2.0)])["checks"]
    assert {name: check["ok"] for name, check in slow.items()} == {
        "news, sluice: pictures painted sooner": False,
        "news, sluice: text later by": False,
        "news, sluice: load event later by": False,
        "news, sluice: final pixels later by": False,
    }


def test_pictures_that_never_become_final_fall_short() -> None:
    runs = [one.as_json() for one in both()]
    runs[1]["final_s"] = None
    assert not checks(runs)["news, sluice: final pixels later by"].ok


def test_what_the_project_promises_is_held_against_its_own_profile() -> None:
    runs = [one.as_json() for one in both()]
    promised = checks(runs, profile="384k")["news, sluice: painted_s"]
    assert promised.ok == (runs[1]["painted_s"] <= 2.5)
    assert "news, sluice: painted_s" not in checks(runs, profile="fast")


def test_the_table_shows_medians_in_three_digits() -> None:
    runs = [load("direct", speed=speed).as_json() for speed in (1.0, 30.0, 2.0)]
    assert medians(runs)[0]["painted_s"] == 4.0
    line = table(runs).splitlines()[1].split()
    assert line == ["direct", "2.00", "4.00", "8.00", "8.00", "6.00", "3.80", "600", "7.0"]


def test_a_figure_that_one_run_lacks_has_no_median() -> None:
    runs = [one.as_json() for one in (load("direct", speed=1), load("direct", speed=1))]
    runs[0]["good_s"] = None
    assert medians(runs)[0]["good_s"] is None
    assert " - " in table(runs)


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0.00"), (9.994, "9.99"), (72.4, "72.4")]
)
def test_seconds(value: float | None, text: str) -> None:
    assert seconds(value) == text


def test_film_times_are_denser_first_and_end_at_the_end() -> None:
    times = film_times(14.0)
    gaps = [b - a for a, b in zip([0.0, *times], times, strict=False)]
    assert times[-1] == pytest.approx(14.0)
    assert gaps == sorted(gaps)


def test_the_frame_shown_is_the_last_before_the_time() -> None:
    frames = [frame(1, "white"), frame(2, "red")]
    assert [frame_at(frames, at) for at in (0.5, 1, 1.9, 50)] == [None, *frames[:1] * 2, frames[1]]


def test_frames_of_the_page_before_are_left_out() -> None:
    frames = [frame(103, "blue"), frame(101, "white"), frame(102, "red"), frame(99, "black")]
    assert [one.at for one in in_order(frames, origin=100)] == [1, 2, 3]
    assert [one.at for one in in_order(frames, origin=100, first_paint=2.01)] == [2, 3]


class Outside(HTMLParser):
    """Collects what a document would fetch, and what runs."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.scripts = 0
        self.pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.pictures += tag == "img"
        for name, value in attrs:
            if name in {"src", "href", "srcset"} and not (value or "").startswith("data:"):
                self.fetched.append(str(value))


def test_the_html_is_self_contained_and_shows_each_peer_in_time() -> None:
    text = page_html([(data(both()), of_loads(both()))])
    parser = Outside()
    parser.feed(text)
    assert (parser.fetched, parser.scripts) == ([], 0)
    assert "@import" not in text
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text
    # Eight times each; the slower peer's first frame comes at 3 s of 12: two times show nothing.
    # And three of each side that are played.
    assert parser.pictures + text.count("<i></i>") == 16 + 6
    assert text.count('<svg viewBox="0 0 720 270"') == 1
    assert "$" not in text.split("</style>")[1]


def test_text_in_a_report_is_escaped() -> None:
    loads = [load("<b>&", speed=1.0, page='"><script>alert(1)</script>')]
    made = data(loads, notes=["<i>note"])
    text = page_html([(made, of_loads(loads))])
    assert "<script>" not in text
    assert "<b>&" not in text
    assert "&lt;i&gt;note" in text


def test_a_report_without_films_still_has_figures(tmp_path: Path) -> None:
    index = write(tmp_path / "deep" / "report", data(both()), [])
    assert "class=bars" in index.read_text()
    assert json.loads(index.with_name("report.json").read_text())["runs"][1]["peer"] == "sluice"


def test_a_load_that_painted_nothing_is_reported() -> None:
    empty = PageLoad(
        peer="direct", page="p", policy="", text_s=None, load_s=None, bytes_down=0, bytes_up=0,
        connections=0, moments=[], frames=[],
    )  # fmt: skip
    assert empty.as_json()["painted_s"] is None
    assert "never" in page_html([(data([empty, load("a", speed=1, page="p")]), of_loads([empty]))])
    assert table([empty.as_json()]).count("-") == 6


def test_two_documents_compare_medians() -> None:
    runs = [
        {"peer": peer, "second_text_s": at}
        for peer, at in (("direct", 4.0), ("direct", 6.0), ("sluice", 1.0), ("sluice", 3.0))
    ]
    check = two_checks(runs)["sluice: text of a page opened over a loading one"]
    assert check == Check(2.5, "times as soon as direct", "at least 2.0", True)
    assert "sluice: that text against its time alone" not in two_checks(runs)
    runs[2]["second_text_s"] = None  # type: ignore[assignment]
    assert not two_checks(runs)["sluice: text of a page opened over a loading one"].ok


def test_the_comparable_part_holds_neither_machine_nor_command() -> None:
    made = comparable(data(both()))
    assert set(made) == {"scenario", "seed", "profile", "runs", "checks"}


def test_the_share_is_of_the_time_in_which_both_documents_load() -> None:
    first = [0, 90, 20, 80, 80, 80, 80, 99]
    second = [0, 10, 80, 20, 20, 20, 20, 0]
    traffic = Traffic(first, second)
    assert traffic.front_percent(1.0) == 80.0
    assert traffic.front_percent(2.4) is None
    assert Traffic(first, second, offset=-0.4).front_percent(1.0) == 80.0
    assert Traffic([], []).front_percent(0.0) is None


def test_bytes_by_document_come_from_the_status_of_the_local_proxy() -> None:
    link = LinkStatus(connected=True, seconds=9, remote="r")
    history = HistoryStatus(
        bucket=0.5,
        first=0,
        buckets=5,
        series={2: [0, 0, 5, 6, 7], 4: [0, 0, 0, 1, 2], 0: [9, 9, 9, 9, 9]},
        labels={2: "The Civic Ledger", 4: "http://h/article/index.html", 0: "background"},
    )
    news = DocumentStatus(id=2, url="http://h/news/index.html", application="browser", front=True)
    status = StatusSnapshot(version="1", uptime=10.0, link=link, history=history, documents=[news])
    traffic = counted(status, "news/index.html", "article/index.html", age=8.8)
    assert (traffic.first, traffic.second) == ([5, 6, 7], [0, 1, 2])
    assert traffic.offset == pytest.approx(-0.2)
    assert counted(status, "absent", "absent", age=8.8).first == []


def end(picture: str, *complaints: str, height: int = 100) -> PageEnd:
    image = Image.new("RGB", (100, height), "white")
    image.paste(picture, (10, 10, 20, 20))
    return PageEnd(
        (image,), (FrameBox(10, 10, 20, 20), FrameBox(50, 50, 60, 60)), Counter(complaints)
    )


def test_a_small_missing_picture_is_a_difference_although_the_page_hardly_changes() -> None:
    found = differences(end("black"), end("black"), end("white"))
    assert found["picture_difference"] == 255.0
    assert found["page_difference"] == pytest.approx(2.55)
    assert found["pictures"] == 2


def test_a_moving_picture_is_left_out_and_complaints_are_compared() -> None:
    found = differences(end("black", "a", "b"), end("grey"), end("white", "b", "c"))
    assert (found["moving_pictures"], found["picture_difference"]) == (1, 0.0)
    assert found["complaints"] == ["a", "c"]


def test_another_height_is_the_greatest_difference() -> None:
    found = differences(end("black"), end("black"), end("black", height=120))
    assert (found["same_size"], found["page_difference"]) == (False, 255.0)


def test_every_profile_is_valid_and_an_unknown_one_names_the_others(tmp_path: Path) -> None:
    assert {"56k", "128k", "384k", "1.6M", "fast"} <= set(profiles())
    assert profile("384k").rate_down == 48_000
    with pytest.raises(ValueError, match="56k"):
        profile("absent")
    bad = tmp_path / "bad.toml"
    bad.write_text("[x]\nabout = 'a'\nrate_down = 'fast'\n")
    with pytest.raises(ValueError, match=r"bad\.toml"):
        profiles(bad)


def test_the_command_line_lists_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("page-load", "two-documents", "browse", "384k"))
    assert main(["absent"]) == 2
    assert "page-load" in capsys.readouterr().err
    assert main(["page-load", "--profile", "absent"]) == 2
    assert main(["page-load", "--peers", "absent"]) == 2
    assert "direct, sluice" in capsys.readouterr().err
    assert main(["scheduler", "--page", "."]) == 2
    assert "no use for --page" in capsys.readouterr().err
    assert main(["page-load", "a.json"]) == 2


@pytest.mark.parametrize(
    ("said", "pixels", "expected"),
    [
        (0.6, [0.0, 0.4, 1.0], 0.3),
        (0.2, [0.0, 0.4], 0.2),
        (None, [0.0, 0.4], 0.3),
        (0.6, [0.0], 0.6),
    ],
)
def test_a_frame_that_shows_something_is_a_paint_whatever_the_browser_says(
    said: float | None, pixels: list[float], expected: float
) -> None:
    moments = [Moment((n + 0.5) * 0.2, (), 0.0, share) for n, share in enumerate(pixels)]
    assert earliest_paint(said, moments) == pytest.approx(expected)


def test_where_nothing_was_painted_there_is_no_first_paint() -> None:
    assert earliest_paint(None, []) is None


@pytest.mark.parametrize(
    ("value", "goal", "share"),
    [
        (5.0, "<= 10 s", 0.5),
        (0.2, "at most 0.1", 2.0),
        (3, "below 4", 0.75),
        (0.5, "< 0.4 (the best other)", 1.25),
        (4.0, ">= 2", 0.5),
        (1.0, "at least 2.0", 2.0),
        (2000, "more than 1000", 0.5),
        (0.0, "> 1", float("inf")),
        (1.02, "1 +- 0.05", 0.4),
        (0.9, "0.9 to 1.1", 1.0),
        (0, "none", 0.0),
        (3, "none", float("inf")),
        (0, "0", 0.0),
        (0.0, "at most 0", 0.0),
        (3, "all", None),
        ("> 10 s", "<= 2 s", None),
        (None, "<= 2", None),
        (True, "<= 2", None),
        (-1.0, "<= 2", None),
    ],
)
def test_a_figure_takes_a_share_of_what_its_goal_allows(
    value: object, goal: str, share: float | None
) -> None:
    found = share_of_goal(value, goal)
    assert found == share or found == pytest.approx(share)


def test_each_goal_with_a_number_has_a_gauge_whose_half_it_allows() -> None:
    made = data(both())
    made["checks"] = {
        "soon": {"value": 5.0, "unit": "s", "goal": "<= 10 s", "ok": True},
        "late": {"value": 50.0, "unit": "s", "goal": "<= 10 s", "ok": False},
        "said": {"value": "yes", "unit": "", "goal": "yes", "ok": True},
    }
    html = page_html([(made, [])])
    gauges = html.split("<ul class=checks>")[1].split("</ul>")[0]
    assert gauges.count("class=gauge") == 2
    assert gauges.count('style="width:25%"') == gauges.count('style="width:100%"') == 1

"""The status page: history, summary, metrics, the stream as a browser parses it, the error page."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.commands.status import render
from local_proxy.http.model import Request, Response
from local_proxy.policy.runtime import PolicyStatistics
from local_proxy.requests.link_down import link_down
from local_proxy.status import summary
from local_proxy.status.history import MAX_DOCUMENTS, OTHERS, BandwidthHistory
from local_proxy.status.metrics import CONTENT_TYPE, exposition
from local_proxy.status.page import MAX_STREAMS, StatusPage
from local_proxy.status.path_history import PathHistory
from local_proxy.status.snapshot import (
    HistoryStatus,
    LinkStatus,
    PolicyStatus,
    ShownBudget,
    ShownEstimate,
    ShownPath,
    ShownSavings,
    ShownTransport,
    StatusSnapshot,
)
from policies.api import DocumentOpened, Event, Kind, Progress, SessionOpened, SkeletonGrew, Use
from policies.api.plan import Rule
from policies.builtin.default import Default
from policies.testing import replay
from remote_proxy.jobs.economy import AdaptationReason
from transport.link.interface import PathStatistics
from wire.fields import header
from wire.skeleton import Part
from wire.tree_row import TreeRow

LINK = LinkStatus(connected=True, seconds=3.0, remote="relay:7443", received=1000, sent=50)


def status(history: HistoryStatus | None = None) -> StatusSnapshot:
    nothing = HistoryStatus(bucket=0.5, first=0)
    return StatusSnapshot(version="1", uptime=9.0, link=LINK, history=history or nothing)


def get(page: StatusPage, path: str, method: str = "GET") -> Response:
    return asyncio.run(page.handle(Request(method, f"http://sluice.local{path}", [])))


def body(response: Response) -> bytes:
    assert isinstance(response.body, bytes)
    return response.body


# -- history -----------------------------------------------------------------------------------


def test_history_counts_by_document_and_half_second() -> None:
    history = BandwidthHistory(start=100.0)
    for now, document, size in [(100.0, 1, 5), (100.4, 1, 6), (100.6, 3, 7), (102.0, 1, 8)]:
        history.record(document, size, now=now)
    history.label(3, "three")
    told = history.status(now=102.0)
    assert (told.first, told.buckets, told.bucket) == (0, 5, 0.5)
    assert told.series == {1: [11, 0, 0, 0, 8], 3: [0, 7, 0, 0, 0]}
    assert told.labels == {1: "", 3: "three"}
    assert history.status(now=102.0, since=4).series == {1: [8]}


def test_history_forgets_and_gives_up_places() -> None:
    history = BandwidthHistory(start=0.0, span=10.0)
    for document in range(1, 2 * MAX_DOCUMENTS + 20, 2):
        history.record(document, 1, now=0.0)
    told = history.status(now=0.0)
    assert len(told.series) == MAX_DOCUMENTS + 1
    assert told.series[OTHERS] == [10]
    silent = history.status(now=60.0)
    assert (silent.series, silent.first, silent.buckets) == ({}, 101, 20)
    history.record(999, 4, now=60.0)
    assert history.status(now=60.0).series[999][-1] == 4


@given(
    st.lists(
        st.tuples(
            st.floats(0, 40), st.sampled_from([1, 3, 5]), st.integers(min_value=1, max_value=9)
        ),
        max_size=60,
    )
)
def test_history_loses_nothing_within_its_span(records: list[tuple[float, int, int]]) -> None:
    history = BandwidthHistory(start=0.0, span=60.0)
    for now, document, size in sorted(records):
        history.record(document, size, now=now)
    told = history.status(now=40.0)
    assert sum(map(sum, told.series.values())) == sum(size for _, _, size in records)
    assert all(len(counts) == told.buckets for counts in told.series.values())


# -- the stream --------------------------------------------------------------------------------


def parse_events(text: str) -> list[tuple[str, str]]:
    """(event, data) pairs, as the HTML standard reads an event stream."""
    events = []
    for block in text.split("\n\n"):
        fields = [line.partition(": ")[::2] for line in block.split("\n") if line]
        data = [value for name, value in fields if name == "data"]
        if data:
            events.append((dict(fields).get("event", "message"), "\n".join(data)))
    return events


async def read(stream: object, chunks: int) -> str:
    assert isinstance(stream, AsyncIterator)
    return b"".join([await anext(stream) for _ in range(chunks)]).decode()


def test_the_stream_sends_all_once_and_then_what_is_new() -> None:
    history = BandwidthHistory(start=0.0)
    clock = 0.0

    def snapshot() -> StatusSnapshot:
        nonlocal clock
        clock += 5.0
        history.record(1, 100, now=clock)
        return status(history.status(now=clock))

    async def check() -> None:
        page = StatusPage(snapshot, interval=0)
        response = await page.handle(Request("GET", "http://sluice.local/events", []))
        assert header(response.headers, "content-type") == "text/event-stream"
        events = parse_events(await read(response.body, 4))
        assert [name for name, _ in events] == ["status"] * 3
        told = [msgspec.json.decode(data, type=StatusSnapshot).history for _, data in events]
        assert [(h.first, h.buckets) for h in told] == [(0, 11), (7, 14), (17, 14)]
        merged: dict[int, int] = {}
        for part in told:
            merged.update(enumerate(part.series[1], part.first))
        assert sorted(merged) == list(range(31))
        assert sum(merged.values()) == 300
        await response.body.aclose()  # type: ignore[union-attr]

    asyncio.run(check())


def test_streams_are_counted_and_end_with_their_readers() -> None:
    async def check() -> None:
        page = StatusPage(status, interval=0)
        request = Request("GET", "http://sluice.local/events", [])
        streams = [(await page.handle(request)).body for _ in range(MAX_STREAMS)]
        for stream in streams:
            await read(stream, 2)
        assert (await page.handle(request)).status == 503
        await streams[0].aclose()  # type: ignore[union-attr]
        assert (await page.handle(request)).status == 200

    asyncio.run(check())


# -- the rest of the page ----------------------------------------------------------------------


def test_json_has_the_form_of_the_snapshot() -> None:
    response = get(StatusPage(status), "/status.json")
    assert header(response.headers, "content-type") == "application/json"
    assert msgspec.json.decode(body(response), type=StatusSnapshot) == status()
    schema = msgspec.json.schema(StatusSnapshot)["$defs"]["StatusSnapshot"]
    assert set(schema["required"]) == {"version", "uptime", "link", "history"}
    assert set(schema["properties"]) == set(json.loads(body(response)))


@pytest.mark.parametrize("path", ["/", "/status.css", "/status.js", "/chart.js"])
def test_the_page_is_served_whole_and_needs_nothing_from_elsewhere(path: str) -> None:
    response = get(StatusPage(status), path)
    assert response.status == 200
    text = body(response).decode()
    for address in re.findall(r"""(?:src|href|from|url)\s*[=(]?\s*["']([^"']+)["']""", text):
        assert address.startswith(("/", "data:"))
        if address.startswith("/"):
            assert get(StatusPage(status), address).status == 200
    assert "innerHTML" not in text
    assert "frame-ancestors 'none'" in header(response.headers, "content-security-policy")
    assert get(StatusPage(status), path, "HEAD").body == b""


def test_every_id_that_the_script_fills_is_on_the_page() -> None:
    page = StatusPage(status)
    html, script = body(get(page, "/")).decode(), body(get(page, "/status.js")).decode()
    ids = set(re.findall(r'at\("([\w-]+)"\)', script))
    figures = set(re.findall(r'figure\("(\w+)"', script))
    assert len(ids) > 8
    assert len(figures) == 4
    for id in ids | figures | {f"{name}-note" for name in figures}:
        assert f'id="{id}"' in html


def test_wrong_requests_and_a_faulty_snapshot_are_answered() -> None:
    def faulty() -> StatusSnapshot:
        raise RuntimeError("no figures")

    assert get(StatusPage(status), "/nothing").status == 404
    assert get(StatusPage(status), "/", "POST").status == 405
    assert get(StatusPage(faulty), "/status.json").status == 500
    assert get(StatusPage(faulty), "/").status == 200


def test_metrics_are_prometheus_text() -> None:
    told = msgspec.structs.replace(
        status(),
        link=msgspec.structs.replace(
            LINK,
            down=ShownEstimate(7000.5, 0.1, 1.0),
            available=ShownEstimate(5000.0, 0.1, 1.0),
            delay=0.25,
            shared=["down"],
        ),
        savings=ShownSavings(origin_bytes=900, link_bytes=300),
        policies=[PolicyStatus(name='my "own"\nline', on=False)],
    )
    text = exposition(told)
    sample = re.compile(r'sluice_\w+(\{(\w+="([^"\\\n]|\\["\\n])*",?)+\})? -?[\d.e+-]+')
    for line in text.splitlines():
        assert line.startswith("# ") or sample.fullmatch(line), line
    assert 'sluice_bandwidth_bytes_per_second{direction="down"} 7000.5\n' in text
    assert 'sluice_available_bytes_per_second{direction="down"} 5000\n' in text
    assert 'sluice_line_shared{direction="down"} 1\n' in text
    assert 'sluice_line_shared{direction="up"} 0\n' in text
    assert 'sluice_policy_on{policy="my \\"own\\"\\nline",index="0"} 0\n' in text
    assert "sluice_origin_bytes_total 900\n" in text
    names = re.findall(r"# TYPE (\S+)", text)
    assert len(names) == len(set(names))
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")


def test_what_tcp_says_of_the_link_is_said_to_people_and_to_programs() -> None:
    delivered = ShownEstimate(5000.0, 1.0, 0.5, "transport")
    tcp = ShownTransport(
        rtt=0.12, rttvar=0.03, min_rtt=0.1, segments=40, retransmitted=3, delivered=delivered
    )
    told = msgspec.structs.replace(status(), link=msgspec.structs.replace(LINK, tcp=tcp))
    said = "  round trip 120 ms (+-30), 3 of 40 segments sent again"
    assert said in render(told).splitlines()
    text = exposition(told)
    for line in (
        'sluice_tcp_round_trip_seconds{which="smoothed"} 0.12',
        'sluice_tcp_round_trip_seconds{which="lowest"} 0.1',
        'sluice_tcp_segments{which="again"} 3',
        "sluice_tcp_delivered_bytes_per_second 5000",
    ):
        assert line in text.splitlines()
    assert "tcp" not in exposition(status()) and "round trip" not in render(status())


def seen(name: str, number: int, carried: int, **more: Any) -> PathStatistics:
    return PathStatistics(
        name, number, carried, rate=1000.0, round_trip=0.05, answers=True, quickest=False, **more
    )


def test_an_interface_keeps_its_place_over_several_paths() -> None:
    history = PathHistory(start=0.0)
    assert history.status(now=0.1) is None
    history.look([seen("wlan0", 0, 100), seen("wwan0", 1, 50)], now=0.1)
    history.look([seen("wlan0", 0, 160), seen("wwan0", 1, 50)], now=0.6)
    history.look([seen("wwan0", 1, 80)], now=1.1)
    history.look([seen("wwan0", 1, 80), seen("wlan0", 2, 7)], now=1.6)
    told = history.status(now=1.6)
    assert told is not None
    assert told.labels == {1: "wlan0", 2: "wwan0"}
    assert told.series == {1: [100, 60, 0, 7], 2: [50, 0, 30, 0]}


def test_the_paths_of_a_link_are_said_to_people_and_to_programs() -> None:
    paths = [
        ShownPath(
            name="wlan0", carried=3000, rate=50_000.0, round_trip=0.04, answers=True, quickest=True
        ),
        ShownPath(
            name="wwan0", carried=700, rate=0.0, round_trip=0.3, answers=False, quickest=False
        ),
    ]
    budgets = [
        ShownBudget(name="wwan0", duty=duty, spent=spent, size=2 * 10**9, until="2026-12-01")
        for duty, spent in (("use", 7_000_000), ("spare", 10**9), ("none", 2 * 10**9))
    ]
    link = msgspec.structs.replace(LINK, transport="paths", paths=paths, budgets=budgets)
    said = render(msgspec.structs.replace(status(), link=link)).splitlines()
    assert said[0].startswith("link to relay:7443 over 2 paths: up for ")
    assert "  wlan0: 3.0 kB came, lately 50.0 kB/s, 40 ms there and back, the quickest" in said
    assert "  wwan0: 0.7 kB came, 300 ms there and back, it does not answer" in said
    ends = "; the next begins on 2026-12-01"
    assert f"  wwan0: 7.0 MB of 2.0 GB crossed this month{ends}" in said
    assert any("this month, ahead of its time, so it is a spare one" in line for line in said)
    assert any("this month, so nothing more crosses it" in line for line in said)
    text = exposition(msgspec.structs.replace(status(), link=link)).splitlines()
    assert 'sluice_path_budget_spent_bytes{path="wwan0"} 7000000' in text
    assert 'sluice_path_budget_bytes{path="wwan0"} 2000000000' in text
    assert 'sluice_path_bytes{path="wlan0"} 3000' in text
    assert 'sluice_path_answers{path="wwan0"} 0' in text
    assert 'sluice_path_round_trip_seconds{path="wwan0"} 0.3' in text


def test_summary_lists_what_policies_see() -> None:
    parts = tuple(
        Part(2 * n, f"http://site/{n}", Kind.IMAGE, Use.ELEMENT, n) for n in range(1, 251)
    )
    recording: list[tuple[float, Event]] = [
        (0, SessionOpened()),
        (0, DocumentOpened(1, "http://site/")),
        (1, SkeletonGrew(1, parts)),
        (2, Progress(2, 70, "low", length=700)),
        (3, DocumentOpened(3, "http://other/")),
    ]
    newest, oldest = summary.documents(replay(Default(), recording).view, {3: "Other"})
    assert (newest.title, oldest.title) == ("Other", "")
    assert (newest.id, newest.front, newest.weight) == (3, True, 4.0)
    assert (oldest.front, oldest.scheduler, oldest.received) == (False, "low_fidelity_first", 70)
    assert (len(oldest.components), oldest.more) == (200, 50)
    assert (oldest.components[0].level, oldest.components[0].length) == ("low", 700)
    statistics = PolicyStatistics("p", False, "broke", 3, 2, 1, 0.5, 0)
    assert summary.policies([statistics, replace(statistics, on=True, why_off="")])[0].why_off
    many = replace(statistics, rules=tuple(Rule(tier=n) for n in range(52)))
    (listed,) = summary.policies([many])
    assert listed.rules[:2] == ["everything: tier=0", "everything: tier=1"]
    assert (len(listed.rules), listed.more_rules) == (50, 2)


def test_what_was_decided_about_pictures_is_said_to_people_and_to_programs() -> None:
    told = summary.pictures({"soon": 1, "slow": 12, "late": 0, "unheard of": 7})
    assert [(one.why, one.count) for one in told] == [("slow", 12), ("soon", 1)]
    shown = msgspec.structs.replace(status(), pictures=told)
    assert "  pictures: 12 coarse first: they would be waited for\n" in render(shown)
    assert 'sluice_pictures_total{why="slow"} 12\n' in exposition(shown)
    assert set(summary.PICTURES) == {str(why) for why in AdaptationReason}


def test_summary_of_the_tree() -> None:
    assert summary.tree([]) is None
    told = summary.tree(
        [
            TreeRow(0, "", 0, "text_first", 1.0, 600),
            TreeRow(1, "browser", 0, "wf2q_plus", 4.0, 600, more=3),
            TreeRow(2, "7", 2, "image", 1.0, 600, "text_first of the link", leaf=True),
            TreeRow(1, "tunnels", 1, "wf2q_plus", 1.0, 0),
        ]
    )
    assert told is not None
    assert (told.scheduler, told.backlog, told.state) == ("text_first", 600, "ready")
    browser, tunnels = told.children
    assert (browser.weight, browser.more, tunnels.state) == (4.0, 3, "waiting")
    (picture,) = browser.children
    assert (picture.kind, picture.state) == ("image", "disabled")
    assert picture.held_by == "text_first of the link"


def test_a_tree_that_no_tree_can_be_is_shown_as_far_as_it_goes() -> None:
    told = summary.tree(
        [
            TreeRow(-3, "r", 9, "", 1.0, 0),
            TreeRow(7, "a", -1, "", 1.0, 0),
            TreeRow(0, "s", 0, "", 1.0, 0),
        ]
    )
    assert told is not None
    assert (told.name, told.state, [one.name for one in told.children]) == (
        "r",
        "unknown",
        ["a", "s"],
    )


# -- while the link is down --------------------------------------------------------------------

HTML = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")]


def test_a_page_that_could_not_be_loaded_reloads_itself() -> None:
    request = Request("GET", "http://a.example/<b>?q=1", HTML)
    response = link_down(request, remote="relay<:7443", reason="reset & gone", seconds=75)
    text = body(response).decode()
    assert response.status == 504
    assert header(response.headers, "retry-after") == "5"
    assert header(response.headers, "cache-control") == "no-store"
    assert '<meta http-equiv="refresh" content="5">' in text
    assert "reset &amp; gone" in text
    assert "relay&lt;:7443" in text
    assert "1 minute ago" in text
    assert "$" not in text


@pytest.mark.parametrize(
    ("method", "accept"), [("POST", "text/html"), ("GET", "image/webp,*/*"), ("GET", "")]
)
def test_nothing_but_a_page_is_loaded_again_by_itself(method: str, accept: str) -> None:
    request = Request(method, "http://a.example/", [("accept", accept)])
    response = link_down(request, remote="relay:7443", reason="reset")
    assert response.status == 504
    assert header(response.headers, "content-type").startswith("text/plain")
    assert b"reset" in body(response)


def test_what_others_leave_is_said_where_it_is_measured() -> None:
    link = msgspec.structs.replace(LINK, available=ShownEstimate(5000.0, 0.1, 1.0))
    said = render(msgspec.structs.replace(status(), link=link)).splitlines()
    assert "  others leave 40 kbit/s of it downwards" in said
    assert "others leave" not in render(status())


def test_that_others_use_the_line_is_said() -> None:
    link = msgspec.structs.replace(LINK, shared=["down", "up"])
    said = render(msgspec.structs.replace(status(), link=link)).splitlines()
    assert "  other programs use the line too, down and up" in said
    assert "other programs" not in render(status())

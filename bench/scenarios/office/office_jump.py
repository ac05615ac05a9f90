"""A reader jumps to another slide while a deck loads: when does its picture come next?

From the jump to the first byte of that slide's picture at the device, and how many bytes of other
components came between. In virtual time, where jumps are told at once, and in a real LibreOffice
over kernel TCP and TLS, where UNO has to tell first: that is counted apart. Goal: one latency of
reallocation (docs/measured.md). What a change of focus takes on the very same link is measured too,
to be looked at beside it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from bench.browsers.office_person import Does, own_folder, person
from bench.browsers.screen import screen
from bench.origins.decks import deck, large_pictures, opened, page_of, present, texts
from bench.origins.synthetic import Prepared, Shelf
from bench.pairs.pair import CONTROL, Pair, memory_pair, tcp_pair
from bench.reports.report import Check
from bench.scenarios.links.priority import HEADER, SEGMENT
from bench.scenarios.links.reallocation import GOALS, median_latency, median_latency_over_tls
from emulation.lines.profiles import Profile, profile
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.export_drivers.libreoffice.events import Event, EventKind
from local_proxy.export_drivers.libreoffice.find import Office, find
from local_proxy.export_drivers.libreoffice.show import show
from policies.api import Command, ScrolledInView, SessionView
from policies.api import Event as PolicyEvent
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from transport.stream.long_run import LASTING
from transport.tcp.tls import RECORD_OVERHEAD

LATENCY: Final = {"56k": 0.34, "384k": 0.09}
"""Seconds, the goal by profile: of an urgent quantum (bench/scenarios/links/priority.py)."""
SWITCHES: Final = 5
"""Changes of focus over kernel TCP that are measured beside the jump."""
JUMPS: Final = 8
EVERY: Final = 7.3
"""Seconds between jumps: no multiple of what is periodic in the gate."""
_URL: Final = "http://document.test/deck.pptx"
_LOOK_EVERY: Final = 0.002
_COMING: Final = 1.0
"""Seconds before a jump in which a picture that moves is one whose turn it is."""
_SETTLED: Final = 3.0
_PATIENCE: Final = 120.0


class Sights:
    """A policy that commands nothing and remembers what the reader has come to see."""

    name = "sights"

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []
        """Components of pictures."""

    def react(self, event: PolicyEvent, view: SessionView) -> Iterable[Command]:
        if isinstance(event, ScrolledInView):
            self.seen.append(event.components)
        return ()


async def _first_byte(pair: Pair, sights: Sights, *, told: int, at: float) -> dict[str, Any]:
    """What came from `at` on, until a byte of what was seen after `told` sights.

    What was coming already does not count.
    """
    coming = {one.component for one in pair.tap.arrivals if at - _COMING < one.at <= at}
    async with asyncio.timeout(_PATIENCE):
        while True:
            wanted = {one for pictures in sights.seen[told:] for one in pictures} - coming
            after = [one for one in pair.tap.arrivals if one.at > at and one.component != CONTROL]
            for number, arrival in enumerate(after):
                if arrival.component in wanted:
                    others = sum(one.size for one in after[:number])
                    return {"seconds": round(arrival.at - at, 3), "others": others}
            await asyncio.sleep(_LOOK_EVERY)


def _model(link: Profile) -> LinkModel:
    return LinkModel(
        rate_up=link.rate_up,
        rate_down=link.rate_down,
        delay=link.delay,
        queue=link.queue,
        segment=SEGMENT,
        header=HEADER,
        record=RECORD_OVERHEAD,
    )


async def _virtual(link: Profile, *, jumps: int) -> list[dict[str, Any]]:
    size = int(link.rate_down * (jumps + 6) * EVERY)
    document = page_of(_URL, deck(text=20_000, pictures=size))
    sights, loop = Sights(), asyncio.get_running_loop()
    services = Services(Shelf([document]), Prepared({}))
    async with memory_pair(_model(link), services, [Default(), sights]) as pair:
        await asyncio.sleep(_SETTLED)
        found = await opened(pair, _URL)
        await present(found, texts(found))
        rows = []
        for picture in list(reversed(found.outline.media))[:jumps]:
            await asyncio.sleep(EVERY)
            told, at = len(sights.seen), loop.time()
            found.focus(len(found.outline.pages), (picture.entry,))
            rows.append(await _first_byte(pair, sights, told=told, at=at))
        return rows


async def _real(link: Profile, office: Office, data: bytes) -> dict[str, Any]:
    """The last slide that has a picture of its own, in LibreOffice, once all pages are shown.

    And once the pictures are here that it shares with the first slide: those came anyway.
    """
    document, sights = page_of(_URL, data), Sights()
    services = Services(Shelf([document]), Prepared({}))
    async with tcp_pair(link, services, [Default(), sights], secure=True) as pair:
        await asyncio.sleep(_SETTLED)
        found = await opened(pair, _URL)
        heard = _Heard(found)
        with own_folder() as folder:
            showing = asyncio.create_task(show(found, on_event=heard, office=office, keep=folder))
            try:
                await heard.until(EventKind.EDITABLE)
                async with person(office, folder) as does:
                    return await _jump(pair, heard, sights, does)
            finally:
                showing.cancel()
                await asyncio.gather(showing, return_exceptions=True)


class _Heard:
    """What LibreOffice has said of a document, and when."""

    def __init__(self, document: IncomingDocument) -> None:
        self.document = document
        self._clock = asyncio.get_running_loop().time
        self._events: list[tuple[float, Event]] = []
        self._news = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self._events.append((self._clock(), event))
        if event.kind is EventKind.PAGE:  # no window manager says here that the window is in front
            self.document.focus(event.page)
        self._news.set()

    async def until(self, kind: EventKind, page: int = 0) -> float:
        """When it was first said. Raises TimeoutError."""
        while True:
            for at, event in self._events:
                if event.kind is kind and event.page == page:
                    return at
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), _PATIENCE)


async def _jump(pair: Pair, heard: _Heard, sights: Sights, does: Does) -> dict[str, Any]:
    """To the last slide that has a picture of its own."""
    found = heard.document
    page, entry = _last(found)
    await does("state")
    await present(found, [m.entry for m in found.outline.media if {1, page} <= {*m.pages}])
    await asyncio.sleep(LASTING)
    if found.present(entry):
        raise OSError("the deck was here before anybody could jump: a larger one")
    told, at = len(sights.seen), asyncio.get_running_loop().time()
    await does("go", page=page)
    seen_at = await heard.until(EventKind.PAGE, page)
    row = await _first_byte(pair, sights, told=told, at=seen_at)
    return row | {"told_s": round(seen_at - at, 3)}


def _last(document: IncomingDocument) -> tuple[int, str]:
    """The last page with a picture that no other page has, and that picture."""
    own = [(one.pages[0], one.entry) for one in document.outline.media if len(one.pages) == 1]
    if not own:
        raise OSError("the deck has no slide with a picture of its own")
    return max(own)


def run(
    *, profile_name: str = "56k", page: Path | None = None, jumps: int = JUMPS, real: bool = True
) -> dict[str, Any]:
    """In virtual time, and if `real` once in LibreOffice. `page`: the deck there; else a sample."""
    link, goal = profile(profile_name), LATENCY.get(profile_name)
    rows = run_virtually(_virtual(link, jumps=jumps))
    times = sorted(row["seconds"] for row in rows)
    median, others = statistics.median(times), max(row["others"] for row in rows)
    beside = median_latency(link, _model(link)) if link.name in GOALS else None
    runs: list[dict[str, Any]] = [
        {"how": "virtual", "jumps": rows, "median_s": round(median, 3), "focus_s": beside}
    ]
    print(
        f"virtual time, {len(rows)} jumps: first byte after {median:.3f} s, median, {times[-1]:.3f}"
        f" at most; {others} bytes of others between at most; a change of focus {beside} s"
    )
    checks = {}
    if goal is not None:
        checks["virtual: the slide's picture comes after"] = Check(
            round(median, 3), "s, median", f"<= {goal:g}", median <= goal
        )
    if real:
        row = _in_libreoffice(link, page)
        runs.append({"how": "libreoffice", **row})
        print(
            f"LibreOffice: told after {row['told_s']:.3f} s, first byte {row['seconds']:.3f} s"
            f" later; {row['others']} bytes of others between; a change of focus {row['focus_s']} s"
        )
        if goal is not None:
            late = row["seconds"]
            checks["LibreOffice: after the slide change was told"] = Check(
                late, "s", f"<= {goal:g}", late <= goal
            )
    return {"runs": runs, "checks": checks}


def _in_libreoffice(link: Profile, page: Path | None) -> dict[str, Any]:
    data = page.read_bytes() if page is not None else large_pictures()
    with screen() as display:
        os.environ["DISPLAY"] = display
        row = asyncio.run(_real(link, find(), data))
    known = link.name in GOALS
    return row | {"focus_s": median_latency_over_tls(link, switches=SWITCHES) if known else None}

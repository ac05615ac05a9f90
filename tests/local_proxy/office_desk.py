"""A desk with a screen nobody sees, LibreOffice on it, and a person before it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageStat

from local_proxy.export_drivers.libreoffice.events import Event, EventKind
from local_proxy.export_drivers.libreoffice.find import NoOffice, Office, find
from local_proxy.export_drivers.libreoffice.show import show, show_coming
from office.source import Source
from tests.office.fake_source import FakeSource

DATA = Path(__file__).parents[1] / "data" / "office"
PERSON = Path(__file__).parent / "office_person.py"
PATIENCE = 60.0
"""Seconds for one thing to happen; never waited for where all is well."""


def missing() -> str:
    """What these tests lack on this machine; empty: nothing."""
    if shutil.which("Xvfb") is None:
        return "no Xvfb on this machine (apt-get install xvfb)"
    if shutil.which("pdftoppm") is None:
        return "no pdftoppm on this machine (apt-get install poppler-utils)"
    try:
        find()
    except NoOffice as error:
        return str(error)
    return ""


class Desk:
    """One document on the screen."""

    def __init__(
        self,
        source: FakeSource,
        folder: Path,
        office: Office,
        coming: Awaitable[Source | None] | None = None,
    ) -> None:
        """`coming`: what tells when `source` is known; it is by itself unless given."""
        self.source = source
        self.folder = folder
        self.events: list[Event] = []
        self._news = asyncio.Event()
        self._office = office
        self._person: asyncio.subprocess.Process | None = None
        if coming is None:
            showing = show(source, on_event=self._heard, office=office, keep=folder)
        else:
            showing = show_coming(
                coming, like="other.pptx", on_event=self._heard, office=office, keep=folder
            )
        self.showing = asyncio.create_task(showing)
        self.showing.add_done_callback(lambda _: self._news.set())

    def _heard(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()

    async def until(self, kind: EventKind, count: int = 1) -> Event:
        """The event of that kind, once there have been so many."""
        while self.count(kind) < count:
            assert not self.showing.done(), self.showing
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), PATIENCE)
            except TimeoutError:
                pytest.fail(f"no {kind} after {self.events[-5:]}")
        return [event for event in self.events if event.kind is kind][count - 1]

    def count(self, kind: EventKind) -> int:
        return sum(event.kind is kind for event in self.events)

    async def text_shown(self) -> None:
        """The whole text, to be edited; no picture."""
        self.source.feed_texts()
        await self.until(EventKind.EDITABLE)

    async def person(self, name: str, **arguments: object) -> Any:
        """Have the person do something."""
        if self._person is None:
            self._person = await asyncio.create_subprocess_exec(
                self._office.python, str(PERSON), pipe(self.folder),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
        assert self._person.stdin is not None
        assert self._person.stdout is not None
        self._person.stdin.write(json.dumps([name, arguments]).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            answer = json.loads(await self._person.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"]

    async def close(self) -> None:
        """As the person does it."""
        await self.person("close")
        async with asyncio.timeout(PATIENCE):
            await self.showing

    async def leave(self) -> None:
        if self._person is not None:
            assert self._person.stdin is not None
            self._person.stdin.close()
            await self._person.wait()
        self.showing.cancel()
        await asyncio.gather(self.showing, return_exceptions=True)


@contextlib.asynccontextmanager
async def desk(
    document: str,
    folder: Path,
    data: Path = DATA,
    *,
    coming: Awaitable[Source | None] | None = None,
) -> AsyncIterator[Desk]:
    """Something of `document` is shown as soon as its first page is fed."""
    source = FakeSource(data / document, folder / "sparse")
    one = Desk(source, folder, find(), coming)
    try:
        yield one
    finally:
        await one.leave()


def processes(folder: Path) -> dict[int, str]:
    """The processes that have `folder` on their command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
                if str(folder) in line:
                    found[int(entry.name)] = line.replace("\0", " ")
    return found


def pipe(folder: Path) -> str:
    """The name of the pipe on which LibreOffice listens."""
    for line in processes(folder).values():
        if match := re.search(r"--accept=pipe,name=([^;]+);", line):
            return match[1]
    raise AssertionError("LibreOffice does not run")


def pages(pdf: Path) -> list[Image.Image]:
    """A coarse picture of each page."""
    folder = pdf.with_suffix(".pages")
    if not folder.exists():
        folder.mkdir()
        subprocess.run(["pdftoppm", "-r", "40", str(pdf), str(folder / "page")], check=True)
    return [Image.open(path).convert("RGB") for path in sorted(folder.iterdir())]


def difference(one: Path, other: Path) -> float:
    """The mean difference of the page that differs most, of 255; 255 where there are not as
    many."""
    here, there = pages(one), pages(other)
    if [page.size for page in here] != [page.size for page in there] or not here:
        return 255.0
    return max(
        sum(ImageStat.Stat(ImageChops.difference(a, b)).mean) / 3
        for a, b in zip(here, there, strict=True)
    )


needs_libreoffice = pytest.mark.skipif(bool(missing()), reason=missing() or "all here")

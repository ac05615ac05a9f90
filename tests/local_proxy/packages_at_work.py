"""Documents that are opened over a link whose remote has one deck, in parts."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from local_proxy.documents.packages import Packages
from local_proxy.documents.sparse_file import Folder
from local_proxy.link.components import Component
from local_proxy.sites.sites import Mode
from office.contents import unpacked
from office.entries import read
from office.extents import Extents, joined
from office.zip_directory import parse
from policies.api import Event
from tests.local_proxy.scripted_remote import Answer, Linked, ScriptedRemote, linked
from tests.office_files import DECK
from transcoders.exact.coder import Undone
from wire import messages as m
from wire.applications import Application
from wire.fields import Headers
from wire.package import Range, Slice, flat
from wire.skeleton import Kind

URL = "http://a.test/deck.pptx"
DIRECTORY = parse(DECK, length=len(DECK))
START = DIRECTORY.start
DIGEST = hashlib.sha256(DECK).digest()


def announce(
    remote: ScriptedRemote,
    request: m.Request,
    ranges: Sequence[Range] = ((0, START),),
    *,
    goes_on: bool = False,
) -> tuple[int, int]:
    """The deck comes in parts: one of these ranges, and the digest; their components."""
    part, digest = remote.session.new_component(), remote.session.new_component()
    slices = [Slice(Kind.TEXT, flat(ranges), [1, 1])]
    remote.say(
        m.Package(request.component, len(DECK), START, "pptx", 1, part, slices, goes_on=goes_on)
    )
    remote.head(request.component)
    remote.send(request.component, b"" if goes_on else DIRECTORY.raw)
    return part, digest


def in_parts(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
    """All of the deck."""
    part, digest = announce(remote, request)
    remote.send(part, DECK[:START])
    remote.send(digest, DIGEST)


def _content(name: str) -> bytes:
    entry = DIRECTORY.by_name[name]
    return unpacked(entry, DECK[entry.start : entry.end])


OUTLINE = read(DIRECTORY, _content)


def sliced() -> list[tuple[list[Range], Kind, list[Range]]]:
    """Ranges, kind and pages of each part: the texts of each page, each picture, all else."""

    def of(names: Iterable[str]) -> list[Range]:
        entries = (DIRECTORY.by_name[name] for name in names)
        return joined((entry.start, entry.end) for entry in entries)

    parts = [
        (of(one.entries), Kind.TEXT, [(number, number + 1)])
        for number, one in enumerate(OUTLINE.pages, 1)
    ]
    parts += [
        (of([one.entry]), Kind.IMAGE, joined((page, page + 1) for page in one.pages))
        for one in OUTLINE.media
    ]
    rest = Extents(one for ranges, _, _ in parts for one in ranges).missing(0, START)
    return [*parts, (rest, Kind.OTHER, [])]


def outlined(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
    """The deck's outline, and none of its parts: they have the ids from 2 on."""
    slices = [Slice(kind, flat(ranges), flat(pages)) for ranges, kind, pages in sliced()]
    first = remote.session.new_component()
    for _ in slices:
        remote.session.new_component()
    pages = len(OUTLINE.pages)
    remote.say(m.Package(request.component, len(DECK), START, "pptx", pages, first, slices))
    remote.head(request.component, 200, [("content-type", "application/zip"), ("etag", '"x"')])
    remote.send(request.component, DIRECTORY.raw)


def begun(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
    """The deck's outline, and half of its bytes."""
    part, _ = announce(remote, request)
    remote.send(part, DECK[: START // 2], last=False)


def plain(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
    """No document at all."""
    remote.respond(request, b"plain text", [("content-type", "text/plain")])


async def undo(data: bytes, *, size: int) -> bytes:
    raise Undone("nothing comes in such a form here")


@dataclass
class Observer:
    """Notes what is asked for."""

    opened: list[tuple[int, str]] = field(default_factory=list)
    applications: list[Application] = field(default_factory=list)
    """Of those."""
    requested: list[Component] = field(default_factory=list)

    def document_opened(
        self, document: int, url: str, *, save_data: bool, application: Application
    ) -> None:
        self.opened.append((document, url))
        self.applications.append(application)

    def component_requested(self, component: Component) -> None:
        self.requested.append(component)


@dataclass
class AtWork:
    """The documents of one uplink, and what was heard of them."""

    link: Linked
    packages: Packages
    observer: Observer
    heard: list[Event]
    closed: list[int]

    @property
    def remote(self) -> ScriptedRemote:
        return self.link.remote


@asynccontextmanager
async def documents(
    folder: Path,
    answer: Answer | None = in_parts,
    *,
    mode: Mode = Mode.ADAPT,
    link: bool = True,
    patience: float = 5.0,
) -> AsyncIterator[AtWork]:
    heard: list[Event] = []
    closed: list[int] = []
    observer = Observer()
    async with linked(answer, patience=patience, link=link) as to:
        packages = Packages(
            to.uplink,
            Folder(folder),
            observer,
            hear=heard.append,
            close=closed.append,
            mode=lambda host: mode,
            patience=patience,
            undo=undo,
        )
        try:
            yield AtWork(to, packages, observer, heard, closed)
        finally:
            packages.close_all()

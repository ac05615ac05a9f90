"""A remote proxy may say so much of a document in parts, and no more."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from coding.text_shelf import TextShelf
from local_proxy.documents.incoming_document import (
    BROKEN,
    CHANGED,
    MAX_HELD,
    WRONG,
    IncomingDocument,
)
from local_proxy.documents.sparse_file import SparseFile
from local_proxy.link.arrival import Arrival
from local_proxy.link.components import Component
from local_proxy.link.demultiplexer import Demultiplexer
from local_proxy.link.dictionaries import Dictionaries
from local_proxy.link.resumption import Memory
from office.zip_directory import parse
from tests.office_files import DECK
from tests.watched import run, until
from transcoders.exact.coder import Undone
from wire import abilities
from wire import messages as m
from wire.abilities import Takes
from wire.errors import PeerError
from wire.frames import Data
from wire.origin_request import OriginRequest
from wire.package import Slice, flat
from wire.skeleton import Kind, Level

URL = "http://a.test/deck.pptx"
DIRECTORY = parse(DECK, length=len(DECK))
START = DIRECTORY.start
ALL = [Slice(Kind.TEXT, [0, START], [1, 1])]


class World:
    """The components of a session, as the remote's messages make them, and one document."""

    def __init__(self, folder: Path, *, takes: int = Takes.PACKAGE) -> None:
        self.said: list[m.Message] = []
        self.losses = 0
        self.looks: list[list[int]] = []
        """Components that a person looks at, each time it is said."""
        self.arriving = Demultiplexer(
            Memory(),
            accepts=(abilities.EXACT,),
            say=self.said.append,
            progressed=lambda component, amount: None,
            ended=lambda component: None,
            ask=lambda arrival: None,
            dictionaries=Dictionaries(TextShelf(max_bytes=0)),
        )
        self.document = IncomingDocument(
            URL,
            "deck.pptx",
            SparseFile(folder / "deck.pptx"),
            look=lambda document, components: self.looks.append([one.id for one in components]),
            lost=self._lost,
            undo=self._undone,
        )
        self.ask(1, takes)

    async def _undone(self, data: bytes, *, size: int) -> bytes:
        try:
            return zlib.decompress(data)
        except zlib.error as error:
            raise Undone(str(error)) from error

    def _lost(self) -> None:
        self.losses += 1

    def ask(self, id_: int, takes: int) -> None:
        self.own = Component(id_, id_, URL)
        self.own.on_package = self.document.announced
        self.document.begin(self.own)
        asked = OriginRequest("GET", URL, [], takes=Takes(takes))
        self.arriving.expect(Arrival(self.own, asked))

    def package(self, slices: Sequence[Slice] = ALL, **other: object) -> None:
        fields = {
            "document": self.own.id, "length": len(DECK), "directory": START, "kind": "pptx",
            "pages": 1, "first": 2, "slices": list(slices),
        }  # fmt: skip
        self.arriving.package(m.Package(**{**fields, **other}))  # type: ignore[arg-type]

    def directory(self, raw: bytes = DIRECTORY.raw) -> None:
        self.arriving.head(m.Head(self.own.id, 200, b""), [])
        self.data(self.own.id, raw)

    def data(self, component: int, data: bytes, *, last: bool = True) -> None:
        for at in range(0, len(data), 10_000) or (0,):
            end = at + 10_000 >= len(data)
            self.arriving.data(Data(component, data[at : at + 10_000], last and end))


@pytest.fixture
def world(tmp_path: Path) -> Iterable[World]:
    made = World(tmp_path)
    yield made
    made.document.close()
    made.document.file.close()


def test_all_parts_and_the_right_sum_are_the_file(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path)
        world.package()
        world.data(2, DECK[:START])  # sooner than the directory: it waits
        assert not world.document.known
        world.directory()
        assert all(map(world.document.present, DIRECTORY.by_name))
        assert not world.document.complete
        world.data(4, hashlib.sha256(DECK).digest())
        await until(lambda: world.document.complete)
        assert world.document.path.read_bytes() == DECK

    run(main())


def test_every_part_of_what_a_person_looks_at_is_looked_at(world: World) -> None:
    """The beginning of a long text too: raised without it, what follows would overtake it."""
    slide = DIRECTORY.by_name["ppt/slides/slide1.xml"]
    first, second = slide.start, (slide.start + slide.end) // 2
    cuts = [(0, first), (first, second), (second, slide.end), (slide.end, START)]
    world.package([Slice(Kind.TEXT, flat([cut]), [1, 1]) for cut in cuts])
    world.directory()
    world.document.focus(1)
    assert {4, 6} <= set(world.looks[0])
    world.data(4, DECK[first:second])
    world.document.focus(1)
    assert 4 not in world.looks[1]
    assert 6 in world.looks[1]


def test_a_wrong_sum_is_no_document(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path)
        world.package()
        world.directory()
        world.data(2, DECK[:START])
        world.data(4, bytes(32))
        await until(lambda: world.document.failure)
        assert world.document.failure == WRONG

    run(main())


@pytest.mark.parametrize("raw", [b"", b"nothing", DIRECTORY.raw[:-1], b"x" + DIRECTORY.raw[1:]])
def test_a_directory_that_is_none_ends_it(world: World, raw: bytes) -> None:
    world.package()
    world.directory(raw)
    assert world.document.failure == BROKEN


@pytest.mark.parametrize(
    "slices",
    [
        [],
        [Slice(Kind.TEXT, [0, 100], [1, 1])],
        [Slice(Kind.TEXT, [0, START + 1], [1, 1])],
        [Slice(Kind.TEXT, [0, START], [2, 1])],
        [Slice(Kind.TEXT, [0], [1, 1])],
    ],
)
def test_parts_that_can_not_be_end_it(world: World, slices: list[Slice]) -> None:
    try:
        world.package(slices)
    except PeerError:
        return
    world.directory()
    assert world.document.failure == BROKEN


@pytest.mark.parametrize(
    "field",
    [
        {"kind": "exe"},
        {"pages": 0},
        {"pages": 1 << 30},
        {"length": 0},
        {"directory": -1},
        {"directory": len(DECK)},
        {"goes_on": True},
    ],
)
def test_packages_that_can_not_be_are_the_peers_error(world: World, field: dict[str, int]) -> None:
    with pytest.raises(PeerError):
        world.package(**field)


def test_nobody_gets_parts_who_did_not_ask(tmp_path: Path) -> None:
    world = World(tmp_path, takes=0)
    with pytest.raises(PeerError):
        world.package()
    world.package(document=99)  # one that has been cancelled meanwhile


def test_more_bytes_than_announced_end_it(world: World) -> None:
    world.package()
    world.directory()
    world.data(2, DECK[:START] + b"more")
    assert world.document.failure == BROKEN


def test_a_coarse_version_is_bounded(world: World) -> None:
    entry = DIRECTORY.by_name["ppt/media/image1.png"]
    rest = [0, entry.start, entry.end - entry.start, START - entry.end]
    size = entry.end - entry.start
    world.package([Slice(Kind.IMAGE, [entry.start, size], []), Slice(Kind.TEXT, rest, [1, 1])])
    end = 1 << 20
    levels = [Level("low", 0, end, "image/webp"), Level("original", end, end + size, "")]
    world.arriving.levels(m.Levels(2, levels, end + size))
    world.directory()
    world.data(2, bytes(500), last=False)
    assert world.document.failure == BROKEN


def test_a_lost_link_asks_for_the_rest_once(world: World) -> None:
    world.package()
    world.directory()
    world.data(2, DECK[:20_000], last=False)
    world.arriving.lost(None)
    assert (world.losses, world.document.failure) == (1, "")
    held = world.document.held()
    assert held is not None
    assert held.directory == hashlib.sha256(DIRECTORY.raw).digest()
    assert held.ranges == [0, 20_000]
    assert len(held.ranges) <= 2 * MAX_HELD


def test_another_file_in_its_place_is_not_mixed_in(world: World) -> None:
    world.package()
    world.directory()
    world.arriving.lost(None)
    world.ask(3, Takes.PACKAGE)
    world.package(first=10)
    assert world.document.failure == CHANGED


def test_what_the_remote_gives_up_fails(world: World) -> None:
    world.package()
    world.directory()
    world.arriving.end(4, 502, "the origin is gone")
    assert world.document.failure == "the origin is gone"
    assert world.losses == 0


def test_no_room_on_disk_is_said(world: World) -> None:
    world.package()
    world.directory()
    world.document.file.close()
    world.data(2, DECK[:START])
    assert "could not be kept" in world.document.failure


# -- views of texts --------------------------------------------------------------------------------

RECORD = b"\x1f\x1f\x1f\x1f<draw:page/>\x1e"
VIEW = Slice(Kind.TEXT, [], [1, 1], view=len(RECORD))


@pytest.mark.parametrize(
    ("kind", "slice_"),
    [
        ("pptx", VIEW),
        ("ods", VIEW),
        ("odp", Slice(Kind.TEXT, [], [1, 1], view=1 << 30)),
        ("odp", Slice(Kind.TEXT, [0, 10], [1, 1], view=10)),
    ],
)
def test_views_that_can_not_be_break_the_protocol(world: World, kind: str, slice_: Slice) -> None:
    with pytest.raises(PeerError):
        world.package([slice_, *ALL], kind=kind)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        RECORD[:-1],
        RECORD * 2,
        RECORD.replace(b"page", b"page>"),
        b"\xff" * 40 + b"\x1e",
        b"\x1f\x1f\x1f\x1f" + b"\x01" * 65_000 + b"\x1e",
    ],
)
def test_a_view_that_is_none_ends_the_document(world: World, data: bytes) -> None:
    world.package([VIEW, *ALL], kind="odp")
    world.directory()
    world.data(2, data)
    assert world.document.failure == BROKEN


def test_a_view_is_told_of_and_not_sent_again_once_it_is_here(world: World) -> None:
    told = []
    world.document.watch(lambda: told.append(world.document.text))
    world.package([VIEW, *ALL], kind="odp")
    world.directory()
    held = world.document.held()
    assert held is not None
    assert not held.view
    world.data(2, RECORD)
    assert world.document.text is not None
    assert told[-1] is world.document.text
    assert world.document.text.whole
    held = world.document.held()
    assert held is not None
    assert held.view


def test_a_view_that_came_before_anybody_wanted_it_is_taken(world: World) -> None:
    """As for a preview, which waits for the head before it is known who is to have the parts."""
    kept: list[tuple[m.Package, list[Component]]] = []
    world.own.on_package = lambda *package: kept.append(package)
    world.package([VIEW, *ALL], kind="odp")
    world.data(2, RECORD)
    world.document.announced(*kept[0])
    world.directory()
    assert world.document.text is not None
    assert world.document.text.whole


def coded(world: World, form: bytes, *, low: bytes = b"") -> None:
    """All of the document as one picture's exact form, behind a coarse version."""
    world.package([Slice(Kind.IMAGE, [0, START], [1, 1])])
    world.directory()
    levels = [Level("original", len(low), len(low) + len(form), "")]
    if low:
        levels.insert(0, Level("low", 0, len(low), "image/webp"))
        world.arriving.levels(m.Levels(2, levels[:1], 0))
        world.data(2, low, last=False)
    world.arriving.levels(m.Levels(2, levels, len(low) + len(form), abilities.EXACT))
    world.data(2, form)


@pytest.mark.parametrize("low", [b"", b"coarse"])
def test_an_exact_form_is_undone_into_the_file(tmp_path: Path, low: bytes) -> None:
    async def main() -> None:
        world = World(tmp_path)
        coded(world, zlib.compress(DECK[:START]), low=low)
        assert not world.document.present(DIRECTORY.entries[0].name)
        assert [world.document.low(one.name) for one in DIRECTORY.entries].count(low) == bool(low)
        world.data(4, hashlib.sha256(DECK).digest())
        await until(lambda: world.document.complete)
        assert world.document.path.read_bytes() == DECK
        assert world.document.exact

    run(main())


def test_a_form_that_can_not_be_undone_is_asked_for_as_it_is(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path)
        coded(world, b"what other tools have made")
        await until(lambda: world.losses)
        assert not world.document.exact
        assert not world.document.failure
        assert world.document.held() is not None
        world.ask(9, Takes.PACKAGE)
        slices = [Slice(Kind.TEXT, [0, START], [1, 1])]
        world.package(slices, goes_on=True, first=10)
        world.arriving.head(m.Head(9, 200, b""), [])
        world.data(10, DECK[:START])
        world.data(12, hashlib.sha256(DECK).digest())
        await until(lambda: world.document.complete)
        assert world.document.path.read_bytes() == DECK

    run(main())


def test_a_form_larger_than_its_bytes_ends_the_document(world: World) -> None:
    coded(world, bytes(START + 1))
    assert world.document.failure == BROKEN


def test_a_document_that_is_closed_undoes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(tmp_path)
        coded(world, zlib.compress(DECK[:START]))
        world.document.close()
        world.document.file.close()
        await asyncio.sleep(0)
        assert not world.document.received > len(DIRECTORY.raw)

    run(main())

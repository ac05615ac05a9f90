"""Documents in parts beside pages on a modem, in virtual time: one tree orders both."""

from __future__ import annotations

import asyncio
import hashlib
import io
import random
import zipfile
from collections.abc import Iterable

from bench.origins.synthetic import File, Shelf, SyntheticPage, page
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.documents.incoming_document import IncomingDocument
from policies.api import (
    Command,
    DocumentOpened,
    Event,
    Fetch,
    Kind,
    Policy,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    SetTimer,
    TimerExpired,
)
from policies.builtin.default import Default
from policies.builtin.equal import Equal
from policies.builtin.text_first import TextFirst
from remote_proxy.jobs.services import Services
from tests.office.styled_deck import styled_deck
from tests.office_files import LARGE
from tests.watched import until
from transcoders.make.registry import Transcoders
from transcoders.make.thumbnail import thumbnail
from transcoders.picture import Unfit

MODEM = LinkModel(rate_up=4_200, rate_down=7_000, delay=0.05)
QUICK = LinkModel(rate_up=20_000, rate_down=200_000, delay=0.05)
URL = "http://two.test/large.pptx"
STYLED_URL = "http://two.test/styled.odp"
BESIDE = page("http://one.test/", text=20_000, large=150_000)


class AtOnce(Transcoders):
    """Coarse versions of pictures in documents, on the loop; no others are made."""

    async def thumbnail(self, data: bytes, **_: object) -> bytes | None:
        try:
            return thumbnail(data, max_pixels=1 << 24)
        except Unfit:
            return None

    async def low(self, *_: object, **__: object) -> None:
        return None

    async def finish(self, *_: object, **__: object) -> None:
        return None

    async def exact(self, *_: object, **__: object) -> None:
        return None


def wordy() -> bytes:
    """The deck, with 18 KB of words on each slide."""
    chance, out = random.Random(1), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(LARGE)) as before, zipfile.ZipFile(out, "w") as after:
        for entry in before.infolist():
            words = chance.randbytes(18_000).hex().encode() + b"</a:t>"
            after.writestr(entry, before.read(entry).replace(b"</a:t>", words))
    return out.getvalue()


def shelf(data: bytes) -> Shelf:
    deck = SyntheticPage(URL, {URL: File("application/octet-stream", data)})
    return Shelf([BESIDE, deck])


async def texts_of(pair: Pair) -> tuple[float, IncomingDocument]:
    """When all pages of the deck can be read, seconds from now."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    _, deck = await pair.local.packages.open(URL)
    assert isinstance(deck, IncomingDocument)
    names = [name for one in deck.outline.pages for name in one.entries]
    await until(lambda: all(map(deck.present, names)), seconds=600)
    return loop.time() - began, deck


async def beside_a_page(policy: Policy) -> float:
    """The same, while a page with pictures is loading (HATS, 4.1.1, figure 5)."""
    services = Services(shelf(wordy()), AtOnce(jpegtran=None))
    async with memory_pair(MODEM, services, [policy]) as pair:
        await pair.load(BESIDE.url)
        seconds, _ = await texts_of(pair)
        return seconds


def test_text_first_halves_the_time_to_a_decks_text_beside_a_page() -> None:
    shared = run(beside_a_page(Equal()))
    first = run(beside_a_page(TextFirst()))
    assert first < 0.55 * shared


async def alone() -> dict[str, float]:
    loop = asyncio.get_running_loop()
    services = Services(shelf(LARGE), AtOnce(jpegtran=None))
    async with memory_pair(MODEM, services, [Default()]) as pair:
        await asyncio.sleep(3.0)
        began, before = loop.time(), pair.tap.received
        text, deck = await texts_of(pair)
        await until(lambda: deck.complete or bool(deck.failure), seconds=600)
        return {
            "text": text,
            "complete": loop.time() - began,
            "overhead": (pair.tap.received - before) / len(LARGE) - 1,
        }


def test_a_deck_is_readable_at_once_and_complete_as_soon_as_a_plain_file() -> None:
    found = run(alone())
    plain = len(LARGE) / MODEM.rate_down + 4 * MODEM.delay
    assert found["text"] < 2.0
    assert found["complete"] < 1.02 * plain
    assert 0 < found["overhead"] < 0.01


STYLED = styled_deck(60, noise=300_000)


def styled_shelf() -> Shelf:
    deck = SyntheticPage(STYLED_URL, {STYLED_URL: File("application/octet-stream", STYLED)})
    return Shelf([deck])


async def viewed() -> dict[str, float]:
    """When what of a presentation with all its text in one entry can be read, seconds."""
    loop = asyncio.get_running_loop()
    services = Services(styled_shelf(), AtOnce(jpegtran=None))
    async with memory_pair(MODEM, services, [Default()]) as pair:
        await asyncio.sleep(3.0)
        began = loop.time()
        _, deck = await pair.local.packages.open(STYLED_URL)
        assert isinstance(deck, IncomingDocument)
        found = {}
        await until(lambda: deck.text is not None and deck.text.pages > 0, seconds=60)
        found["first"] = loop.time() - began
        await until(lambda: deck.text is not None and deck.text.whole, seconds=60)
        found["text"] = loop.time() - began
        assert not deck.present("content.xml")
        await until(lambda: deck.complete or bool(deck.failure), seconds=600)
        assert deck.path.read_bytes() == STYLED
        found["complete"] = loop.time() - began
        return found


def test_a_view_makes_a_presentation_in_one_entry_readable_at_once() -> None:
    found = run(viewed())
    assert found["first"] < 1.0
    assert found["text"] < 2.0
    assert found["complete"] < 1.03 * (len(STYLED) / MODEM.rate_down + 4 * MODEM.delay)


class Stops:
    """Pictures stop at their low level; after a while all of them are fetched."""

    name = "stops"
    after = 120.0

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetPlan((Rule(kind=Kind.IMAGE, level="low"),))
        elif isinstance(event, DocumentOpened):
            yield SetTimer("fetch them", after=self.after)
        elif isinstance(event, TimerExpired):
            images = [one for one in view.components.values() if one.kind is Kind.IMAGE]
            yield from (Fetch(one.id) for one in images)


async def stopped_deck() -> tuple[IncomingDocument, int, int]:
    """The deck, and the bytes that crossed: while its pictures were stopped, and in all."""
    services = Services(shelf(LARGE), AtOnce(jpegtran=None))
    async with memory_pair(QUICK, services, [Default(), Stops()]) as pair:
        _, deck = await texts_of(pair)
        await asyncio.sleep(Stops.after - 30)
        before = pair.tap.received
        await asyncio.sleep(20)
        assert pair.tap.received - before < 2_000, "the link rests"
        assert not deck.complete
        await until(lambda: deck.complete or bool(deck.failure), seconds=600)
        return deck, before, pair.tap.received


def test_pictures_of_a_deck_stop_at_the_level_of_a_plan_and_go_on_when_they_are_fetched() -> None:
    deck, stopped, whole = run(stopped_deck())
    assert deck.complete and not deck.failure
    assert deck.sha256 == hashlib.sha256(LARGE).digest()
    assert stopped < whole - 5_000, "most of it is a film, which no plan stopped"
    assert whole < 1.1 * len(LARGE) + 20_000, "no byte of it twice"

"""Measures what applications get of a slow link in virtual time, by the real engines."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import pytest

from bench.origins.synthetic import File, Shelf, SyntheticPage, page
from bench.pairs.pair import CONTROL, Pair, memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.http.model import Request
from policies.api import (
    ROOT,
    Command,
    Event,
    Policy,
    SessionOpened,
    SessionView,
    SetScheduler,
    SetWeight,
)
from policies.builtin.background import UNASKED, Background
from remote_proxy.jobs.services import Services
from tests.end_to_end.test_packages_virtual import AtOnce
from tests.office_files import LARGE
from wire.messages import UNATTRIBUTED

LINK = LinkModel(rate_up=10_000, rate_down=20_000, delay=0.05)
PAGE = page("http://one.test/", text=2_000, large=2_000_000)
DECK_URL = "http://two.test/large.pptx"
DISC_URL = "http://three.test/disc.iso"
DISC = random.Random(1).randbytes(3_000_000)


class Shares:
    """Weighs applications once, and nothing else."""

    name = "shares"

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetScheduler(ROOT, "wf2q_plus")
            for application, weight in self._weights.items():
                yield SetWeight((application,), weight)


def shelf() -> Shelf:
    deck = SyntheticPage(DECK_URL, {DECK_URL: File("application/octet-stream", LARGE)})
    disc = SyntheticPage(DISC_URL, {DISC_URL: File("application/octet-stream", DISC)})
    return Shelf([PAGE, deck, disc])


@asynccontextmanager
async def proxies(policy: Policy) -> AsyncIterator[Pair]:
    """Both proxies on a link that has been measured."""
    services = Services(shelf(), AtOnce(jpegtran=None))
    async with memory_pair(LINK, services, [policy]) as pair:
        await asyncio.sleep(3.0)
        yield pair


async def deck(pair: Pair) -> IncomingDocument:
    """Open the deck as the command does that shows it in an office program."""
    _, opened = await pair.local.packages.open(DECK_URL)
    assert isinstance(opened, IncomingDocument)
    return opened


@asynccontextmanager
async def downloading(pair: Pair) -> AsyncIterator[None]:
    """Fetch a file as curl does, while the block lasts."""
    response = await pair.local.core.handle(Request("GET", DISC_URL, [("accept", "*/*")]))
    assert response.status == 200
    assert not isinstance(response.body, bytes)
    body = response.body

    async def read() -> None:
        async for _ in body:
            pass

    reading = asyncio.create_task(read())
    try:
        yield
    finally:
        assert not reading.done()  # it had something to send all the time
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def arriving(pair: Pair, *, seconds: float) -> Mapping[int, float]:
    """Each document's part of all bytes that come in the next seconds, 0 to 1."""
    await asyncio.sleep(2.0)  # what was sent before is here
    begin = len(pair.tap.arrivals)
    await asyncio.sleep(seconds)
    counts: Counter[int] = Counter()
    for one in pair.tap.arrivals[begin:]:
        if one.component != CONTROL:
            counts[pair.witness.document_of.get(one.component, UNATTRIBUTED)] += one.size
    return {document: count / counts.total() for document, count in counts.items()}


async def page_and_deck(weights: Mapping[str, float]) -> tuple[float, float]:
    async with proxies(Shares(weights)) as pair:
        page_id = await pair.load(PAGE.url)
        opened = await deck(pair)
        found = await arriving(pair, seconds=30.0)
        assert not opened.complete
        assert pair.witness.when(page_id) is None
        return found[page_id], found[opened.document]


@pytest.mark.parametrize("office", [0.2, 0.5, 0.8])
def test_a_page_and_a_deck_get_what_a_policy_gives_their_applications(office: float) -> None:
    page_share, deck_share = run(page_and_deck({"browser": 1 - office, "office": office}))
    assert page_share == pytest.approx(1 - office, abs=0.02)
    assert deck_share == pytest.approx(office, abs=0.02)


async def page_and_download(policy: Policy) -> tuple[float, float]:
    async with proxies(policy) as pair:
        page_id = await pair.load(PAGE.url)
        async with downloading(pair):
            found = await arriving(pair, seconds=30.0)
        assert pair.witness.when(page_id) is None
        return found[page_id], found[UNATTRIBUTED]


@pytest.mark.parametrize(
    ("policy", "share"),
    [(Shares({"browser": 3.0, "other": 1.0}), 0.25), (Background(), UNASKED / (1 + UNASKED))],
)
def test_a_download_takes_no_more_than_its_share_from_a_page(policy: Policy, share: float) -> None:
    page_share, download_share = run(page_and_download(policy))
    assert download_share == pytest.approx(share, abs=0.02)
    assert page_share == pytest.approx(1 - share, abs=0.02)


async def download_alone() -> float:
    async with proxies(Background()) as pair, downloading(pair):
        before = pair.tap.received
        await asyncio.sleep(20.0)
        return (pair.tap.received - before) / (20.0 * LINK.rate_down)


def test_a_download_alone_has_the_whole_link() -> None:
    assert run(download_alone()) > 0.9

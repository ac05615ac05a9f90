"""The pair: both proxies over an emulated link, whole pages, the same every time."""

import asyncio

import pytest

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage, page, prepared, text_of
from bench.pairs.pair import CONTROL, FrameArrival, memory_pair, tcp_pair
from emulation.lines.profiles import Profile
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from policies.api import Policy
from policies.builtin.text_first import TextFirst
from remote_proxy.jobs.services import Services
from transport.link.interface import LinkError

MODEL = LinkModel(rate_up=16_000, rate_down=48_000, delay=0.05)
PAGE = page("http://one.test/", text=20_000, large=120_000, small=10_000)
OTHER = page("http://two.test/", text=60_000, large=40_000, seed=2)


@pytest.fixture(scope="module")
def made() -> Prepared:
    return prepared([PAGE, OTHER])


async def _load(
    made: Prepared, pages: list[SyntheticPage], policies: list[Policy]
) -> tuple[list[FrameArrival], list[set[int]], list[dict[str, float]]]:
    """Frames, each page's components, when each page had which level."""
    async with memory_pair(MODEL, Services(Shelf(pages), made), policies) as pair:
        documents = await asyncio.gather(*(pair.load(page.url) for page in pages))
        await pair.complete(*documents)
        levels = [
            {name: pair.witness.when(document, name) or -1.0 for name in ("low", "original")}
            for document in documents
        ]
        own = [set(pair.witness.components(document)) for document in documents]
        return pair.tap.arrivals, own, levels


def test_a_page_of_given_size_arrives_whole_with_its_pictures(made: Prepared) -> None:
    arrivals, (own,), (levels,) = run(_load(made, [PAGE], []))
    assert 140_000 < PAGE.size < 160_000
    assert len(own) == len(PAGE.files)
    assert {one.component for one in arrivals} - {CONTROL} == own
    assert 0.0 < levels["low"] < levels["original"]


def test_pictures_come_as_a_session_asks_for_them(made: Prepared) -> None:
    """Devices take sketches of what is in an <img>."""

    async def load() -> list[bool]:
        async with memory_pair(MODEL, Services(Shelf([PAGE]), made), []) as pair:
            document = await pair.load(PAGE.url)
            await pair.complete(document)
            components = pair.local.components.of(document)
            return [level.sketch for one in components for level in one.levels]

    sketches = run(load())
    assert 0 < sketches.count(True) < len(sketches) / 3


def test_every_run_is_the_same(made: Prepared) -> None:
    first, second = (run(_load(made, [PAGE, OTHER], []))[0] for _ in range(2))
    assert first == second
    assert len(first) > 300


def test_with_text_first_no_picture_moves_before_all_text_is_here(made: Prepared) -> None:
    arrivals, own, _ = run(_load(made, [PAGE, OTHER], [TextFirst()]))
    texts = {min(components) for components in own}
    order = [one.component in texts for one in arrivals if one.component != CONTROL]
    assert order == sorted(order, reverse=True)
    assert order.count(True) > 10


def test_text_has_the_size_asked_for_once_it_is_coded() -> None:
    raw = text_of(30_000, seed=9)
    document = page("http://text.test/", text=raw, seed=9)

    async def carried() -> int:
        shelf = Services(Shelf([document]), Prepared({}))
        async with memory_pair(MODEL, shelf, []) as pair:
            await pair.complete(await pair.load(document.url))
            return sum(one.size for one in pair.tap.arrivals if one.component != CONTROL)

    assert run(carried()) == pytest.approx(30_000, rel=0.02)
    assert raw > 60_000


def test_a_page_that_is_not_there_is_an_error() -> None:
    async def ask() -> None:
        async with memory_pair(MODEL, Services(Shelf([]), Prepared({})), []) as pair:
            await pair.load("http://nowhere.test/")

    with pytest.raises(LinkError, match="404"):
        run(ask())


def test_over_kernel_tcp_it_is_the_same_page(made: Prepared) -> None:
    async def load() -> tuple[int, int]:
        link = Profile("quick", "", 5_000_000, 5_000_000, 0.0, 65_536)
        async with tcp_pair(link, Services(Shelf([PAGE]), made), []) as pair:
            document = await pair.load(PAGE.url)
            await pair.complete(document)
            return len(pair.witness.components(document)), pair.tap.statistics().received

    components, received = asyncio.run(load())
    assert components == len(PAGE.files)
    assert received > 120_000

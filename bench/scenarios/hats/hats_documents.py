"""Shows text first and low fidelity first for documents whose sizes are their own (HATS, 4.1.1).

The documents of figures 5 and 6 have sizes that follow from the paper's results. These are files as
they are: the demonstration's two pages, a portal of 120 pictures, and three presentations. Each
loads over the figures' modem at once with a page of many pictures. The claims are about all that
loads: when the texts of both are here, all pictures of both coarse, and all of both, by policy.
Pictures have the levels that the product's transcoders make. Texts are what `text_first` calls so:
pages and slides, and the style sheets and scripts that hold their display up.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.origins import decks, portal
from bench.origins.decks import opened, present, texts
from bench.origins.synthetic import Prepared, Shelf, SyntheticPage, page_of, prepared
from bench.pairs.pair import Pair, memory_pair
from bench.reports.report import Check
from bench.scenarios.hats.data_overhead import DEMO
from bench.scenarios.hats.hats import MODEM, saving
from emulation.lines.profiles import profile
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from local_proxy.documents.incoming_document import IncomingDocument
from policies.api import Policy
from policies.builtin.equal import Equal
from policies.builtin.low_fidelity_first import LowFidelityFirst
from policies.builtin.text_first import TextFirst
from remote_proxy.jobs.services import Services
from wire.skeleton import Kind

PAGES: Final = ("article", "news", "portal")
DECKS: Final = ("deck.pptx", "deck_pictures.pptx", "deck_pictures.odp")
"""Of tests/data/office."""
_SETTLED: Final = 3.0
"""Seconds until the two proxies know each other and the link."""
_LOOK: Final = 0.05
_PICTURES: Final = ("image/jpeg", "image/png")
_TEXTS: Final = (Kind.TEXT, Kind.STYLE, Kind.SCRIPT)
_HEAD: Final = f"{'document':<20}{'beside':<9}{'policy':<19}" + "".join(
    f"{what:>11}" for what in ("itself", "both", "all texts", "all coarse", "whole")
)


@dataclass(frozen=True, slots=True)
class DocumentTimes:
    """When what of a document and the page beside it was here. Seconds from the requests."""

    document: str
    beside: str
    policy: str
    own: float
    """The document itself: the page, or its slides."""
    pages: float
    """The same of both, which is what figure 5 measures."""
    texts: float
    """With style sheets and scripts, which `text_first` counts as text."""
    coarse: float
    """With every picture of both, at its lowest level at least."""
    whole: float

    def as_json(self) -> dict[str, Any]:
        """A row of the report."""
        return {
            "document": self.document,
            "beside": self.beside,
            "policy": self.policy,
            "own_s": round(self.own, 2),
            "pages_s": round(self.pages, 2),
            "texts_s": round(self.texts, 2),
            "coarse_s": round(self.coarse, 2),
            "whole_s": round(self.whole, 2),
        }

    def line(self) -> str:
        """A row of the table."""
        seconds = (self.own, self.pages, self.texts, self.coarse, self.whole)
        times = "".join(f"{at:>9.1f} s" for at in seconds)
        return f"{self.document:<20}{self.beside:<9}{self.policy:<19}{times}"


def policies() -> list[Policy]:
    """Without a scheduler of the paper's first; then each of them."""
    return [Equal(), TextFirst(), LowFidelityFirst(together=True)]


def run(*, pages: Sequence[str] = PAGES, presentations: Sequence[str] = DECKS) -> dict[str, Any]:
    """Each document with each policy. `pages`, `presentations`: names of those above."""
    known = {name: _page(name) for name in dict.fromkeys((*pages, "article", "news"))}
    shown = [known[name] for name in pages]
    shown += [
        decks.page_of(f"http://decks.test/{name}", (decks.SMALL.parent / name).read_bytes())
        for name in presentations
    ]
    pictures = prepared(list(known.values()), kinds=_PICTURES)
    found: list[DocumentTimes] = []
    print(_HEAD)
    for name, one in zip((*pages, *presentations), shown, strict=True):
        beside = "article" if name == "news" else "news"
        for policy in policies():
            times = run_virtually(_times(one, known[beside], pictures, policy))
            found.append(DocumentTimes(name, beside, policy.name, *times))
            print(found[-1].line())
    return {
        "runs": [one.as_json() for one in found],
        "checks": checks_of(found),
        "notes": [
            "over the modem, at once with the page beside it; with equal, a page comes in "
            "its own order, so that a script at its end comes behind its pictures",
            _HEAD,
            *(one.line() for one in found),
        ],
    }


def checks_of(found: Sequence[DocumentTimes]) -> dict[str, Check]:
    """The claims for each document, against equal shares."""
    equal, text, low = (policy.name for policy in policies())
    checks = {}
    at = {(one.document, one.policy): one for one in found}
    for name in dict.fromkeys(one.document for one in found):
        before, first, coarse = (at[name, policy] for policy in (equal, text, low))
        for said, policy, sooner in (
            ("both documents themselves", text, saving(before.pages, first.pages)),
            ("all texts", text, saving(before.texts, first.texts)),
            ("all pictures coarse", low, saving(before.coarse, coarse.coarse)),
        ):
            checks[f"{name}: {said} with {policy}"] = Check(
                sooner, f"% sooner than with {equal}", "> 0", sooner > 0
            )
    return checks


def _page(name: str) -> SyntheticPage:
    url = f"http://{name}.test/"
    if name != "portal":
        return page_of(DEMO / name, url)
    with tempfile.TemporaryDirectory() as folder:
        return page_of(portal.make(Path(folder)), url)


async def _times(
    one: SyntheticPage, beside: SyntheticPage, pictures: Prepared, policy: Policy
) -> tuple[float, ...]:
    """As `DocumentTimes` has them."""
    link, loop = profile(MODEM), asyncio.get_running_loop()
    model = LinkModel(
        rate_up=link.rate_up, rate_down=link.rate_down, delay=link.delay, queue=link.queue
    )
    async with memory_pair(model, Services(Shelf([one, beside]), pictures), [policy]) as pair:
        await asyncio.sleep(_SETTLED)
        began = loop.time()
        of_document = _of_deck if len(one.files) == 1 else _of_page
        first, second = await asyncio.gather(of_document(pair, one.url), _of_page(pair, beside.url))
        both = [max(times) - began for times in zip(first, second, strict=True)]
        return first[0] - began, *both


async def _of_page(pair: Pair, url: str) -> tuple[float, ...]:
    document = await pair.load(url)
    await pair.complete(document)
    witness = pair.witness
    text = [
        witness.reached[one, "original"]
        for one in witness.components(document)
        if one == document or witness.parts[one].kind in _TEXTS
    ]
    coarse, whole = witness.when(document, "low"), witness.when(document)
    assert coarse is not None and whole is not None
    return witness.reached[document, "original"], max(text), coarse, whole


async def _of_deck(pair: Pair, url: str) -> tuple[float, ...]:
    loop = asyncio.get_running_loop()
    found = await opened(pair, url)
    await present(found, texts(found))
    texts_at = loop.time()
    while not _coarse(found):  # noqa: ASYNC110  # what is coarse is no entry to wait for
        await asyncio.sleep(_LOOK)
    coarse_at = loop.time()
    while not found.complete:
        if found.failure:
            raise OSError(found.failure)
        await asyncio.sleep(_LOOK)
    return texts_at, texts_at, coarse_at, loop.time()


def _coarse(found: IncomingDocument) -> bool:
    if found.failure:
        raise OSError(found.failure)
    entries = [one.entry for one in found.outline.media]
    return all(found.present(one) or found.low(one) is not None for one in entries)

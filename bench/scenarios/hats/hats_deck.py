"""Text of a presentation beside a page, in parts of its own file (HATS, 4.1.1, figure 5).

As hats-text-first, but the document is what the paper's was: a presentation. It crosses the link
in parts, and its text is there when all that its slides need can be read. Both are asked for at
once, over a link that stands already. Beside it what order alone would save: not half, since the
page's text goes before pictures too, which is much where a deck has little text.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

from bench.origins import synthetic
from bench.origins.decks import deck, opened, page_of, present, texts
from bench.origins.synthetic import Shelf, SyntheticPage, prepared
from bench.pairs.pair import CONTROL, memory_pair
from bench.reports.report import Check
from bench.scenarios.hats.hats import MODEM, saving
from bench.scenarios.hats.hats_text_first import DOCUMENT, DOCUMENT_TEXT, GOAL, PAGE, PAPER, SIZES
from emulation.lines.profiles import profile
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from policies.api import Policy
from policies.builtin.equal import Equal
from policies.builtin.text_first import TextFirst
from remote_proxy.jobs.services import Services

_PAGE_HTML: Final = 10_000
"""Bytes at the origin."""
_SETTLED: Final = 3.0
"""Seconds until the two proxies know each other and the link."""


async def _texts(
    beside: SyntheticPage, document: SyntheticPage, services: Services, policy: Policy
) -> tuple[float, int, int]:
    """Seconds until all text of the document is here; bytes of it, and of the page's."""
    link, loop = profile(MODEM), asyncio.get_running_loop()
    model = LinkModel(
        rate_up=link.rate_up, rate_down=link.rate_down, delay=link.delay, queue=link.queue
    )
    async with memory_pair(model, services, [policy]) as pair:
        await asyncio.sleep(_SETTLED)
        began, seen = loop.time(), len(pair.tap.arrivals)
        loading = asyncio.create_task(pair.load(beside.url))
        found = await opened(pair, document.url)
        await present(found, texts(found))
        took = loop.time() - began
        page_id = await loading
        data = [one for one in pair.tap.arrivals[seen:] if one.component != CONTROL]
        of_page = {page_id, *pair.witness.components(page_id)}
        html = sum(one.size for one in data if one.component == page_id)
        own = sum(
            one.size for one in data if one.component not in of_page and one.at <= began + took
        )
        return took, own, html


def run(*, page: Path | None = None, scale: float = 1.0) -> dict[str, Any]:
    """Both policies. `page`: another presentation; else one of the paper's sizes."""
    beside = synthetic.page(
        "http://page.test/", text=_PAGE_HTML, large=int(PAGE * scale) - _PAGE_HTML
    )
    text = int(DOCUMENT_TEXT * scale)
    data = (
        page.read_bytes()
        if page is not None
        else deck(text=text, pictures=int(DOCUMENT * scale) - text)
    )
    document = page_of("http://document.test/deck.pptx", data)
    services = Services(Shelf([beside, document]), prepared([beside]))
    runs: list[dict[str, Any]] = []
    for name, policy in (("equal", Equal()), ("text_first", TextFirst())):
        took, own, html = run_virtually(_texts(beside, document, services, policy))
        runs.append({"policy": name, "text_s": round(took, 2), "text": own, "page_text": html})
    before, after = runs[0]["text_s"], runs[1]["text_s"]
    sooner = saving(before, after)
    own, html = runs[1]["text"], runs[1]["page_text"]
    most = saving(2 * own, own + html)
    print(f"{'text of the deck':<24}{'paper':>10}{'ours':>10}{'ratio':>8}")
    for row, paper in zip(runs, PAPER, strict=True):
        ours = row["text_s"]
        print(f"{row['policy']:<24}{paper:>8.0f} s{ours:>8.1f} s{ours / paper:>8.2f}")
    theirs = saving(*PAPER)
    print(f"{'sooner':<24}{theirs:>8.1f} %{sooner:>8.1f} %{sooner / theirs:>8.2f}")
    print(
        f"of {own} bytes of text, {html} of the page's besides, no order saves more than {most} %"
    )
    return {
        "runs": runs,
        "notes": [SIZES] if page is None else [],
        "checks": {
            "the deck's text with text_first": Check(
                sooner, "% sooner than with equal", f">= {GOAL:g}", sooner >= GOAL
            )
        },
    }

"""Text of every document before any picture of any (HATS, 4.1.1, figure 5).

An image-rich page and a document with long text load at once over a modem. Without adaptation
(`equal`) the page's pictures take half of the link while the text of the other is on its way;
with `text_first` they wait.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench.origins.synthetic import SyntheticPage, page, prepared, text_of
from bench.reports.report import Check
from bench.scenarios.hats.hats import HatsRun, charts, load, saving, used
from bench.scenarios.hats.hats import plot as draw
from policies.builtin.equal import Equal
from policies.builtin.text_first import TextFirst

PAGE: Final = 668_000
"""Bytes of the image-rich page."""
DOCUMENT: Final = 1_050_000
"""Bytes of the document with long text."""
DOCUMENT_TEXT: Final = 465_000
"""Bytes of it that are text: what half of 56 kbit/s carries in the paper's 133 s."""
_PAGE_HTML: Final = 10_000
"""Bytes at the origin."""
PAPER: Final = (133.0, 68.0)
"""Seconds until the document's text is complete: without, and with TextFirst."""
GOAL: Final = 49.0
"""Percent sooner."""

SIZES: Final = (
    "the document's text has the size that the paper's result without adaptation implies: what "
    "half of the link carries in 133 s; for documents of their own sizes see hats-documents"
)
"""Said beside the figures."""


def pages(*, scale: float = 1.0) -> list[SyntheticPage]:
    """The page, and the document; `scale` times as large."""
    html, text = int(_PAGE_HTML * scale), int(DOCUMENT_TEXT * scale)
    return [
        page("http://page.test/", text=html, large=int(PAGE * scale) - html),
        page(
            "http://document.test/",
            text=text_of(text, seed=2),
            large=int(DOCUMENT * scale) - text,
            seed=2,
        ),
    ]


def run(*, plot: Path | None = None, scale: float = 1.0) -> dict[str, Any]:
    """Both policies; `plot`: where to draw figure 5."""
    both = pages(scale=scale)
    pictures = prepared(both)
    loads = [
        load(both, pictures, [Equal()], name="equal"),
        load(both, pictures, [TextFirst()], name="text_first"),
    ]
    before, after = (one.documents[1].text for one in loads)
    sooner = saving(before, after)
    print(_table(loads, sooner))
    if plot is not None:
        draw(loads, plot, names=("page", "document"), marks={"text": "text"})
    return {
        "runs": [one.figures() for one in loads],
        "exhibits": charts(loads, names=("page", "document"), marks={"text": "text"}),
        "checks": {
            "the document's text with text_first": Check(
                sooner, "% sooner than with equal", f">= {GOAL:g}", sooner >= GOAL
            ),
            **used(loads),
        },
        "notes": [SIZES],
    }


def _table(loads: list[HatsRun], sooner: float) -> str:
    rows = [f"{'text of the document':<24}{'paper':>10}{'ours':>10}{'ratio':>8}"]
    for one, paper in zip(loads, PAPER, strict=True):
        ours = one.documents[1].text
        rows.append(f"{one.policy:<24}{paper:>8.0f} s{ours:>8.1f} s{ours / paper:>8.2f}")
    paper = saving(*PAPER)
    rows.append(f"{'sooner':<24}{paper:>8.1f} %{sooner:>8.1f} %{sooner / paper:>8.2f}")
    return "\n".join(rows)

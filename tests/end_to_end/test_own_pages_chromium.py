"""Our own pages in Chromium, as anybody may see them: axe finds no barrier, nothing overflows."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from bench.browsers.cdp import Tab, find_chromium, launch
from local_proxy.kept.store import LocalStore
from tests.end_to_end.pair import Pair, all_three, run
from tests.end_to_end.test_chromium import becomes, shows
from tests.end_to_end.test_page_load import PHOTO

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

PAGES = ("/", "/setup")
TITLE = "A headline of the sort that newspapers have, ‹with› more words than a phone is wide"
LONG = "a-picture-whose-name-is-as-long-as-those-of-content-management-systems-"
PICTURES = 14
PAGE = f"<!doctype html><title>{TITLE}</title>words" + "".join(
    f"<img src=/{LONG}{number}.jpg>" for number in range(PICTURES)
)
WIDTHS = (390, 1280)
"""CSS pixels: a phone's, a laptop's."""
FOUND = """axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(
  found.violations.map(({ id, nodes }) => [id, nodes.map(({ target, failureSummary }) =>
    target.join(" ") + ": " + failureSummary)])))"""


def axe() -> str:
    """Deque's rules for accessible pages (WCAG 2.1 A and AA, best practices)."""
    return resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")


async def violations(tab: Tab) -> list[tuple[str, list[str]]]:
    await tab.evaluate(axe() + ";0")
    return [(name, nodes) for name, nodes in json.loads(await tab.evaluate(FOUND))]


async def show(both: Pair, tab: Tab, path: str, *, width: int, scheme: str) -> None:
    await tab.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    await tab.viewport(width=width, height=900)
    await tab.call("Page.navigate", url=f"http://sluice.local{path}")
    await becomes(tab, "document.readyState === 'complete'")
    if path == "/":
        await shows(tab, 'data-site="127.0.0.1"', seconds=60.0)
        await becomes(tab, "document.querySelector('#saved-sites .amount') !== null")
        await becomes(tab, f"document.querySelector('#documents .name')?.textContent === '{TITLE}'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_from_reading_them(tmp_path: Path, scheme: str) -> None:
    async def go() -> None:
        async with all_three(store=LocalStore(tmp_path)) as (origin, both):
            origin.serve("/long", PAGE.encode(), "text/html; charset=utf-8")
            for number in range(PICTURES):
                origin.serve(f"/{LONG}{number}.jpg", PHOTO.read_bytes(), "image/jpeg")
            async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
                await (await browser.new_tab()).call("Page.navigate", url=origin.base + "/long")
                tab = await browser.new_tab()
                for path in PAGES:
                    for width in WIDTHS:
                        await show(both, tab, path, width=width, scheme=scheme)
                        wide = await tab.evaluate("document.documentElement.scrollWidth")
                        assert wide <= width, f"{path} is {wide} wide at {width}"
                        assert await violations(tab) == [], f"{path} at {width}, {scheme}"

    run(go())

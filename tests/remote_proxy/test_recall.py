"""The import drivers find on whole pages what Chromium was seen to request."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from remote_proxy.import_drivers import BrowserTraits, CssImport, Found, HtmlImport, Names
from wire.skeleton import Kind, Use

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data" / "remote_proxy"
PAGES = {"portal": DATA, "news": TESTS.parent / "demo" / "site"}
"""Where each page's folder is. Who changes one records anew what Chromium requests of it."""
RECORDED = json.loads((DATA / "chromium.json").read_text())
SITE = "http://site.test"


class Walk:
    """Follows a page into its style sheets and frames, as the session does."""

    def __init__(self, page: str) -> None:
        self.found: dict[str, Found] = {}
        self._html(f"{SITE}/{page}/index.html", top_level=True)

    def paths(self, *, lazy: bool) -> set[str]:
        return {
            found.url.removeprefix(SITE)
            for found in self.found.values()
            if found.lazy is lazy and found.kind is not Kind.MEDIA
        }

    def _html(self, url: str, *, top_level: bool) -> None:
        driver = HtmlImport(
            url,
            content_type="text/html",
            browser=BrowserTraits(accept=RECORDED["accept"]),
            top_level=top_level,
        )
        data = self._file(url)
        for at in range(0, len(data), 512):
            self._note(driver.feed(data[at : at + 512]), driver)
        self._note(driver.close(), driver)

    def _css(self, url: str, driver: HtmlImport) -> None:
        sheet = CssImport(url, driver.encoding, names=driver.names, browser=driver.browser)
        self._note(sheet.feed(self._file(url)) + sheet.close(), driver)

    def _note(self, fresh: list[Found], driver: HtmlImport) -> None:
        for found in fresh:
            known = self.found.get(found.url)
            if known is None or not found.lazy:
                self.found[found.url] = found
            if known is not None:
                continue
            if found.kind is Kind.STYLE:
                self._css(found.url, driver)
            elif found.use is Use.DOCUMENT:
                self._html(found.url, top_level=False)

    @staticmethod
    def _file(url: str) -> bytes:
        path = unquote(urlsplit(url).path).lstrip("/")
        return (PAGES[path.partition("/")[0]] / path).read_bytes()


@pytest.mark.parametrize("page", PAGES)
def test_all_that_chromium_requests_is_found(page: str) -> None:
    walk = Walk(page)
    assert set(RECORDED[page]) - walk.paths(lazy=False) - walk.paths(lazy=True) == set()
    asked_late = set(RECORDED[page]) & walk.paths(lazy=True)
    assert asked_late <= {
        "/portal/print.css",
        "/portal/paper.css",
        "/portal/img/near.png",
    }


@pytest.mark.parametrize("page", PAGES)
def test_nothing_else_is_reported_but_as_lazy(page: str) -> None:
    walk = Walk(page)
    assert walk.paths(lazy=False) - set(RECORDED[page]) == set()
    never = {path.rpartition("/")[2] for path in walk.paths(lazy=True) - set(RECORDED[page])}
    assert never <= {
        "absent.png", "missing.png", "hover.png", "printed.png", "hero-small.jpg",
        "unused.woff2", "sans-cyrillic.woff2",
    }  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_the_accept_field_is_the_one_chromium_sent(page: str) -> None:
    walk = Walk(page)
    for path, accept in RECORDED[page].items():
        assert walk.found[SITE + path].accept == accept, path


def test_names_of_the_page_tell_used_rules_from_unused_ones() -> None:
    driver = HtmlImport(SITE)
    driver.feed((DATA / "portal" / "index.html").read_bytes())
    driver.close()
    assert {"html", "body", ".hero", ".card"} <= driver.names.names
    assert isinstance(driver.names, Names) and ".absent" not in driver.names.names

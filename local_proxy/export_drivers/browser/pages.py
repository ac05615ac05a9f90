"""Remembers the pages that browsers have open, or may bring back; finds them by what names them.

- A *key* is the secret of one page's driver. It is in no address, so that no script of the page can
  read it.
- A *name* stands for a page in the addresses of its levels, which its scripts can read. It unlocks
  nothing by itself.
- A *ticket* stands for an address, and is in the tag: a page out of a browser's cache still has its
  tag, and is given a driver by it.

Must not know: HTTP, pictures beyond the time they were served.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterator
from typing import Final

from local_proxy.export_drivers.browser.asker import Asker
from local_proxy.export_drivers.browser.page import BrowserPage, PictureRequest
from local_proxy.export_drivers.browser.standing import WordPatience
from local_proxy.link.components import Component
from local_proxy.requests.waiting_films import WaitingFilms

GRACE: Final = 60.0
"""Seconds for which a final level can be asked again after it was served."""
FORGET: Final = 600.0
"""Seconds for which a left page is remembered: as long as Chromium may bring it back."""
LEFT_PAGES: Final = 64
"""Left pages remembered at most."""


class Pages:
    """The pages of all browsers, left ones included."""

    def __init__(self, *, now: Callable[[], float], secret: bytes) -> None:
        """`now`: seconds, monotonic. `secret`: makes the tickets."""
        self._now = now
        self._secret = secret
        self._word = WordPatience()
        self._by_document: dict[int, BrowserPage] = {}
        self._by_key: dict[str, BrowserPage] = {}
        self._by_name: dict[str, BrowserPage] = {}
        self._by_ticket: dict[str, list[BrowserPage]] = {}

    def __len__(self) -> int:
        return len(self._by_document)

    def __iter__(self) -> Iterator[BrowserPage]:
        return iter(self._by_document.values())

    def open(self, document: int, url: str, *, saves: bool = False) -> BrowserPage:
        """A browser asks for this page: remember what becomes of it. `saves`: its films wait."""
        self._sweep()
        known = self._by_document.get(document)
        if known is not None:
            return known
        page = BrowserPage(
            *(document, url.partition("#")[0]),
            name=_unguessable(),
            key=_unguessable(),
            word=self._word,
        )
        page.films = WaitingFilms() if saves else None
        self._by_document[document] = page
        self._by_key[page.key] = page
        self._by_name[page.name] = page
        self._by_ticket.setdefault(self.ticket(page), []).append(page)
        return page

    def move(self, document: int, url: str) -> BrowserPage:
        """The document is another page now, which has nothing of the one before."""
        known = self._by_document.get(document)
        if known is not None:
            self._drop(known)
        return self.open(document, url)

    def leave(self, document: int) -> None:
        """The page was left; a browser may still bring it back from its back/forward cache."""
        page = self._by_document.get(document)
        if page is not None:
            page.closed_at = self._now()
        self._sweep()

    def of_document(self, document: int) -> BrowserPage | None:
        return self._by_document.get(document)

    def of_key(self, key: str) -> BrowserPage | None:
        return self._by_key.get(key)

    def of_name(self, name: str) -> BrowserPage | None:
        return self._by_name.get(name)

    def same(self, page: BrowserPage) -> BrowserPage | None:
        """The page of this address before this one, if it is remembered."""
        pages = self._by_ticket[self.ticket(page)]
        at = pages.index(page)
        return pages[at - 1] if at else None

    def ticket(self, page: BrowserPage) -> str:
        """The same for the same address, so that a cached page's tag stays good; unguessable."""
        return hmac.new(self._secret, page.url.encode(), "sha256").hexdigest()[:24]

    def claim(self, ticket: str, *, origin: str, certain: bool) -> BrowserPage | None:
        """Give a driver to the newest page of this address that has none; None: to no page.

        Where all have one, their page comes out of a browser's cache, or a script asks that wants
        to read the driver. A browser's word that no script can read the answer (`certain`) tells
        the two apart: then the newest page's driver is replaced, and its key with it. Without that
        word there is none, and the page's pictures do without.
        """
        pages = [page for page in self._by_ticket.get(ticket, []) if page.origin == origin]
        if not pages:
            return None
        page = next((page for page in reversed(pages) if not page.claimed), pages[-1])
        if page.claimed and not certain:
            page.given_up = True
            page.alive.clear()
            return None
        if page.claimed:
            self._renew_key(page)
        page.claimed, page.injected, page.closed_at = True, True, None
        # Who fetches the script runs it. To wait for its first report would be wrong: that may
        # need a connection which pictures that wait for the driver hold.
        page.alive.set()
        return page

    def replaced(
        self,
        page: BrowserPage,
        component: Component,
        *,
        asker: Asker,
        keep: PictureRequest | None,
        stops: bool = False,
    ) -> None:
        """A response whose parts replaced each other has ended. `stops`: with less than there is of
        the picture, so that its driver shows what a reader may want yet."""
        page.replacing -= 1
        final = component.levels[-1]
        if stops:
            page.remember(component, final, asker=asker, keep=keep)
        elif keep is not None and final.end <= component.received:
            page.remember(component, final, asker=asker, keep=keep)
            page.pictures[component.id].served_at = self._now()
        page.changed.set()

    def came(self, page: BrowserPage, component: Component) -> None:
        """A picture for which levels stood in has gone to the browser. Its driver may be asking for
        one of these still."""
        picture = page.pictures.get(component.id)
        if picture is not None and picture.beside:
            picture.served_at = self._now()

    def _renew_key(self, page: BrowserPage) -> None:
        del self._by_key[page.key]
        page.key = _unguessable()
        self._by_key[page.key] = page

    def _sweep(self) -> None:
        """Forget pages left long ago, and pictures whose last level was served long ago."""
        now = self._now()
        left = [page for page in self if page.closed_at is not None]
        left.sort(key=lambda page: page.closed_at or 0.0)
        surplus = max(0, len(left) - LEFT_PAGES)
        for index, page in enumerate(left):
            if index < surplus or now - (page.closed_at or 0.0) > FORGET:
                self._drop(page)
        for page in self:
            for number, picture in list(page.pictures.items()):
                if picture.served_at is not None and now - picture.served_at > GRACE:
                    page.forget(number)

    def _drop(self, page: BrowserPage) -> None:
        page.forget_all()
        del self._by_document[page.document]
        del self._by_key[page.key], self._by_name[page.name]
        ticket = self.ticket(page)
        self._by_ticket[ticket].remove(page)
        if not self._by_ticket[ticket]:
            del self._by_ticket[ticket]


def _unguessable() -> str:
    return secrets.token_hex(12)

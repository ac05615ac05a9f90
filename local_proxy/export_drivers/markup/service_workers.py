"""Knows which sites have a service worker that may answer for the network, by their scripts' texts.

A worker's script is read as it comes, and so is what it takes in by importScripts(): that of a site
which sends messages mostly is one such line. What is not here yet may do anything. A worker that
answers has asked by itself for what it puts away, and says so (`Sec-Fetch-Dest: empty`); what a
browser asks for an <img> has not gone through it, unless its routes let it have that too.

Sources: Service Workers, 4.5 (fetch), 4.4.4 (addRoutes: a race), 6.3.2 (importScripts); Fetch
metadata (W3C), 2.1. Must not know: pages, pictures.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin

from local_proxy.export_drivers.markup.latest import Latest
from local_proxy.http.model import split_url
from local_proxy.link.components import Component

MAX_ORIGINS: Final = 2048
"""Origins remembered of each kind, the latest."""
MAX_EXPECTED: Final = 64
"""Scripts of service workers that are on their way."""
MAX_TEXT: Final = 256 << 10
"""Bytes of a script that is read for what it imports; a longer one is believed to answer."""
MAX_IMPORTS: Final = 32
MAX_URL: Final = 2048
"""What one script may import, and bytes of an address; one that imports more is believed to
answer."""
MAX_READ: Final = 256
"""Scripts that are remembered to answer nothing, the latest."""

_ANSWERS: Final = re.compile(rb"""["'`]fetch["'`]|onfetch|addRoutes|importScripts|\bimport\b""")
"""What one that answers requests has at least one of, what it imports aside."""
_ROUTES: Final = b"addRoutes"
_LITERAL: Final = rb"""(?:"[^"\\\n]*"|'[^'\\\n]*')"""
_IMPORTS: Final = re.compile(
    rb"\bimportScripts\s*+\(\s*+(" + _LITERAL + rb"(?:\s*+,\s*+" + _LITERAL + rb")*)"
    rb"\s*+(?:,\s*+)?\)"
)
"""No space is looked at twice: a hostile script has many."""


@dataclass(slots=True)
class _Coming:
    """A script that is on its way."""

    origins: set[str] = field(default_factory=set)
    """Of the workers that run it."""
    component: int = 0
    """In which it comes."""
    text: bytearray = field(default_factory=bytearray)


class ServiceWorkers:
    """What is known of those of all sites, for one run of a local proxy."""

    def __init__(self) -> None:
        self._workers = Latest(MAX_ORIGINS)
        self._answering = Latest(MAX_ORIGINS)
        """Origins of which a service worker's script that answers requests has come."""
        self._routing = Latest(MAX_ORIGINS)
        self._taking = Latest(MAX_ORIGINS)
        """Origins whose workers have asked for pictures of these."""
        self._paging = Latest(MAX_ORIGINS)
        """And those whose workers have asked for pages."""
        self._coming: OrderedDict[str, _Coming] = OrderedDict()
        """Scripts by their addresses."""
        self._read: OrderedDict[str, list[str]] = OrderedDict()
        """Scripts that answer nothing themselves, and what they import."""

    def answer(self, origin: str) -> bool:
        """Whether it has a worker that may answer what its pages ask."""
        return origin in self._workers

    def may_take(self, origin: str) -> bool:
        """Whether one of its workers may be given the answer to what a browser itself asks for."""
        return origin in self._workers and origin in self._routing

    def take_pictures(self, origin: str) -> bool:
        """Whether one of its workers has asked for a picture from there."""
        return origin in self._workers and origin in self._taking

    def take_pages(self, origin: str) -> bool:
        """Whether one of its workers has asked for a page of it."""
        return origin in self._paging

    def asked_page(self, origin: str) -> None:
        """A worker asks for a page of this origin."""
        self._paging.add(origin)

    def asked_picture(self, origin: str) -> None:
        """No page asks for a picture of this origin, but a worker or a script of it."""
        if origin in self._workers:
            self._taking.add(origin)

    def expect(self, url: str) -> None:
        """A browser asks for the script of a worker. Until it is here it can do all."""
        origin = split_url(url)[0]
        self._workers.add(origin)
        self._await(url, {origin})

    def look(self, component: Component) -> bool:
        """Read what has come of a component. False: it is no worker's script, or a known one's."""
        coming = self._coming.get(component.url)
        if coming is None or component.head is None:
            return False
        if component.head.status == 304 and component.url in self._read:
            self._here(component.url, self._read[component.url])
        elif component.head.status != 200:
            self._answers(component.url)
        else:
            self._read_on(component, coming)
        return True

    def _read_on(self, component: Component, coming: _Coming) -> None:
        if coming.component != component.id:
            coming.component = component.id
            coming.text.clear()
        before = len(coming.text)
        if before < component.trimmed or component.received > MAX_TEXT:
            self._answers(component.url)
            return
        coming.text += component.data[before - component.trimmed :]
        if coming.text.find(_ROUTES, max(0, before - len(_ROUTES))) >= 0:
            for origin in coming.origins:
                self._routing.add(origin)
        if not component.complete:
            return
        text = bytes(coming.text)
        imports = _imported(text, component.url)
        many = len(imports) > MAX_IMPORTS or any(len(url) > MAX_URL for url in imports)
        if many or _ANSWERS.search(_IMPORTS.sub(b"", text)):
            self._answers(component.url)
        else:
            self._here(component.url, imports)

    def _await(self, url: str, origins: set[str]) -> None:
        self._coming.setdefault(url, _Coming()).origins.update(origins)
        self._coming.move_to_end(url)
        if len(self._coming) > MAX_EXPECTED:
            self._answers(next(iter(self._coming)))

    def _answers(self, url: str) -> None:
        """Or it may, for all that is known."""
        for origin in self._coming.pop(url).origins:
            self._answering.add(origin)

    def _here(self, url: str, imports: list[str]) -> None:
        """It answers nothing itself."""
        origins = self._coming.pop(url).origins
        self._read[url] = imports
        self._read.move_to_end(url)
        if len(self._read) > MAX_READ:
            self._read.popitem(last=False)
        for one in self._unread(url):
            self._await(one, origins)
        for origin in origins - {one for waits in self._coming.values() for one in waits.origins}:
            if origin not in self._answering:
                self._workers.discard(origin)

    def _unread(self, url: str) -> list[str]:
        """What it imports, or what that imports, and nobody has read."""
        seen, found, next_ones = {url}, [], list(self._read[url])
        while next_ones:
            one = next_ones.pop()
            if one in seen:
                continue
            seen.add(one)
            if one in self._read:
                next_ones += self._read[one]
            else:
                found.append(one)
        return found


def _imported(script: bytes, url: str) -> list[str]:
    """Addresses of what it takes in."""
    found = []
    for call in _IMPORTS.finditer(script):
        for literal in re.findall(_LITERAL, call[1]):
            try:
                found.append(urljoin(url, literal[1:-1].decode()).partition("#")[0])
            except ValueError:  # no address: it throws, and the worker never runs
                continue
    return found

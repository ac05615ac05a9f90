"""Where there is no Chromium: a small client that loads a page, without showing it.

Fetches the HTML, then style sheets, scripts and pictures in document order over six connections,
as a browser does for one HTTP/1.1 host. It runs no script, so a picture refined from outside its
own response stays as it came. "painted" is when half of a baseline picture's bytes, or all of a
progressive one's first scan, had come; "good" and Speed Index need pixels and stay unknown.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin

import aiohttp
import lxml.html
from PIL import Image, UnidentifiedImageError

from bench.browsers.visual import mean_difference
from bench.origins.endpoint import LinkCount, PageAccess
from emulation.worlds.inside import connector

NOTE: Final = (
    "No Chromium was found, so a scripted client measured: it counts bytes instead of looking at "
    "pixels, and runs no script. Times of pictures are estimates from what had arrived."
)
CONNECTIONS: Final = 6
LIMIT: Final = 400.0
"""Seconds for the whole page."""
_READ: Final = 4096
_AGENT: Final = {"User-Agent": "Mozilla/5.0 (bench; scripted client)"}
_ACCEPT: Final = {
    "image": "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
    "style": "text/css,*/*;q=0.1",
    "script": "*/*",
    "document": "text/html,application/xhtml+xml,*/*;q=0.8",
}


@dataclass(frozen=True, slots=True)
class Resource:
    kind: str
    url: str


@dataclass(frozen=True, slots=True)
class LoadedResource:
    """A response and when its parts came, seconds since navigation."""

    resource: Resource
    body: bytes
    parts: list[tuple[float, int]]
    """When, and how many bytes there were then."""

    @property
    def done(self) -> float:
        return self.parts[-1][0]

    def when(self, size: int) -> float:
        return next(at for at, count in self.parts if count >= min(size, len(self.body)))


def resources_of(page: bytes, base: str) -> list[Resource]:
    """What a page refers to, in document order, each once."""
    if not page.strip():
        return []
    found: dict[str, Resource] = {}
    for element in lxml.html.document_fromstring(page).iter("link", "script", "img"):
        kind, name = {
            "link": ("style", "href"), "script": ("script", "src"), "img": ("image", "src")
        }[str(element.tag)]  # fmt: skip
        link = element.get(name)
        if not link or link.startswith("data:"):
            continue
        if kind == "style" and "stylesheet" not in (element.get("rel") or "").lower().split():
            continue
        url = urljoin(base, link)
        found.setdefault(url, Resource(kind, url))
    return list(found.values())


def first_scan(jpeg: bytes) -> int | None:
    """Bytes up to the end of a progressive JPEG's first scan; None: it is not progressive."""
    if jpeg[:2] != b"\xff\xd8":
        return None
    at, scans, progressive = 2, 0, False
    while (at := jpeg.find(b"\xff", at)) >= 0 and at + 4 <= len(jpeg):
        marker = jpeg[at + 1]
        if marker in (0x00, 0xFF) or 0xD0 <= marker <= 0xD7:
            at += 1 if marker == 0xFF else 2
            continue
        progressive |= marker == 0xC2
        scans += marker == 0xDA
        if scans == 2:
            return at if progressive else None
        at += 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
    return None


def painted(arrival: LoadedResource) -> float:
    """Seconds until a reader would have seen something over most of the picture."""
    return arrival.when(first_scan(arrival.body) or len(arrival.body) // 2)


def same_picture(a: bytes, b: bytes) -> bool:
    """Whether both decode to the same pixels, less than 1/255 apart on average."""
    if a == b:
        return True
    try:
        one, other = (Image.open(io.BytesIO(data)).convert("RGB") for data in (a, b))
    except (UnidentifiedImageError, OSError):
        return False
    return one.size == other.size and mean_difference(one, other) < 1.0


async def load(
    endpoint: PageAccess, reference: PageAccess, page: str, *, peer: str, policy: str
) -> dict[str, Any]:
    """One run. `reference` is a fast way to the originals. Raises OSError, aiohttp.ClientError."""
    endpoint.rewind()
    before = endpoint.statistics()
    arrivals = await fetch_page(endpoint, page)
    after = endpoint.statistics()
    pictures = [arrival for arrival in arrivals if arrival.resource.kind == "image"]
    originals = await _fetch(
        reference, [_rebased(a.resource, endpoint, reference) for a in pictures]
    )
    return run(
        arrivals,
        complete=all(
            same_picture(got.body, original.body)
            for got, original in zip(pictures, originals, strict=True)
        ),
        before=before,
        after=after,
    ) | {"peer": peer, "page": page, "policy": policy}


def run(
    arrivals: list[LoadedResource], *, complete: bool, before: LinkCount, after: LinkCount
) -> dict[str, Any]:
    """The figures of one load; `arrivals` begin with the document."""

    def last(kinds: Iterable[str]) -> float:
        return max(a.done for a in arrivals if a.resource.kind in kinds)

    pictures = [arrival for arrival in arrivals if arrival.resource.kind == "image"]
    end = last(("document", "style", "script", "image"))
    return {
        "text_s": round(last(("document", "style")), 3),
        "painted_s": round(max(map(painted, pictures), default=end), 3),
        "good_s": None,
        "final_s": round(end, 3) if complete else None,
        "load_s": round(end, 3),
        "speed_index_s": None,
        "bytes_down": after.bytes_down - before.bytes_down,
        "bytes_up": after.bytes_up - before.bytes_up,
        "connections": after.connections,
    }


async def fetch_page(
    endpoint: PageAccess, page: str, *, navigates: bool = False, limit: float = LIMIT
) -> list[LoadedResource]:
    """The document and what it refers to, within `limit` seconds. Raises OSError, ClientError.

    `navigates`: it opens a document, as a browser's window does, whose pictures a local proxy may
    refine after their responses.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    async with _session(endpoint, limit) as session:
        document = Resource("document", endpoint.base + page)
        first = await _get(session, document, endpoint, began, navigates=navigates)
        found = resources_of(first.body, document.url)
        rest = await asyncio.gather(
            *(_get(session, r, endpoint, began, referer=document.url) for r in found)
        )
    return [first, *rest]


async def _fetch(endpoint: PageAccess, resources: list[Resource]) -> list[LoadedResource]:
    began = asyncio.get_running_loop().time()
    async with _session(endpoint, LIMIT) as session:
        return list(await asyncio.gather(*(_get(session, r, endpoint, began) for r in resources)))


def _session(endpoint: PageAccess, limit: float) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector(endpoint.host, limit=CONNECTIONS),
        timeout=aiohttp.ClientTimeout(total=limit),
        headers=_AGENT,
    )


async def _get(
    session: aiohttp.ClientSession,
    resource: Resource,
    endpoint: PageAccess,
    began: float,
    *,
    referer: str = "",
    navigates: bool = False,
) -> LoadedResource:
    """Fetch one resource and note when its bytes came; `began` is on the loop's clock."""
    clock = asyncio.get_running_loop().time
    url, headers = resource.url, {"Accept": _ACCEPT[resource.kind]}
    if referer:
        headers["Referer"] = referer
    if navigates:  # as browsers say on http
        headers["Upgrade-Insecure-Requests"] = "1"
    for name, address in endpoint.resolve.items():
        if url.startswith(f"http://{name}/"):
            url, headers["Host"] = url.replace(name, address, 1), name
    body, parts = bytearray(), []
    async with session.get(url, headers=headers, proxy=endpoint.proxy) as response:
        response.raise_for_status()
        async for chunk in response.content.iter_chunked(_READ):
            body += chunk
            parts.append((clock() - began, len(body)))
    parts.append((clock() - began, len(body)))
    return LoadedResource(resource, bytes(body), parts)


def _rebased(resource: Resource, endpoint: PageAccess, reference: PageAccess) -> Resource:
    return Resource(resource.kind, resource.url.replace(endpoint.base, reference.base, 1))

"""The responses by which a picture reaches a browser, coarse or whole: bytes and headers.

Which of them a request gets is choice.py's affair. Must not know: documents, drivers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from local_proxy.export_drivers.browser.level_files import NoFile
from local_proxy.http.model import Response
from local_proxy.http.responses import dispose
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from transcoders.undo.arithmetic import first_step
from wire.fields import Headers, header
from wire.skeleton import Level

END: Final = b"\xff\xd9"
"""JPEG's end marker."""
FIRST: Final = "first"
"""Names the first scans of a picture on this device; no level on the link is called so."""
_SCAN: Final = b"\xff\xda"
"""Begins a scan's header; never in the coded data of one (T.81, B.1.1.5)."""
MAX_SCAN_HEADER: Final = 14
"""Bytes behind that, of four components."""
MAX_AGAIN: Final = 16 << 20
"""Bytes of a picture fetched once more: twice as many as a picture with levels may have."""
BOUNDARY: Final = "sluice-level"
_END: Final = f"\r\n--{BOUNDARY}--\r\n".encode()
_ENTITY: Final = frozenset(("content-type", "content-length", "content-encoding", "accept-ranges"))
_LEAVES: Final = frozenset(
    (
        *("access-control-allow-origin", "access-control-allow-credentials"),
        "access-control-expose-headers",
    )
)
"""Fields by which an origin lets other origins' scripts read an answer."""
_DIGESTS: Final = frozenset(("content-md5", "digest", "repr-digest", "content-digest"))
_VALIDATORS: Final = frozenset(
    ("cache-control", "pragma", "expires", "age", "etag", "last-modified")
)
_COOKIE: Final = "set-cookie"
"""Goes with the first answer alone: newer ones may be set by the next."""


def final_level(component: Component) -> Level | None:
    """The finest level; None: the component has no levels, all its bytes are the file."""
    return component.levels[-1] if component.levels else None


FileOf = Callable[[Component, Level], Awaitable[bytes]]
"""A received level as a whole file. Raises NoFile."""
Anew = Callable[[], Awaitable[bytes]]
"""Fetches the picture once more, whole, without levels. Raises ComponentFailed."""


def bare(component: Component, head: OriginHead) -> Response:
    """A finished component without levels, as the origin sent it."""
    component.consumed(component.received)
    return Response(head.status, _origins(head), bytes(component.data))


def whole_now(head: OriginHead, original: bytes) -> Response:
    """The finished picture as the origin sent it, with all that it said of these bytes."""
    return Response(head.status, _origins(head), original)


def finest(head: OriginHead, final: Level, file: bytes) -> Response:
    """The finished picture in other bytes than the origin's."""
    return Response(head.status, _passing(head, final), file)


def to_keep(head: OriginHead, original: bytes) -> Response:
    """For the browser's cache alone."""
    return Response(head.status, [f for f in _origins(head) if f[0] != _COOKIE], original)


def whole_as_it_comes(component: Component, head: OriginHead) -> Response:
    """One response that stays open: the final level's own bytes, without coarser versions.

    A progressive JPEG repaints as it grows. The browser paints a scan in full only when it has the
    header of the next one, so a level should end behind that.
    """
    final = final_level(component)
    if final is None:
        return Response(head.status, _origins(head), component.read(), head.length)
    length = final.end - final.start + len(final.suffix)
    headers = _origins(head) if component.identical else _passing(head, final)
    return Response(head.status, headers, own_bytes(component, final), length)


def whole_level_by_level(
    component: Component, head: OriginHead, file_of: FileOf, anew: Anew
) -> Response:
    """The same for a coded picture: as each level comes, what it adds to the one before."""
    headers = _passing(head, component.levels[-1])
    return Response(head.status, headers, _additions(component, file_of, anew))


def coarse(head: OriginHead, level: Level, file: bytes) -> Response:
    """A level that is not the last: never to be kept, for the same address will say more."""
    return Response(200, _passing(head, level), file)


def once_more(head: OriginHead, level: Level, file: bytes) -> Response:
    """The same for who has had an answer already."""
    return Response(200, _unkept(level_headers(head, level)), file)


def elsewhere(head: OriginHead, address: str) -> Response:
    """The coarse level, at an address of its own."""
    dropped = _ENTITY | _DIGESTS | _VALIDATORS
    kept = [(name, value) for name, value in head.headers if name not in dropped]
    return Response(307, [*kept, ("location", address), ("cache-control", "no-store")])


def finer(head: OriginHead, level: Level, file: bytes, *, readable: bool) -> Response:
    """A level at an address of its own, which the driver asks and a style rule asks again.

    Both ask without CORS, so no leave to read goes with it, lest a script find it in the browser's
    cache. `readable`: the page had that leave, for it asked for the picture in CORS mode.
    """
    headers = [(n, v) for n, v in level_headers(head, level) if n not in _LEAVES]
    headers.append(("cache-control", "private, max-age=300"))
    if readable and header(head.headers, "access-control-allow-origin"):
        # What the page may read it may embed, whatever it isolates itself from (Fetch, 3.7).
        headers = [(n, v) for n, v in headers if n != "cross-origin-resource-policy"]
        headers.append(("cross-origin-resource-policy", "cross-origin"))
    return Response(200, headers, file)


def multipart(
    component: Component, head: OriginHead, first: tuple[Level, bytes], file_of: FileOf, anew: Anew
) -> Response:
    """Each level as a part that replaces the one before (multipart/x-mixed-replace).

    `anew` fetches the picture whole, should its component fail on the way.
    """
    level = first[0]
    headers = [field for field in _passing(head, level) if field[0] != "content-type"]
    headers.append(("content-type", f"multipart/x-mixed-replace; boundary={BOUNDARY}"))
    return Response(200, headers, _parts(component, first, file_of, anew))


async def body_of(response: Response) -> bytes:
    """All of it. Raises ComponentFailed for an error or too much."""
    body = bytearray()
    whole = False
    try:
        if isinstance(response.body, bytes):
            body += response.body
        else:
            async for chunk in response.body:
                body += chunk
                if len(body) > MAX_AGAIN:
                    break
        whole = len(body) <= MAX_AGAIN
    finally:
        await dispose(response, whole=whole)
    if response.status != 200 or not whole:
        raise ComponentFailed(502, "the picture could not be fetched once more")
    return bytes(body)


def level_headers(head: OriginHead, level: Level) -> Headers:
    """The origin's fields but cookies and those about its own bytes and their keeping."""
    dropped = _ENTITY | _DIGESTS | _VALIDATORS | {_COOKIE}
    kept = [(name, value) for name, value in head.headers if name not in dropped]
    return [*kept, ("content-type", level.content_type)]


def _origins(head: OriginHead) -> Headers:
    """The origin's fields, for the origin's bytes alone."""
    return [(name, value) for name, value in head.headers if name != "content-length"]


def _passing(head: OriginHead, level: Level) -> Headers:
    """The fields of other bytes, which nobody is to keep, in the first answer."""
    cookies = [field for field in head.headers if field[0] == _COOKIE]
    return _unkept([*level_headers(head, level), *cookies])


def _unkept(headers: Headers) -> Headers:
    return [*headers, ("cache-control", "no-store")]


async def own_bytes(component: Component, level: Level) -> AsyncIterator[bytes]:
    """The level's file as it comes. Raises ComponentFailed if it stops short."""
    left = level.end - level.start
    async with aclosing(component.read(start=level.start)) as chunks:
        async for chunk in chunks:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                break
    if left > 0:
        raise ComponentFailed(502, "the picture ended before its last level")
    if level.suffix:
        yield level.suffix


async def _additions(component: Component, file_of: FileOf, anew: Anew) -> AsyncIterator[bytes]:
    """A level's file begins with that of each coarser one, but for the end marker and a sketch."""
    sent = b""
    async for level in _steps(component):
        final = level == component.levels[-1]
        try:
            file = await file_of(component, level)
        except NoFile as error:
            if not final:
                continue
            if sent:
                raise ComponentFailed(502, f"the picture's coding: {error}") from error
            file = await anew()
        body = file if final else file.removesuffix(END)
        if body.startswith(sent):
            yield body[len(sent) :]
            sent = body
        elif final:
            raise ComponentFailed(502, "the picture does not go on as it began")


async def _steps(component: Component) -> AsyncIterator[Level]:
    """What one response shows, as it comes: the levels but for a sketch, and in its place the first
    scans behind it, which nobody had to name since they can be recognised."""
    own = [level for level in component.levels if not level.sketch]
    if len(own) < len(component.levels):
        early = await _first_step(component, own[0])
        if early is not None:
            yield early
    for level in own:
        await _wait(component, level)
        yield level


async def _first_step(component: Component, before: Level) -> Level | None:
    """The picture's first scans once they are here; None: the level after them came as soon."""
    final = component.levels[-1]
    seen = final.start
    while True:
        await _more_than(component, seen)
        if component.received >= before.end or component.received <= seen:
            return None
        if component.data.find(_SCAN, max(final.start, seen - len(_SCAN) - MAX_SCAN_HEADER)) >= 0:
            begun = bytes(component.data[final.start :])
            step = first_step(begun, final.end - final.start)
            if step is not None:
                end = final.start + step.end
                return Level(FIRST, final.start, end, before.content_type, END)
        seen = component.received


async def _parts(
    component: Component, first: tuple[Level, bytes], file_of: FileOf, anew: Anew
) -> AsyncIterator[bytes]:
    """Parts in order; the next part's head goes out at once, else Chromium shows each one late."""
    level, file = first
    yield _part_head(level)
    while True:
        index = component.levels.index(level)
        if index + 1 == len(component.levels):
            yield file + _END
            return
        yield file + b"\r\n" + _part_head(component.levels[index + 1])
        try:
            await component.wait_settled()
            level, file = await _next_part(component, index + 1, file_of, anew)
        except ComponentFailed:
            yield await _whole_or(file, anew) + _END
            return


async def _whole_or(file: bytes, anew: Anew) -> bytes:
    """The picture as its origin has it; `file`, shown already, if that can't be had either.

    The part's head, which is out, may name another type: browsers look at a picture's first bytes.
    """
    try:
        return await anew()
    except ComponentFailed:
        return file


def _part_head(level: Level) -> bytes:
    return f"--{BOUNDARY}\r\nContent-Type: {level.content_type}\r\n\r\n".encode()


async def _next_part(
    component: Component, index: int, file_of: FileOf, anew: Anew
) -> tuple[Level, bytes]:
    """The finest level here once the announced one is, of the announced type.

    Coded levels are all of one type, so one whose coding can't be undone is passed over.
    """
    while True:
        announced = component.levels[index]
        await _wait(component, announced)
        best = _best_of_type(component, index)
        try:
            return best, await file_of(component, best)
        except NoFile:
            index = component.levels.index(best) + 1
            if index == len(component.levels):
                return best, await anew()


def _best_of_type(component: Component, index: int) -> Level:
    best = announced = component.levels[index]
    for level in component.levels[index + 1 :]:
        if level.end > component.received or level.content_type != announced.content_type:
            break
        best = level
    return best


async def _more_than(component: Component, size: int) -> None:
    await component.wait(lambda: component.received > size or component.complete)


async def _wait(component: Component, level: Level) -> None:
    """Until the level is here. Raises ComponentFailed if it never will be."""
    await component.wait(lambda: level.end <= component.received or component.complete)
    if level.end > component.received:
        raise ComponentFailed(502, "the picture ended before its last level")

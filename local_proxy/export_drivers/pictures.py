"""The responses by which a picture reaches a browser, coarse or whole: bytes and headers.

Which of them a request gets is browser.py's choice. Must not know: documents, drivers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from local_proxy.components import Component, ComponentFailed, Head
from local_proxy.http import Headers, Response, header
from local_proxy.responses import dispose
from wire.skeleton import Level

BOUNDARY: Final = "sluice-level"
_END: Final = f"\r\n--{BOUNDARY}--\r\n".encode()
_ENTITY: Final = frozenset(("content-type", "content-length", "content-encoding", "accept-ranges"))
_DIGESTS: Final = frozenset(("content-md5", "digest", "repr-digest", "content-digest"))
_VALIDATORS: Final = frozenset(
    ("cache-control", "pragma", "expires", "age", "etag", "last-modified", "set-cookie")
)


def final_level(component: Component) -> Level | None:
    """The finest level; None: the component has no levels, all its bytes are the file."""
    return component.levels[-1] if component.levels else None


def whole_now(component: Component, head: Head) -> Response:
    """The finished component as the origin sent it, its caching fields included."""
    final = final_level(component)
    if final is None:
        component.consumed(component.received)
        return Response(head.status, _whole_headers(head, ""), bytes(component.data))
    return Response(head.status, _whole_headers(head, final.content_type), component.file(final))


def whole_as_it_comes(component: Component, head: Head) -> Response:
    """One response that stays open: the final level's own bytes, without coarser versions.

    A progressive JPEG repaints as it grows. The browser paints a scan in full only when it has the
    header of the next one, so a level should end behind that.
    """
    final = final_level(component)
    if final is None:
        return Response(head.status, _whole_headers(head, ""), component.read(), head.length)
    length = final.end - final.start + len(final.suffix)
    headers = _whole_headers(head, final.content_type)
    return Response(head.status, headers, _range(component, final), length)


def coarse(component: Component, head: Head, level: Level) -> Response:
    """A level that is not the last: never to be kept, for the same address will say more."""
    headers = level_headers(head, level)
    headers.append(("cache-control", "no-store"))
    return Response(200, headers, component.file(level))


def finer(component: Component, head: Head, level: Level) -> Response:
    """A level at an address of its own, which the driver asks and a style rule asks again."""
    headers = level_headers(head, level)
    headers.append(("cache-control", "private, max-age=300"))
    if header(headers, "access-control-allow-origin"):
        # The picture itself may be asked with CORS; style rules always ask without.
        headers = [(n, v) for n, v in headers if n != "cross-origin-resource-policy"]
        headers.append(("cross-origin-resource-policy", "cross-origin"))
    return Response(200, headers, component.file(level))


def multipart(
    component: Component, head: Head, level: Level, *, again: Callable[[], Awaitable[Response]]
) -> Response:
    """Each level as a part that replaces the one before (multipart/x-mixed-replace).

    `again` fetches the picture whole, should its component fail on the way.
    """
    headers = level_headers(head, level)
    headers = [(name, value) for name, value in headers if name != "content-type"]
    headers.append(("content-type", f"multipart/x-mixed-replace; boundary={BOUNDARY}"))
    headers.append(("cache-control", "no-store"))
    return Response(200, headers, _parts(component, level, again))


def level_headers(head: Head, level: Level) -> Headers:
    """The origin's fields but those about its own bytes and their keeping."""
    dropped = _ENTITY | _DIGESTS | _VALIDATORS
    kept = [(name, value) for name, value in head.headers if name not in dropped]
    return [*kept, ("content-type", level.content_type)]


def _whole_headers(head: Head, content_type: str) -> Headers:
    """The origin's fields; the type is the final level's where that differs."""
    if not content_type:
        return [(n, v) for n, v in head.headers if n != "content-length"]
    dropped = _ENTITY | _DIGESTS
    kept = [(name, value) for name, value in head.headers if name not in dropped]
    return [*kept, ("content-type", content_type)]


async def _range(component: Component, level: Level) -> AsyncIterator[bytes]:
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


async def _parts(
    component: Component, level: Level, again: Callable[[], Awaitable[Response]]
) -> AsyncIterator[bytes]:
    """Parts in order; the next part's head goes out at once, else Chromium shows each one late."""
    yield _part_head(level)
    while True:
        part = component.file(level)
        index = component.levels.index(level)
        if index + 1 == len(component.levels):
            yield part + _END
            return
        yield part + b"\r\n" + _part_head(component.levels[index + 1])
        try:
            level = await _next_part(component, index + 1)
        except ComponentFailed:
            yield (await _whole_again(again) or part) + _END
            return


async def _whole_again(again: Callable[[], Awaitable[Response]]) -> bytes:
    """The picture as its origin has it; empty if that can't be had either.

    The part's head, which is out, may name another type: browsers look at a picture's first bytes.
    """
    response, data = await again(), bytearray()
    whole = False
    try:
        if isinstance(response.body, bytes):
            data += response.body
        else:
            async for chunk in response.body:
                data += chunk
        whole = True
    except ComponentFailed:
        pass
    finally:
        await dispose(response, whole=whole)
    return bytes(data) if whole and response.status == 200 else b""


def _part_head(level: Level) -> bytes:
    return f"--{BOUNDARY}\r\nContent-Type: {level.content_type}\r\n\r\n".encode()


async def _next_part(component: Component, index: int) -> Level:
    """The finest level here once the announced one is, of the announced type."""
    announced = component.levels[index]
    await component.wait(lambda: announced.end <= component.received or component.complete)
    if announced.end > component.received:
        raise ComponentFailed(502, "the picture ended before its last level")
    best = announced
    for level in component.levels[index + 1 :]:
        if level.end > component.received or level.content_type != announced.content_type:
            break
        best = level
    return best

"""The page's response with the driver's tag in it, where that can be.

Must not know: which driver answers the tag's address, what it does. How a policy of the page lets
it in: local_proxy/export_drivers/markup/csp.py; where in the page it stands:
local_proxy/export_drivers/markup/injection.py."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from local_proxy.export_drivers.browser.page import BrowserPage
from local_proxy.export_drivers.markup.csp import ConnectSources, MetaPolicies, adjust_headers
from local_proxy.export_drivers.markup.injection import Injector, injectable, script_tag
from local_proxy.export_drivers.markup.page_marks import marked
from local_proxy.http.model import Response, directives
from wire.fields import Headers, header

_TOUCHED: Final = frozenset(
    ("content-length", "accept-ranges", "content-md5", "digest", "repr-digest", "content-digest")
)


def tagged(response: Response, page: BrowserPage, *, driver: str) -> Response:
    """The response with a tag for the script at `driver`; the same one if it can't have it."""
    if not _may_carry_driver(response):
        return response
    adjusted = adjust_headers(response.headers, origin=page.origin)
    if adjusted is None:
        return response
    headers, nonce = _rewritten(adjusted[0]), adjusted[1]
    page.injected = True
    if response.status == 304:  # what the browser holds has the tag, its fields are renewed
        return replace(response, headers=headers)
    page.connections = ConnectSources(response.headers, origin=page.origin)
    tag = script_tag(driver, nonce=nonce)
    if isinstance(response.body, bytes):
        injector, metas = Injector(tag), MetaPolicies(origin=page.origin)
        metas.feed(response.body)
        page.shut, page.restricted = metas.shut, metas.restrict
        body = injector.feed(response.body) + injector.end()
        return replace(response, headers=headers, body=body, length=None, trailers=None)
    body_as_it_comes = _with_tag(page, tag, response.body)
    return replace(response, headers=headers, body=body_as_it_comes, length=None, trailers=None)


def _may_carry_driver(response: Response) -> bool:
    headers = response.headers
    if "no-transform" in directives(headers):  # RFC 9111, 5.2.2.6
        return False
    if response.status == 304:
        return injectable(header(headers, "content-type", "text/html"))
    return (
        response.status not in (204, 206)
        and injectable(header(headers, "content-type"))
        and header(headers, "content-encoding", "identity") == "identity"
        and not header(headers, "content-disposition").lower().startswith("attachment")
    )


def _rewritten(headers: Headers) -> Headers:
    """Fields of a body that gains our tag: the same page to a person, not the same bytes."""
    return marked([(name, value) for name, value in headers if name not in _TOUCHED])


async def _with_tag(
    page: BrowserPage, tag: bytes, body: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    injector, metas = Injector(tag), MetaPolicies(origin=page.origin)
    async for chunk in body:
        metas.feed(chunk)
        page.shut, page.restricted = metas.shut, metas.restrict
        if data := injector.feed(chunk):
            yield data
    if data := injector.end():
        yield data

"""The origin's own bytes of a picture that came with levels, where the device can have them.

A page that shows a picture and fetches it, too, need not have it cross the link twice. This is the
one place that says for which pictures that holds. Must not know: who may have them (rules.py).
"""

from __future__ import annotations

from local_proxy.export_drivers.browser.pictures import own_bytes
from local_proxy.http.model import Response
from local_proxy.link.components import Component, OriginHead
from wire.fields import Headers
from wire.skeleton import Level


def has(component: Component) -> bool:
    """Whether they come as they are, as far as it is known now."""
    return _level(component) is not None


async def whole(component: Component) -> None:
    """Until all is here that they could be made of. Raises ComponentFailed if it never will be."""
    await component.wait(lambda: component.complete)


def response(component: Component, head: OriginHead) -> Response:
    """The origin's own response, its body as it comes. Only where they can be had."""
    level = _level(component)
    assert level is not None
    headers: Headers = [field for field in head.headers if field[0] != "content-length"]
    return Response(head.status, headers, own_bytes(component, level), level.end - level.start)


def _level(component: Component) -> Level | None:
    """The level that is the origin's file, byte for byte."""
    if not component.identical or component.unsettled:
        return None
    final = component.levels[-1]
    return None if component.coding or final.sketch or final.suffix else final

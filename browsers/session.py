"""`sluice browse`: a browser, and the local proxy it uses: the one that runs, or one of our own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from browsers import launch
from browsers.find import NoBrowser, find
from browsers.nss import StoreError
from browsers.proxy import Proxy
from local_proxy.commands.status import NoAnswer, offer
from local_proxy.serving import composed
from local_proxy.settings import ProxySettings
from local_proxy.status.offer import Offer
from pairing.errors import PairingError

_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that mean all of a machine's, and the one of them that a browser beside it takes."""


StandIn = Callable[[], AbstractAsyncContextManager[ProxySettings]]
"""Starts a remote proxy on this machine; gives the settings that use it."""


async def run(
    url: str, wanted: str | None, settings: ProxySettings, stand_in: StandIn, *, headless: bool
) -> None:
    """Until the browser is closed or this is cancelled.

    `stand_in` is for a first look, on a device that is paired with no remote. Raises SystemExit
    that says what is wrong, and OSError, LoadError when no proxy can be started.
    """
    try:
        browser = find(wanted)
        if browser.family == "chromium" and launch.is_root():
            _say("running as root: Chromium has to do without its sandbox")
        async with _proxy(settings, stand_in) as proxy:
            _say(f"opening {browser.path}; its profile goes when it closes")
            await launch.browse(browser, proxy, _absolute(url), headless=headless)
    except (NoBrowser, NoAnswer, StoreError, launch.BrowserFailed) as error:
        raise SystemExit(f"sluice: {error}") from error


@asynccontextmanager
async def _proxy(settings: ProxySettings, stand_in: StandIn) -> AsyncIterator[Proxy]:
    """The proxy that listens where the settings say; one of our own when none does."""
    host, _, port = settings.listen.rpartition(":")
    host = _ANY.get(host.strip("[]"), host.strip("[]"))
    found = await offer(host, int(port)) if int(port) else None
    if found is not None:
        _say(f"using the local proxy at {settings.listen}")
        yield _as_proxy(host, int(port), found)
        return
    async with AsyncExitStack() as stack:
        try:
            proxy = composed(settings)
        except PairingError:
            if settings.remote or settings.pair:
                raise
            _say("not paired with a remote proxy: one on this machine stands in, for a first look")
            proxy = composed(await stack.enter_async_context(stand_in()))
        _, bound = await proxy.listen()
        serving = asyncio.create_task(proxy.run())
        try:
            _say(f"started a local proxy at {host}:{bound} for as long as the browser is open")
            yield _as_proxy(host, bound, await offer(host, bound) or Offer())
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


def _as_proxy(host: str, port: int, offered: Offer) -> Proxy:
    pem = offered.certificate.encode("ascii") if offered.certificate is not None else None
    return Proxy(
        host=host,
        port=port,
        certificate_pem=pem,
        secure=offered.secure,
        private=tuple(offered.private),
    )


def _absolute(url: str) -> str:
    """As people write addresses: without a scheme it is https, and http where there is no dot."""
    if "://" in url or url.startswith("about:"):
        return url
    return f"{'https' if '.' in url.partition('/')[0] else 'http'}://{url}"


def _say(text: str) -> None:
    print(f"sluice: {text}", file=sys.stderr, flush=True)

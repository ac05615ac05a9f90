"""A whole local proxy in virtual time, without sockets, whose remote says what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from configuration import LocalSettings
from local_proxy.http.model import Request, Response
from local_proxy.main import LocalProxy
from policies.api import Event
from tests.local_proxy.policy_session import Scripted, quiet
from tests.local_proxy.scripted_remote import ACCEPTS, Answer, Remotes, ScriptedRemote
from wire.fields import Headers

NAVIGATION: Headers = [
    ("accept", "text/html"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-mode", "navigate"),
    ("user-agent", "test"),
]
HTML: Headers = [("content-type", "text/html")]


class AtOnce:
    """Policies react in the loop itself, as virtual time has it."""

    def submit(self, job: Callable[[], None]) -> None:
        job()

    def spent(self) -> float:
        return 0.0

    def stop(self) -> None: ...

    def abandon(self) -> bool:
        return False


class AtWork:
    """The proxy, its remote, and the policy that hears of all."""

    def __init__(self, proxy: LocalProxy, remotes: Remotes, policy: Scripted) -> None:
        self.proxy = proxy
        self.remotes = remotes
        self.policy = policy

    @property
    def remote(self) -> ScriptedRemote:
        return self.remotes.latest

    @property
    def heard(self) -> list[Event]:
        """What policies have been told."""
        return self.policy.heard

    async def get(self, url: str, *fields: tuple[str, str], original: bool = False) -> Response:
        return await self.proxy.core.handle(Request("GET", url, list(fields), original=original))

    async def navigate(self, url: str, *fields: tuple[str, str]) -> Response:
        return await self.get(url, *NAVIGATION, *fields)


@asynccontextmanager
async def at_work(
    answer: Answer | None = None,
    *,
    link: bool = True,
    sites: dict[str, str] | None = None,
    policy: Scripted | None = None,
    patience: float = 5.0,
    accepts: Sequence[str] = ACCEPTS,
) -> AsyncIterator[AtWork]:
    """`link` False: there is none at first. `sites`: modes by pattern. `accepts`: abilities of the
    remote."""
    remotes, heard = Remotes(answer, accepts=accepts), policy or quiet()
    remotes.refuses = not link
    settings = LocalSettings(
        security="none",
        device="test",
        patience=patience,
        notice=1.0,
        sites=sites or {},  # type: ignore[arg-type]  # modes are checked where settings are read
    )
    proxy = LocalProxy(settings, [heard], connect=remotes.dial, worker=AtOnce, jpegtran=None)
    running = asyncio.ensure_future(proxy.run())
    try:
        if link:
            assert await proxy.uplink.wait_session(10.0) is not None
        yield AtWork(proxy, remotes, heard)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def finish(response: Response, *, whole: bool = True) -> None:
    """The client has all of it, or has left."""
    for done in response.on_done:
        done(whole)

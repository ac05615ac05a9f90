"""Tests of the listening end: a session for each link, so many devices, a goodbye for others."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import pytest

from bench.origins.synthetic import Prepared, Shelf
from emulation.memory.virtual_time import run
from pairing.identity import device_identity, new_identity
from remote_proxy.jobs.services import Services
from remote_proxy.server import LINKS, NotLoopback, RemoteServer, require_loopback
from remote_proxy.turning_away import PATIENCE, TurnedAway
from tests.remote_proxy.quiet_links import HeardLink
from transport.link.interface import LinkError
from transport.link.records import ProvenPeer
from transport.tcp.security import ServerSecurity
from wire import messages as m

CERTIFICATES = [device_identity(bytes([number]) * 32).certificate for number in range(2)]
PHONE, LAPTOP = (
    ProvenPeer(name, hashlib.sha256(certificate).hexdigest())
    for name, certificate in zip(("phone", "laptop"), CERTIFICATES, strict=True)
)


def in_server(scenario: Callable[[RemoteServer], Awaitable[None]], *, devices: int = 1) -> None:
    async def main() -> None:
        server = RemoteServer(
            Services(Shelf([]), Prepared({})),
            quantum=1024,
            memory=1 << 20,
            congestion="cubic",
            patience=60.0,
            devices=devices,
        )
        try:
            await scenario(server)
        finally:
            await server.close()

    run(main())


async def accepted(
    server: RemoteServer, peer: ProvenPeer | None = None, *, connected: bool = True
) -> HeardLink:
    link = HeardLink(connected=connected)
    server.accept(link, peer=peer)
    await asyncio.sleep(0.1)
    return link


def goodbyes(link: HeardLink) -> list[str]:
    return [one.reason for one in link.heard if isinstance(one, m.Goodbye)]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_without_security_it_listens_on_loopback(host: str) -> None:
    require_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "", "localhost.example"])
def test_without_security_it_listens_nowhere_else(host: str) -> None:
    with pytest.raises(NotLoopback, match=r"security = tls.*ssh -L"):
        require_loopback(host)

    async def scenario(server: RemoteServer) -> None:
        with pytest.raises(NotLoopback):
            await server.listen(host, 0)

    in_server(scenario)


def test_a_session_lasts_as_long_as_its_link() -> None:
    async def scenario(server: RemoteServer) -> None:
        link = await accepted(server, PHONE)
        (session,) = server.sessions
        assert (session.peer, session.device, session.link) == (PHONE, "phone", link)
        link.hang_up()
        await asyncio.sleep(0.1)
        assert server.sessions == []

    in_server(scenario)


def test_one_device_too_many_is_told_why_and_takes_nobodys_place() -> None:
    async def scenario(server: RemoteServer) -> None:
        first = await accepted(server, PHONE)
        second = await accepted(server, LAPTOP)
        (reason,) = goodbyes(second)
        assert "as many devices as it may already: 1 (remote.devices)" in reason
        assert [session.peer for session in server.sessions] == [PHONE]
        assert first.closed == []
        second.hang_up()
        first.hang_up()
        await asyncio.sleep(0.1)
        assert goodbyes(await accepted(server, LAPTOP)) == []
        assert [session.peer for session in server.sessions] == [LAPTOP]

    in_server(scenario)


def test_whoever_asks_again_and_again_gets_no_answer() -> None:
    async def scenario(server: RemoteServer) -> None:
        await accepted(server, PHONE)
        links = [await accepted(server, LAPTOP) for _ in range(3)]
        assert [len(goodbyes(link)) for link in links] == [1, 0, 0]
        assert [bool(link.closed) for link in links] == [False, True, True]

    in_server(scenario)


def test_those_who_need_not_prove_who_they_are_count_each() -> None:
    async def scenario(server: RemoteServer) -> None:
        links = [await accepted(server) for _ in range(3)]
        assert [len(goodbyes(link)) for link in links] == [0, 0, 1]

    in_server(scenario, devices=2)


def test_a_device_has_a_few_links_and_a_new_one_ends_that_which_it_has_lost() -> None:
    async def scenario(server: RemoteServer) -> None:
        links = [await accepted(server, PHONE, connected=number != 2) for number in range(LINKS)]
        assert len(server.sessions) == LINKS
        await accepted(server, PHONE)
        assert [bool(link.closed) for link in links] == [False, False, True, False]
        await accepted(server, PHONE)
        assert [bool(link.closed) for link in links] == [True, False, True, False]
        assert len(server.sessions) == LINKS

    in_server(scenario)


def test_a_revoked_devices_sessions_end_and_nobody_elses() -> None:
    async def scenario(server: RemoteServer) -> None:
        links = [await accepted(server, peer) for peer in (PHONE, LAPTOP, None)]
        security = ServerSecurity(new_identity().pem, {CERTIFICATES[1]: "laptop"})
        server.end_unknown(security)
        await asyncio.sleep(0.1)
        assert [bool(link.closed) for link in links] == [True, False, False]
        assert [session.peer for session in server.sessions] == [LAPTOP, None]

    in_server(scenario, devices=3)


# -- who is turned away ----------------------------------------------------------------------------


def turned_away(link: HeardLink, reason: str = "too many") -> tuple[float, TurnedAway]:
    """How long it took, seconds, where the link is hung up after one or never."""

    async def main() -> tuple[float, TurnedAway]:
        loop = asyncio.get_running_loop()
        one = TurnedAway(link, reason)
        if not isinstance(link, SilentLink):
            loop.call_later(1.0, link.hang_up, LinkError("gone"))
            loop.call_later(1.0, link.hang_up)
        await one.run()
        return loop.time(), one

    return run(main())


class SilentLink(HeardLink):
    """Its other end never closes it."""


def test_who_is_turned_away_is_told_why_once() -> None:
    link = HeardLink(closes=False)
    took, one = turned_away(link)
    assert took == 1.0
    assert link.heard == [m.Goodbye("too many")]
    assert one.next_frame(now=0.0, urgent=True) is None
    assert link.closed == [None]


def test_who_does_not_leave_is_left() -> None:
    link = SilentLink()
    took, one = turned_away(link)
    assert took == PATIENCE
    assert link.closed == [None]
    assert one.quantum > 0


def test_what_it_still_says_comes_to_nothing() -> None:
    link = HeardLink()

    async def main() -> None:
        one = TurnedAway(link, "too many")
        running = asyncio.ensure_future(one.run())
        await asyncio.sleep(0)
        one.frames_received([], now=0.0)
        assert not running.done()
        one.link_closed(None)
        await running

    run(main())

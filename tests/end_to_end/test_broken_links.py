"""A link whose connections break: the session above goes on, every byte is right."""

from __future__ import annotations

import asyncio
import hashlib
import random

from emulation.relay.breaking_way import BreakingWay
from emulation.relay.relay import Relay
from remote_proxy.session import RemoteSession
from tests.end_to_end.pair import Asked, FakeOrigin, Remote, pair, run, until
from transport.stream.preamble import SIZE, Preamble, What

BODY = random.Random(3).randbytes(3_000_000)


def test_cuts_in_mid_download_are_a_pause_of_the_same_session() -> None:
    async def go() -> None:
        async with FakeOrigin().running() as origin, pair() as known:
            origin.serve("/file", BODY, "application/octet-stream")
            far = ("127.0.0.1", known.remote.port)
            async with (
                BreakingWay(far, rate=4_000_000) as way,
                pair(start_remote=False, remote_port=way.address[1], patience=10.0) as both,
            ):
                await both.connected()
                session = both.local.uplink.session
                digest, cuts = hashlib.sha256(), 0
                async with both.client.open(origin.base + "/file") as answer:
                    received = 0
                    async for chunk in answer.stream:
                        digest.update(chunk)
                        received += len(chunk)
                        if received > (cuts + 1) * 500_000:
                            cuts += 1
                            way.cut()
                assert digest.digest() == hashlib.sha256(BODY).digest()
                assert cuts == 5
                assert way.connections == 1 + cuts
                assert both.local.uplink.session is session
                assert origin.counts()["/file"] == 1
                sent_twice = way.down - len(BODY)
                assert sent_twice < cuts * 65_536

    run(go())


def test_an_upload_and_a_post_survive_a_cut_and_are_made_once() -> None:
    async def go() -> None:
        async with FakeOrigin().running() as origin, pair() as known:
            bodies: list[bytes] = []

            async def take(asked: Asked) -> None:
                bodies.append(await asked.body())
                await asked.answer(b"taken", "text/plain")

            origin.paths["/upload"] = take
            async with (
                BreakingWay(("127.0.0.1", known.remote.port), rate=4_000_000) as way,
                pair(start_remote=False, remote_port=way.address[1], patience=10.0) as both,
            ):
                await both.connected()
                posting = asyncio.create_task(
                    both.client.get(origin.base + "/upload", method="POST", body=BODY[:1_500_000])
                )
                for _ in range(3):
                    await asyncio.sleep(0.1)
                    way.cut()
                answer = await posting
                assert (answer.status, answer.body) == (200, b"taken")
                assert bodies == [BODY[:1_500_000]]

    run(go())


def test_a_link_that_stays_down_longer_than_patience_is_told_to_the_browser() -> None:
    async def go() -> None:
        remote = Remote(patience=0.2)
        await remote.start()
        async with (
            FakeOrigin().running() as origin,
            BreakingWay(("127.0.0.1", remote.port), rate=1e6) as way,
            pair(start_remote=False, remote_port=way.address[1], patience=0.5) as both,
        ):
            asked = asyncio.Event()

            async def never(request: Asked) -> None:
                asked.set()
                await request.reader.read()

            origin.paths["/never"] = never
            await both.connected()
            waiting = asyncio.create_task(both.browser.navigate(origin.base + "/never"))
            await asked.wait()
            await remote.stop()
            way.cut()
            answer = await waiting
            assert answer.status == 504
            assert b"refresh" in answer.body
            await remote.start()
            origin.serve("/well", b"well")
            await until(lambda: both.local.uplink.connected)
            assert (await both.client.get(origin.base + "/well")).body == b"well"
        await remote.stop()

    run(go())


def test_the_remote_waits_for_a_device_as_long_as_that_means_to_try() -> None:
    async def go() -> None:
        remote = Remote(patience=0.05)
        await remote.start()
        async with (
            FakeOrigin().running() as origin,
            BreakingWay(("127.0.0.1", remote.port), rate=1e6) as way,
            pair(start_remote=False, remote_port=way.address[1], patience=9.5) as both,
        ):
            await both.connected()
            (session,) = remote.sessions
            await until(lambda: session.session.peer is not None)
            assert session.session.peer is not None
            assert session.session.peer.patience == 10
            way.hush(True)  # it may dial, and is not answered
            way.cut()
            # One that says nothing of its patience comes later, and is given up before.
            reader, writer = await asyncio.open_connection("127.0.0.1", remote.port)
            writer.write(Preamble(What.OPEN).encode())
            await reader.readexactly(SIZE)
            await until(lambda: len(remote.sessions) == 2)
            writer.close()
            await until(lambda: len(remote.sessions) == 1)
            assert remote.sessions == [session]
            way.hush(False)
            await until(lambda: both.local.uplink.connected)
            origin.serve("/well", b"well")
            assert (await both.client.get(origin.base + "/well")).body == b"well"
            assert remote.sessions == [session]
        await remote.stop()

    run(go())


def waiting(remote: Remote) -> list[RemoteSession]:
    """Sessions that have no connection."""
    return [one for one in remote.sessions if not one.link.statistics().connected]


def test_who_has_no_connection_gives_way_when_there_are_too_many() -> None:
    async def go() -> None:
        remote = Remote(serves=2)
        await remote.start()
        async with (
            BreakingWay(("127.0.0.1", remote.port), rate=1e6) as way,
            pair(start_remote=False, remote_port=way.address[1], patience=9.0) as away,
            pair(start_remote=False, remote_port=remote.port) as here,
        ):
            await away.connected()
            await here.connected()
            way.hush(True)
            way.cut()
            await until(lambda: len(waiting(remote)) == 1)
            (gone,) = waiting(remote)
            async with pair(start_remote=False, remote_port=remote.port) as third:
                await third.connected()
                await until(lambda: gone not in remote.sessions)
                assert here.local.uplink.connected
                # Nobody is dropped who is there.
                reader, writer = await asyncio.open_connection("127.0.0.1", remote.port)
                writer.write(Preamble(What.OPEN).encode())
                await reader.read()
                writer.close()
                assert here.local.uplink.connected
                assert third.local.uplink.connected
        await remote.stop()

    run(go())


def test_who_leaves_while_much_comes_is_waited_for_by_nobody() -> None:
    """What he said last was on its way, behind a kernel that heard of a reset."""

    async def go() -> None:
        remote = Remote()
        await remote.start()
        target = ("127.0.0.1", remote.port)
        async with (
            FakeOrigin().running() as origin,
            Relay(target=target, rate_up=5e3, rate_down=2e5, delay=0.05) as way,
            pair(start_remote=False, remote_port=way.address[1]) as both,
        ):
            origin.serve("/file", BODY, "application/octet-stream")
            await both.connected()
            async with both.client.open(origin.base + "/file") as answer:
                await anext(aiter(answer.stream))
                (session,) = remote.sessions
                leaving = both.local.uplink.session
                assert leaving is not None
                leaving.close()
                await until(lambda: session not in remote.sessions, seconds=10)
        await remote.stop()

    run(go())

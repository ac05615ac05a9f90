"""Tunnels on HTTP/2 streams."""

from __future__ import annotations

from h2.errors import ErrorCodes

from local_proxy.http.model import Response
from tests.local_proxy.http2_served import CONNECT, Dial, served
from tests.local_proxy.small_core import Echo, SmallCore


def test_a_tunnel_on_a_stream() -> None:
    far = Echo()
    core = SmallCore(far=far)

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with(CONNECT, end=False)
        client.http.send_data(number, b"SSH-2.0")
        await client.flush()
        answer = client.answers[number]
        while answer.body != b"SSH-2.0":
            await client.hear()
        assert answer.status == 200
        assert (await client.get()).status == 200  # beside it
        client.http.end_stream(number)
        assert (await client.answer(number)).ended
        await far.closed.wait()

    statistics = served(core, talk)
    assert core.asked == [("far.test", 22)]
    assert (statistics.requests, statistics.tunnels) == (1, 1)


def test_a_reset_tunnel_is_closed() -> None:
    far = Echo()

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with(CONNECT, end=False)
        await client.flush()
        while not client.answers[number].status:
            await client.hear()
        client.http.reset_stream(number, ErrorCodes.CANCEL)
        await client.flush()
        await far.closed.wait()
        assert (await client.get()).status == 200

    served(SmallCore(far=far), talk)


def test_a_tunnel_that_cannot_be_is_said() -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        answer = await client.answer(client.ask_with(CONNECT, end=False))
        assert (answer.status, answer.body) == (504, b"no link")

    served(SmallCore(far=Response(504, [], b"no link")), talk)

"""HTTP/2 at the local proxy's port, all the way to an origin and back."""

from __future__ import annotations

import asyncio
import struct

from tests.end_to_end.pair import Asked, FakeOrigin, Pair, all_three, run, until
from tests.local_proxy.http2_client import Client


async def client_of(both: Pair) -> Client:
    client = Client(*await asyncio.open_connection(*both.address))
    await client.begin()
    return client


def ask(client: Client, origin: FakeOrigin, path: str, priority: str = "u=3") -> int:
    authority = origin.base.removeprefix("http://")
    fields = [(":method", "GET"), (":scheme", "http"), (":authority", authority), (":path", path)]
    return client.ask_with([*fields, ("priority", priority)])


def test_many_requests_over_one_connection() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            for n in range(20):
                origin.serve(f"/{n}", f"body {n} ".encode() * 2000, "text/plain")
            client = await client_of(both)
            numbers = [ask(client, origin, f"/{n}") for n in range(20)]
            for n, number in enumerate(numbers):
                answer = await client.answer(number)
                assert (answer.status, answer.body) == (200, f"body {n} ".encode() * 2000)
            client.close()

    run(go())


def test_a_change_of_mind_moves_the_component_in_the_tree() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            finish = asyncio.Event()

            async def slow(asked: Asked) -> None:
                await asked.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab")
                await finish.wait()
                await asked.send(b"cd")

            origin.paths["/slow"] = slow
            client = await client_of(both)
            number = ask(client, origin, "/slow", "u=4")
            await client.flush()
            answer = client.answers[number]
            while not answer.body:
                await client.hear()

            async def becomes(urgency: int, field: bytes) -> None:
                payload = struct.pack("!L", number) + field
                await client.send_raw(len(payload).to_bytes(3) + b"\x10" + bytes(5) + payload)
                tree = both.session.tree
                await until(lambda: [leaf.priority for leaf in tree.leaves()] == [urgency])

            await becomes(1, b"u=2")
            await becomes(0, b"u=4")
            finish.set()
            assert (await client.answer(number)).body == b"abcd"
            client.close()

    run(go())

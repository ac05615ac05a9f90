"""A client's socket, without HTTP."""

from __future__ import annotations

import asyncio
import socket

import pytest

from local_proxy.http.client_socket import ClientSocket


def test_nobody_writes_on_to_a_client_that_has_gone() -> None:
    async def go() -> None:
        ours, theirs = socket.socketpair()
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: ClientSocket(lambda _: None), sock=ours)
        theirs.close()
        with pytest.raises(ConnectionResetError):
            for _ in range(3):  # all in one round of the loop, as of a response that is here
                await client.write(b"more")
        client.close()

    asyncio.run(go())


def test_to_a_client_that_has_reset_its_connection_there_is_nothing_left_to_end() -> None:
    async def go() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            theirs = socket.create_connection(listening.getsockname())
            ours, _ = listening.accept()
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: ClientSocket(lambda _: None), sock=ours)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        theirs.close()
        client.end()  # the loop has not heard of the reset yet
        assert await client.read() == b""
        assert client.lost

    asyncio.run(go())

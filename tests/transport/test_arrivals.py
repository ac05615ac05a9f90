"""Connections that have not said what they are for: one device's crowd takes no other's place."""

from __future__ import annotations

import asyncio
import secrets

from pairing.identity import device_identity, new_identity
from pairing.invitation import SEED_SIZE
from tests.watched import run, until
from transport.stream.accepting_end import MAX_WAITING, Reception
from transport.stream.dialling_end import read_preamble
from transport.stream.preamble import TOKEN, Preamble, What
from transport.tcp.connection import TcpConnection
from transport.tcp.handshakes import dial_secured
from transport.tcp.security import ClientSecurity, ServerSecurity


def test_a_device_that_connects_and_says_nothing_ousts_itself_only() -> None:
    remote = new_identity()
    one, other = (device_identity(secrets.token_bytes(SEED_SIZE)) for _ in range(2))
    known = {one.certificate: "one", other.certificate: "other"}
    server = ServerSecurity(remote.pem, known)

    async def go() -> None:
        reception = Reception(
            lambda link: None,
            patience=1.0,
            congestion=None,
            new_token=lambda: secrets.token_bytes(TOKEN),
        )
        listener = await reception.listen("127.0.0.1", 0, security=server)
        host, port = listener.address
        connections: list[TcpConnection] = []

        async def dial(pem: bytes) -> TcpConnection:
            security = ClientSecurity(pem, pin=remote.pin)
            connections.append(await dial_secured(host, port, security=security))
            return connections[-1]

        quiet = await dial(other.pem)
        await until(lambda: reception.arriving == 1)
        for _ in range(MAX_WAITING + 3):
            await dial(one.pem)
        await until(lambda: reception.arriving <= MAX_WAITING)
        await quiet.send(Preamble(What.OPEN).encode())
        async with asyncio.timeout(60):
            assert (await read_preamble(quiet)).what is What.OPEN
        for connection in connections:
            connection.close()
        listener.close()
        reception.close()
        await until(lambda: not reception.arriving)

    run(go())

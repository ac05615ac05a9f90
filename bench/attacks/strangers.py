"""Strangers at the remote's port: no pairing, or half a handshake, or no protocol at all."""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
from typing import Final

from bench.attacks.tally import AttackTally, Targets
from transport.stream.preamble import Preamble, What

HELD: Final = 400
"""Connections held half open at a time."""
PAUSE: Final = 0.02
"""Seconds between two attempts: fifty a second."""
_PATIENCE: Final = 2.0
"""Seconds for which an answer is waited for."""


async def knock(targets: Targets, tally: AttackTally) -> None:
    """Finish TLS without a certificate, or say something else altogether; through: any answer to
    what a device would say."""
    chance = random.Random(1)
    while True:
        tally.tried()
        await asyncio.sleep(PAUSE)
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(_PATIENCE):
                if await _answered(targets, chance):
                    tally.got("a stranger's first words were answered")


async def _answered(targets: Targets, chance: random.Random) -> bool:
    """Whether the remote says anything to who isn't paired."""
    context = None
    if chance.random() < 0.5:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(*targets.remote, ssl=context)
    try:
        said = Preamble(What.OPEN).encode() if chance.random() < 0.5 else chance.randbytes(300)
        writer.write(said)
        await writer.drain()
        answer = await reader.read(100)
        alert = context is None and answer[:1] == b"\x15"  # TLS's own no (RFC 8446, 6)
        return bool(answer) and not alert
    finally:
        writer.transport.abort()


async def hold(targets: Targets, tally: AttackTally) -> None:
    """Begin handshakes and leave them there, as many as the port takes."""
    held: list[asyncio.StreamWriter] = []
    hello = bytes.fromhex("1603010200010001fc0303")
    try:
        while True:
            await asyncio.sleep(PAUSE)
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(*targets.remote)
                writer.write(hello)
                held.append(writer)
                tally.tried()
            if len(held) > HELD:
                held.pop(0).transport.abort()
    finally:
        for writer in held:
            writer.transport.abort()


class _Ears(asyncio.DatagramProtocol):
    def __init__(self, tally: AttackTally) -> None:
        self._tally = tally

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._tally.got(f"{len(data)} bytes came back over UDP")


async def throw(targets: Targets, tally: AttackTally) -> None:
    """Send datagrams of all sizes; through: any that comes back."""
    chance = random.Random(2)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Ears(tally), remote_addr=targets.remote
    )
    try:
        while True:
            for _ in range(20):
                transport.sendto(chance.randbytes(chance.randint(1, 1400)))
            tally.tried(20)
            await asyncio.sleep(0.1)
    finally:
        transport.close()

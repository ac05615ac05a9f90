"""Two ends of a link over real UDP between the hosts of an emulated world."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from emulation.worlds.cables import World
from pairing.identity import device_identity
from transport.spp.edge.link import SppLink
from transport.spp.edge.udp import connect, listen
from transport.spp.handshake.keys import ClientKeys, ServerKeys
from transport.stream.stream_link import StreamLink
from transport.udp.connection import DEVICE, REMOTE, congestion, udp_connection

NEAR, FAR = (device_identity(seed * 32) for seed in (b"d", b"r"))


@contextlib.asynccontextmanager
async def links_over_udp(
    world: World, *, measures: bool = False
) -> AsyncIterator[tuple[StreamLink, StreamLink]]:
    """The near and the far end, which are not started; `measures`: the far one does."""
    arrived: asyncio.Future[SppLink] = asyncio.get_running_loop().create_future()
    server_keys = ServerKeys(FAR.pem, {NEAR.certificate: "d"})
    own = world.far.new_socket(socket.SOCK_DGRAM)
    async with await listen(
        world.far.address, 0, arrived.set_result, keys=server_keys, settings=REMOTE,
        congestion=congestion, own=own,
    ) as listener:  # fmt: skip
        dialled = await connect(
            *listener.address,
            keys=ClientKeys(NEAR.pem, pin=FAR.pin),
            settings=DEVICE,
            congestion=congestion(),
            own=world.near.new_socket(socket.SOCK_DGRAM),
        )
        near = StreamLink(udp_connection(dialled, lingers=False))
        far = StreamLink(udp_connection(await arrived, lingers=True), measures=measures)
        yield near, far
        near.close()
        far.close()

"""A network between the proxies that passes TCP and, up to a number of bytes, UDP."""

from __future__ import annotations

import asyncio
from typing import Any

from bench.origins.site import Address
from emulation.relay.breaking_way import BreakingWay


class BlockingWay:
    """One port for both protocols, in front of a remote; an async context manager."""

    def __init__(self, target: Address) -> None:
        self._target = target
        self._tcp = BreakingWay(target, rate=1e7)
        self._near: asyncio.DatagramTransport | None = None
        self._towards: dict[Address, asyncio.DatagramTransport] = {}
        self.udp_left: int | None = None
        """Bytes of UDP towards the device that still pass, then none either way; None: all do."""
        self._tcp_before = 0
        """Connections made until then: a busy machine may have been taken for a blocked way."""

    @property
    def address(self) -> Address:
        """Where to connect."""
        return self._tcp.address

    @property
    def tcp_connections(self) -> int:
        """Made since UDP was blocked, or, while it is not, so far."""
        return self._tcp.connections - self._tcp_before

    async def __aenter__(self) -> BlockingWay:
        await self._tcp.__aenter__()
        loop = asyncio.get_running_loop()
        self._near, _ = await loop.create_datagram_endpoint(
            lambda: Arrivals(self._up), local_addr=self._tcp.address
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tcp.__aexit__()
        for one in (self._near, *self._towards.values()):
            if one is not None:
                one.close()

    @property
    def blocks(self) -> bool:
        """Nothing more of UDP passes."""
        return self.udp_left is not None and self.udp_left <= 0

    def _up(self, datagram: bytes, device: Address) -> None:
        if self.blocks:
            return
        if device in self._towards:
            self._towards[device].sendto(datagram)
        else:
            opening = asyncio.get_running_loop().create_task(self._open(device, datagram))
            opening.add_done_callback(lambda done: done.result())

    async def _open(self, device: Address, datagram: bytes) -> None:
        def down(answer: bytes, _: Address) -> None:
            if self.blocks:
                return
            if self.udp_left is not None:
                self.udp_left -= len(answer)
                if self.blocks:
                    self._tcp_before = self._tcp.connections
            assert self._near is not None
            self._near.sendto(answer, device)

        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Arrivals(down), remote_addr=self._target
        )
        self._towards[device] = transport
        transport.sendto(datagram)


class Arrivals(asyncio.DatagramProtocol):
    """Hands datagrams on."""

    def __init__(self, hear: Any) -> None:
        self._hear = hear

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._hear(data, (addr[0], addr[1]))

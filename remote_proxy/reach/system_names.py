"""The system's name service, asked without a thread for each question.

c-ares reads what the system's own resolver reads: /etc/hosts, the name servers, search domains and
options of /etc/resolv.conf, the order of `hosts:` in /etc/nsswitch.conf. It knows files and DNS
and none of that file's other sources. Sources: RFC 1035, RFC 6724 (the order of addresses).
"""

from __future__ import annotations

import socket
from typing import Final

import aiodns
from aiohttp.abc import AbstractResolver, ResolveResult

SERVES: Final = 64
"""Lookups by one channel. It keeps answers and ports for its life, so it is to be short: an answer
is forgotten with it, and forged ones would have to find another port."""
_UNKNOWN: Final = (
    *(aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_ENODATA, aiodns.error.ARES_EBADNAME),
)


class SystemResolver(AbstractResolver):
    """Asks by a channel of c-ares; one for those lookups that overlap."""

    def __init__(self) -> None:
        self._channel: aiodns.DNSResolver | None = None
        self._served = 0
        self._under_way: dict[aiodns.DNSResolver, int] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses, best first. Raises socket.gaierror. A final dot: no search domains."""
        channel = self._take()
        try:
            found = await channel.getaddrinfo(host, family, port, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            unknown = error.args[0] in _UNKNOWN
            code = socket.EAI_NONAME if unknown else socket.EAI_AGAIN
            raise socket.gaierror(code, str(error.args[1])) from error
        finally:
            await self._give_back(channel)
        results = [
            ResolveResult(
                hostname=host,
                host=node.addr[0].decode("ascii"),
                port=port,
                family=node.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for node in found.nodes
        ]
        if not results:
            raise socket.gaierror(socket.EAI_NONAME, "no address")
        return results

    async def close(self) -> None:
        """End what is under way."""
        self._channel = None
        for channel in list(self._under_way):
            await channel.close()
        self._under_way.clear()

    def _take(self) -> aiodns.DNSResolver:
        channel = self._channel
        if channel is None or self._served >= SERVES:
            channel = self._channel = aiodns.DNSResolver()
            self._served = 0
        self._served += 1
        self._under_way[channel] = self._under_way.get(channel, 0) + 1
        return channel

    async def _give_back(self, channel: aiodns.DNSResolver) -> None:
        """Close it with its last lookup: nothing runs while nobody asks."""
        if channel not in self._under_way:  # closed
            return
        self._under_way[channel] -= 1
        if not self._under_way[channel]:
            del self._under_way[channel]
            if channel is self._channel:
                self._channel = None
            await channel.close()

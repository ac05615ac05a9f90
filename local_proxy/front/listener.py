"""The proxy's port: TLS or not, HTTP/2, HTTP/1.1 or SOCKS 5, as a client's first bytes say.

As an HTTPS proxy (PAC: `HTTPS host:port`) it has one HTTP/2 connection with a browser for all
hosts: http pages as requests, https pages as CONNECT streams in it. Must not know: what the
protocols are beyond their first bytes. Sources: RFC 8446, 5.1; RFC 9113, 3.3, 3.4.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from local_proxy.front.http1.front import Admits, FrontStatistics, Http1Front
from local_proxy.front.http2.connection import Http2Connection
from local_proxy.front.http2.flood import PREFACE
from local_proxy.front.http2.websocket import leaves_fields_out
from local_proxy.front.socks.connection import SocksConnection
from local_proxy.front.socks.words import VERSION
from local_proxy.front.tls.client_hello import parse_client_hello
from local_proxy.front.tls.connects import Https
from local_proxy.front.tls.tls_stream import TlsStream
from local_proxy.http.client_socket import ClientSocket
from local_proxy.http.client_stream import ClientStream
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Core

log = structlog.get_logger(__name__)

PROTOCOLS: Final = ("h2", "http/1.1")
_HANDSHAKE: Final = 0x16
"""First byte of a TLS record with a ClientHello."""


class Front:
    """Listens for browsers and serves each in its protocol."""

    def __init__(
        self,
        core: Core,
        *,
        limits: FrontLimits | None = None,
        https: Https | None = None,
        admits: Admits = lambda client, reached: True,
    ) -> None:
        """`https` None: there is no certificate to be had, so no TLS, neither here nor inside.

        `admits`: who is served.
        """
        self._core = core
        self._https = https
        self._http1 = Http1Front(
            core,
            limits=limits,
            https=https,
            http2=self._inside_tls,
            welcome=self._welcome,
            admits=admits,
        )
        self._limits = self._http1.limits

    def __repr__(self) -> str:
        return f"<Front {self._http1!r}>"

    def statistics(self) -> FrontStatistics:
        return self._http1.statistics()

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections; the address as bound (port 0: any free). Raises OSError."""
        return await self._http1.listen(host, port)

    async def close(self) -> None:
        """Stop listening, end every connection, and return when the last task has."""
        await self._http1.close()

    # -- one connection ----------------------------------------------------------------------

    async def _welcome(self, client: ClientSocket) -> None:
        """Serve a new connection, whatever it speaks. Never raises."""
        try:
            async with asyncio.timeout(self._limits.idle_time) as deadline:
                await client.first_bytes(bool)
                deadline.reschedule(asyncio.get_running_loop().time() + self._limits.head_time)
                first = await client.first_bytes(_tells_protocol)
        except TimeoutError:
            client.close()
        except asyncio.CancelledError:  # the front closes
            client.abort()
        else:
            if first[:1] == bytes([_HANDSHAKE]) and self._https is not None:
                await self._take_off_tls(client, self._https)
            elif first[:1] == bytes([VERSION]):
                await SocksConnection(self._http1, client).run()
            elif first.startswith(PREFACE):
                await self._http2(client)
            else:
                await self._http1.serve_proxy(client)

    async def _take_off_tls(self, client: ClientSocket, https: Https) -> None:
        try:
            async with asyncio.timeout(self._limits.head_time):
                hello = await client.first_bytes(_is_hello)
                parsed = parse_client_hello(hello)
                name = parsed.server_name if parsed is not None else None
                if name is None and client.local_address is not None:
                    name = client.local_address[0]
                context = https.authority.context_for(name or "", alpn=PROTOCOLS)
                tls = TlsStream(client, context)
                await tls.handshake(b"")
        except (TimeoutError, ValueError, OSError) as error:  # also: a name for no certificate
            log.info("no TLS with a client", why=str(error) or "too slow")
            client.close()
        except asyncio.CancelledError:  # the front closes
            client.abort()
        else:
            await (self._http2(tls) if tls.alpn == "h2" else self._http1.serve_proxy(tls))

    async def _http2(self, client: ClientStream) -> None:
        connection = Http2Connection(
            self._core,
            client,
            limits=self._limits,
            connects=self._http1.connects,
            tally=self._http1,
            room=self._http1.room,
        )
        await connection.run()

    async def _inside_tls(self, client: ClientStream, origin: str) -> None:
        """An https site's connection (local_proxy.http.client_stream.Serve)."""
        connection = Http2Connection(
            self._core,
            client,
            limits=self._limits,
            origin=origin,
            tally=self._http1,
            room=self._http1.room,
            websockets=not (isinstance(client, TlsStream) and leaves_fields_out(client.program)),
        )
        await connection.run()


def _tells_protocol(data: bytearray) -> bool:
    return bool(data) and (len(data) >= len(PREFACE) or not PREFACE.startswith(data))


def _is_hello(data: bytearray) -> bool:
    try:
        return parse_client_hello(data) is not None
    except ValueError:
        return True

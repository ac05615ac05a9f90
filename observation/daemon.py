"""The observer as a daemon: one UDP socket, and a thread that does nothing but read it.

A turn of asyncio's loop costs several times what is done with a datagram; a thread that waits in
recvfrom spares it. Knows sockets and the clock; what datagrams mean is the service's business.
Source: Bolliger and Gross, 2.1 (observed).
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from monitor.observer.datagrams import MOST
from monitor.observer.model import DeliveredModel
from monitor.observer.observer import SWEEP, BandwidthObserver
from monitor.observer.service import ObserverService
from monitor.observer.throughput_model import ThroughputModel
from observation.addresses import datagrams_at

RECEIVE_BUFFER: Final = 1 << 20
"""Bytes asked for: updates of a thousand connections that come while the daemon is not run."""

_log = structlog.get_logger("observer")


class ObserverDaemon:
    """Serves one socket in a thread of its own."""

    def __init__(self, bound: socket.socket, service: ObserverService) -> None:
        """Owns the socket, which must block; nobody else may use the service meanwhile."""
        self._socket = bound
        self.service = service
        self._ending = False
        seconds = struct.pack("@ll", int(SWEEP), 0)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds)
        self._thread = threading.Thread(target=self._serve, name="observer", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """HOST:PORT of the socket."""
        host, port = self._socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Serve no more."""
        self._ending = True
        with contextlib.suppress(OSError):  # no way to oneself: it wakes by SO_RCVTIMEO
            self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        buffer = bytearray(MOST + 1)  # one for all: a new one for each costs page faults
        view, receive = memoryview(buffer), self._socket.recvfrom_into
        while True:
            size = None
            try:
                size, address = receive(buffer)
            except BlockingIOError:  # SWEEP seconds without a datagram
                self.service.observer.let_go(now=time.monotonic())
            except OSError as error:  # of an answer of ours, say: the socket is none the worse
                _log.info("nothing was received", why=str(error))
            if self._ending:
                return
            if size is not None:
                self._answer(bytes(view[:size]), address)

    def _answer(self, data: bytes, address: Any) -> None:
        try:
            answer = self.service.handle(data, address, now=time.monotonic())
        except Exception:  # a mistake of ours costs one datagram, not the daemon
            _log.exception("a datagram could not be handled")
            return
        if answer is not None:
            self._send(answer, address)

    def _send(self, answer: bytes, address: Any) -> None:
        try:
            self._socket.sendto(answer, address)
        except OSError as error:  # a full buffer, or a way that is gone: they ask again
            _log.info("an answer was lost", why=str(error))


@asynccontextmanager
async def serving(
    host: str, port: int, service: ObserverService | None = None
) -> AsyncIterator[ObserverDaemon]:
    """A daemon that listens there. Raises OSError where it can't."""
    bound, address = datagrams_at(host, port)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    daemon = ObserverDaemon(bound, service or ObserverService(BandwidthObserver()))
    try:
        yield daemon
    finally:
        daemon.close()


async def run(host: str, port: int, *, throughput: bool = False) -> None:
    """Listen and serve until cancelled; prints one line when ready. Raises OSError.

    `throughput`: TCP's models judge what transport sensors see, not what was delivered alone.
    """
    observer = BandwidthObserver(model=ThroughputModel if throughput else DeliveredModel)
    async with serving(host, port, ObserverService(observer)) as daemon:
        heard_by = ipaddress.ip_address(daemon.address.rpartition(":")[0].strip("[]"))
        if not heard_by.is_loopback:
            _log.warning(
                "every host that reaches this one can register connections here and ask about "
                "those of others",
                listen=daemon.address,
            )
        print(f"listening on {daemon.address}", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            service = daemon.service
            _log.info(
                "observed", datagrams=service.statistics(), samples=service.observer.statistics()
            )

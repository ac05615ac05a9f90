"""`sluice status`: the state of a running local proxy, for a terminal."""

from __future__ import annotations

import asyncio
from typing import Final

import h11
import msgspec

from local_proxy.status.setup import Offer
from local_proxy.status.snapshot import DocumentStatus, Estimate, StatusSnapshot

PATIENCE: Final = 5.0
"""Seconds; it's on this machine."""
MAX_ANSWER: Final = 16 << 20


class NoAnswer(Exception):
    """No local proxy there, or something else."""


async def fetch(host: str, port: int, path: str = "/status.json") -> bytes:
    """A page of the proxy's own. Raises NoAnswer."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                return await _get(reader, writer, path)
            finally:
                writer.close()
    except (OSError, TimeoutError, h11.RemoteProtocolError) as error:
        raise NoAnswer(
            f"no local proxy answers at {host}:{port} ({str(error) or 'timeout'}); "
            "start one with `sluice local`, or name it with --proxy"
        ) from error


async def _get(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> bytes:
    http = h11.Connection(h11.CLIENT)
    request = h11.Request(
        method="GET",
        target=f"http://sluice.local{path}",
        headers=[("host", "sluice.local"), ("connection", "close")],
    )
    writer.write(http.send(request) + http.send(h11.EndOfMessage()))
    body = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Response) and event.status_code != 200:
            raise h11.RemoteProtocolError(f"status {event.status_code}")
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_ANSWER:
                raise h11.RemoteProtocolError("an endless answer")
        elif isinstance(event, h11.EndOfMessage):
            return bytes(body)


async def offer(host: str, port: int) -> Offer | None:
    """What the local proxy there says of itself; None: nobody listens. Raises NoAnswer."""
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
    except (OSError, TimeoutError):
        return None
    try:
        return msgspec.json.decode(await fetch(host, port, "/setup.json"), type=Offer)
    except (NoAnswer, msgspec.DecodeError) as error:
        raise NoAnswer(
            f"{host}:{port} is taken by something that is no local proxy of this version; "
            "name another address with --listen"
        ) from error


async def show(host: str, port: int, *, as_json: bool) -> int:
    """Print the state; the exit code."""
    try:
        answer = await fetch(host, port)
        print(
            answer.decode() if as_json else render(msgspec.json.decode(answer, type=StatusSnapshot))
        )
    except NoAnswer as error:
        print(f"sluice: {error}")
        return 1
    except msgspec.DecodeError as error:
        print(f"sluice: {host}:{port} is no local proxy of this version: {error}")
        return 1
    return 0


def render(status: StatusSnapshot) -> str:
    """The snapshot as a few lines of text."""
    link = status.link
    if link.connected:
        over = " over UDP" if link.transport == "udp" else ""
        instead = f" (over TCP: {link.instead})" if link.instead else ""
        lines = [f"link to {link.remote}{over}: up for {_duration(link.seconds)}{instead}"]
    else:
        lines = [f"link to {link.remote}: down for {_duration(link.seconds)}: {link.reason}"]
    lines.append(f"  down {_rate(link.down)}, up {_rate(link.up)}")
    lines.append(f"  received {_size(link.received)}, sent {_size(link.sent)}")
    saved = status.savings.origin_bytes - status.savings.link_bytes
    if saved > 0:
        lines.append(f"  saved {_size(saved)} of {_size(status.savings.origin_bytes)}")
    names = (p.name if p.on else f"{p.name} (off: {p.why_off})" for p in status.policies)
    lines.append("policies: " + ", ".join(names))
    lines += [_document(document) for document in status.documents[:10]]
    lines += [f"{_duration(problem.age)} ago: {problem.text}" for problem in status.problems[:5]]
    return "\n".join(lines)


def _document(document: DocumentStatus) -> str:
    done = sum(component.complete for component in document.components)
    total = len(document.components) + document.more
    mark = "*" if document.front else " "
    return f"{mark} {document.url}: {done} of {total} parts, {_size(document.received)}"


def _rate(estimate: Estimate | None) -> str:
    return "not measured yet" if estimate is None else f"{estimate.rate * 8 / 1000:.4g} kbit/s"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.1f} kB"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

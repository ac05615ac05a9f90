"""`sluice status`: the state of a running local proxy, for a terminal."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

import h11
import msgspec

from local_proxy.front.owner import FIELD, key
from local_proxy.front.users import FOLDER, user_listening
from local_proxy.kept.threads import USERS
from local_proxy.status.offer import Offer
from local_proxy.status.snapshot import (
    DocumentStatus,
    ShownBudget,
    ShownEstimate,
    ShownPath,
    ShownTransport,
    StatusSnapshot,
)
from malformed import MALFORMED
from pairing.errors import PairingError

PATIENCE: Final = 5.0
"""Seconds; it's on this machine."""
MAX_ANSWER: Final = 16 << 20


class NoAnswer(Exception):
    """No local proxy there, or something else."""


class AnothersProxy(NoAnswer):
    """What is there belongs to another user."""


async def fetch(
    host: str, port: int, path: str = "/status.json", *, state: Path | None = None
) -> bytes:
    """A page of the proxy's own. Raises NoAnswer, also where another user's program listens.

    `state`: the proxy's state folder, where its key is, for systems that don't tell whose a
    connection is.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                if (whose := await USERS.run(_another, writer)) is not None:
                    raise AnothersProxy(
                        f"what listens at {host}:{port} is not yours but user {whose}'s, who could "
                        "read all that you sent there; name another address"
                    )
                return await _get(reader, writer, path, credentials(state))
            finally:
                writer.close()
    except (OSError, TimeoutError, h11.RemoteProtocolError) as error:
        raise NoAnswer(
            f"no local proxy answers at {host}:{port} ({str(error) or 'timeout'}); "
            "start one with `sluice local`, or name it with --proxy"
        ) from error


def credentials(state: Path | None) -> list[tuple[str, str]]:
    """Fields that show whose a program is. None where the system tells: whoever listens in the
    proxy's place would have the key."""
    if state is None or (FOLDER / "tcp").exists():
        return []
    try:
        found = key(state)
    except PairingError:
        return []
    return [(FIELD, found.decode("ascii", "replace"))] if found else []


def _another(writer: asyncio.StreamWriter) -> int | None:
    """The user who listens there, if that is neither we nor root; None, too, where nobody tells."""
    user = user_listening(writer.get_extra_info("peername")[:2])
    return user if user is not None and user not in (0, os.getuid()) else None


async def _get(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    path: str,
    fields: list[tuple[str, str]],
) -> bytes:
    http = h11.Connection(h11.CLIENT)
    request = h11.Request(
        method="GET",
        target=f"http://sluice.local{path}",
        headers=[("host", "sluice.local"), ("connection", "close"), *fields],
    )
    writer.write(http.send(request) + http.send(h11.EndOfMessage()))
    body = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Response) and event.status_code == 403:
            raise AnothersProxy(
                "the local proxy there is another user's, and tells its own user alone what it does"
            )
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
    except AnothersProxy:
        raise
    except (NoAnswer, *MALFORMED) as error:
        raise NoAnswer(
            f"{host}:{port} is taken by something that is no local proxy of this version; "
            "name another address with --listen"
        ) from error


async def show(host: str, port: int, *, as_json: bool, state: Path | None = None) -> int:
    """Print the state; the exit code. `state`: as in `fetch`."""
    try:
        answer = await fetch(host, port, state=state)
        print(
            answer.decode() if as_json else render(msgspec.json.decode(answer, type=StatusSnapshot))
        )
    except NoAnswer as error:
        print(f"sluice: {error}")
        return 1
    except MALFORMED as error:
        print(f"sluice: {host}:{port} is no local proxy of this version: {error}")
        return 1
    return 0


def render(status: StatusSnapshot) -> str:
    """The snapshot as a few lines of text."""
    link = status.link
    if link.connected:
        over = {"udp": " over UDP", "paths": f" over {len(link.paths)} paths"}.get(
            link.transport, ""
        )
        instead = f" (over TCP: {link.instead})" if link.instead else ""
        lines = [f"link to {link.remote}{over}: up for {_duration(link.seconds)}{instead}"]
    else:
        lines = [f"link to {link.remote}: down for {_duration(link.seconds)}: {link.reason}"]
    lines.append(f"  down {_rate(link.down)}, up {_rate(link.up)}")
    if link.available is not None:
        lines.append(f"  others leave {_rate(link.available)} of it downwards")
    if link.shared:
        lines.append(f"  other programs use the line too, {' and '.join(link.shared)}")
    if link.tcp is not None:
        lines.append(f"  {_transport(link.tcp)}")
    lines += [f"  {_path(path)}" for path in link.paths]
    lines += [f"  {_budget(budget)}" for budget in link.budgets]
    lines.append(f"  received {_size(link.received)}, sent {_size(link.sent)}")
    saved = status.savings.origin_bytes - status.savings.link_bytes
    if saved > 0:
        lines.append(f"  saved {_size(saved)} of {_size(status.savings.origin_bytes)}")
    if status.texts.count:
        kept = f"{_size(status.texts.bytes)} of {_size(status.texts.most)}"
        spared = f", {_size(status.texts.spared)} spared" if status.texts.spared else ""
        lines.append(f"  {status.texts.count} texts kept ({kept}){spared}")
    lines += [f"  pictures: {one.count} {one.text}" for one in status.pictures]
    names = (p.name if p.on else f"{p.name} (off: {p.why_off})" for p in status.policies)
    lines.append("policies: " + ", ".join(names))
    lines += [_document(document) for document in status.documents[:10]]
    lines += [f"{_duration(problem.age)} ago: {problem.text}" for problem in status.problems[:5]]
    return "\n".join(lines)


def _path(path: ShownPath) -> str:
    words = [f"{path.name}: {_size(path.carried)} came"]
    if path.rate:
        words.append(f"lately {_size(round(path.rate))}/s")
    words.append(f"{path.round_trip * 1000:.0f} ms there and back")
    if not path.answers:
        words.append("it does not answer")
    elif path.quickest:
        words.append("the quickest")
    elif path.spare:
        words.append("spare")
    return ", ".join(words)


def _budget(budget: ShownBudget) -> str:
    if budget.day:
        then = "no pictures until midnight" if budget.duty == "none" else "pages as a saver's"
        return f"{_size(budget.spent)} of {_size(budget.size)} crossed today: {then}"
    state = {
        "spare": ", ahead of its time, so it is a spare one",
        "none": ", so nothing more crosses it",
    }.get(budget.duty, "")
    crossed = f"{_size(budget.spent)} of {_size(budget.size)} crossed this month{state}"
    return f"{budget.name}: {crossed}; the next begins on {budget.until}"


def _document(document: DocumentStatus) -> str:
    done = sum(component.complete for component in document.components)
    total = len(document.components) + document.more
    mark = "*" if document.front else " "
    return f"{mark} {document.url}: {done} of {total} parts, {_size(document.received)}"


def _transport(tcp: ShownTransport) -> str:
    """What TCP says, in a line."""
    again = f", {tcp.retransmitted} of {tcp.segments} segments sent again" if tcp.segments else ""
    return f"round trip {tcp.rtt * 1000:.4g} ms (+-{tcp.rttvar * 1000:.3g}){again}"


def _rate(estimate: ShownEstimate | None) -> str:
    return "not measured yet" if estimate is None else f"{estimate.rate * 8 / 1000:.4g} kbit/s"


def _size(count: int) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

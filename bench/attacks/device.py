"""A hostile device: paired, and out for what the remote can reach, or for all of its time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import socket
from typing import Final

import aiohttp

from bench.attacks.tally import AttackTally, Targets
from bench.pairs.processes import text
from transport.link.interface import LinkError
from transport.stream.preamble import Preamble, What
from wire import messages as m
from wire.frames import Control, Data, FrameWriter

AT_ONCE: Final = 24
"""Names that do not exist, asked for at a time: four times the threads of asyncio's own pool."""
_LIMIT: Final = aiohttp.ClientTimeout(total=20)
_PATIENCE: Final = 2.0


def notations(host: str, port: int) -> list[str]:
    """Addresses that mean a loopback address, as programs have been seen to read them."""
    a, b, c, d = (int(part) for part in host.split("."))
    number = (a << 24) | (b << 16) | (c << 8) | d
    hosts = [
        *(host, f"{host}.", f"{number}", f"{number:#x}", f"{a}.{(b << 16) | (c << 8) | d}"),
        *(f"{a:#o}.{b}.{c}.{d:#o}", f"{a}.{b}.{(c << 8) | d}", f"0{a:o}.{b}.{c}.0{d:o}"),
        *(f"[::ffff:{host}]", f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]", f"[::{host}]"),
        *(f"[64:ff9b::{host}]", f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]"),
        *(f"127.0.0.1@{host}", f"{host}%00.example", f"%31{host[1:]}"),
    ]
    return [f"http://{one}:{port}/" for one in hosts]


async def reach(targets: Targets, tally: AttackTally) -> None:
    """Ask for a server of the remote's own machine by every notation; through: it was reached."""
    urls = notations(*targets.forbidden)
    proxy = f"http://{text(targets.hostile_local)}"
    async with aiohttp.ClientSession(timeout=_LIMIT) as session:
        for url in itertools.cycle(urls):
            before = targets.reached()
            tally.tried()
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
                async with session.get(url, proxy=proxy) as answer:
                    await answer.read()
            if targets.reached() > before:
                tally.got(url)
            await asyncio.sleep(0.1)


async def look_up(targets: Targets, tally: AttackTally) -> None:
    """Have names looked up that do not exist, many at a time, for ever."""
    proxy = f"http://{text(targets.hostile_local)}"
    number = itertools.count()

    async def one(session: aiohttp.ClientSession) -> None:
        while True:
            tally.tried()
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"http://n{next(number)}.invalid/", proxy=proxy) as answer:
                    await answer.read()
            await asyncio.sleep(0.05)

    connector = aiohttp.TCPConnector(limit=AT_ONCE)
    async with (
        aiohttp.ClientSession(timeout=_LIMIT, connector=connector) as session,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(AT_ONCE):
            tasks.create_task(one(session))


async def babble(targets: Targets, tally: AttackTally) -> None:
    """Say what no local proxy says, over a link of its own; through: the remote is gone."""
    chance = random.Random(3)
    said = _absurdities()
    while True:
        tally.tried()
        with contextlib.suppress(LinkError, TimeoutError):
            await _say(targets, Preamble(What.OPEN).encode() + chance.choice(said))
        await asyncio.sleep(0.2)
        try:
            _, writer = await asyncio.open_connection(*targets.remote)
            writer.transport.abort()
        except OSError as error:
            tally.got(f"the remote's port is gone: {error}")


async def _say(targets: Targets, data: bytes) -> None:
    """As the paired device: a handshake, these bytes, and whatever comes back for a while."""
    loop = asyncio.get_running_loop()
    with socket.socket() as connection:
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, targets.remote)
            records = await targets.hostile.secure(connection)
            await loop.sock_sendall(connection, records.protect(data))
            async with asyncio.timeout(_PATIENCE):
                while await loop.sock_recv(connection, 65536):
                    pass
        except OSError as error:
            raise LinkError(str(error)) from error


def _absurdities() -> list[bytes]:
    hello = m.Hello([1], "stranger", "strange")
    far = 1 << 60
    return [
        frames(hello, hello),
        frames(hello, Data(77, b"x" * 100, True)),
        frames(hello, m.Request(2, 2, "GET", "http://127.0.0.1:1/", b"")),
        frames(hello, m.Request(1, 1, "GET", "http://h/", b"\xff\xff\xff\xff")),
        frames(hello, m.Request(1, 1, "GET", "http://h.invalid/", b""), m.Credit(1, far)),
        frames(
            hello, *(m.Request(n, n, "GET", "http://h.invalid/", b"") for n in range(1, 999, 2))
        ),
        frames(hello, m.SetScheduler(["*"], "wf2q_plus", {"a": {"b": 1}})),
        frames(hello, m.SetWeight(["x"] * 1000, 1.0)),
        frames(hello, m.SetPlan([{"level": "nonsense"}, {"kind": 3}])),
        frames(hello, *(m.Fetch(n, "original", timer=1e-9) for n in range(500))),
    ]


def frames(*said: m.Message | Data) -> bytes:
    """Frames that say this."""
    writer = FrameWriter()
    return b"".join(
        writer.encode(one if isinstance(one, Data) else Control(m.encode(one))) for one in said
    )

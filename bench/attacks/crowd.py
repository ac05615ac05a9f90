"""All attacks at once, in a process of their own that gives way to those attacked.

    python -m bench.attacks.crowd remote=... local=... ...

On one machine an attacker's own work takes time from whoever is attacked, as it would not from
elsewhere; so theirs is done when nobody else wants the processors. Says "begun" once every attack
has been tried, and the tallies as JSON when its standard input ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from bench.attacks import device, neighbours, origin, page, strangers
from bench.attacks.tally import Attack, AttackTally, Targets
from bench.origins.site import Address
from bench.pairs.bound import bound
from bench.pairs.processes import text
from pairing.identity import device_identity
from transport.tcp.security import ClientSecurity

ATTACKS: Final[tuple[tuple[str, Attack], ...]] = (
    ("strangers: first words", strangers.knock),
    ("strangers: half handshakes", strangers.hold),
    ("strangers: datagrams", strangers.throw),
    ("device: the remote's own machine", device.reach),
    ("device: names that do not exist", device.look_up),
    ("device: absurd messages", device.babble),
    ("origin: bad answers", origin.answer_badly),
    ("page: another origin's picture", page.read),
    ("page: what its policy forbids", page.have_fetched),
    ("neighbours: the owner's pages", neighbours.look),
)
FORBIDDEN: Final = "127.0.0.9"
"""A server of the remote's own machine that it was not told to reach."""
BEGIN: Final = 60.0
"""Seconds within which all attacks have been tried once."""
LOOK: Final = 0.1


@asynccontextmanager
async def attacking(
    addresses: Mapping[str, Address], *, seed: bytes, pin: bytes
) -> AsyncIterator[list[dict[str, Any]]]:
    """All of them, until the block is left; then the list has a row for each.

    `addresses`: as Targets names them. `seed`, `pin`: of the hostile device. Raises OSError when
    they do not begin, or one of them ends.
    """
    rows: list[dict[str, Any]] = []
    words = (f"{name}={text(address)}" for name, address in addresses.items())
    process = await asyncio.create_subprocess_exec(
        *bound(sys.executable, "-m", __name__, *words, f"seed={seed.hex()}", f"pin={pin.hex()}"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if await process.stdout.readline() != b"begun\n":
            raise OSError("the attacks did not begin")
        yield rows
    finally:
        process.stdin.close()
        said = await process.stdout.read()
        if await process.wait():
            raise OSError("an attack ended by itself")
        rows += json.loads(said)


async def _attack(targets: Mapping[str, str]) -> list[dict[str, Any]]:
    """Until standard input ends. Raises what made an attack end."""
    reached = 0

    def count() -> None:
        nonlocal reached
        reached += 1

    tallies = [AttackTally(name) for name, _ in ATTACKS]
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    async with _forbidden(count) as forbidden:
        there = Targets(
            remote=_address(targets["remote"]),
            local=_address(targets["local"]),
            hostile_local=_address(targets["hostile_local"]),
            hostile=ClientSecurity(
                device_identity(bytes.fromhex(targets["seed"])).pem,
                pin=bytes.fromhex(targets["pin"]),
            ),
            forbidden=forbidden,
            reached=lambda: reached,
        )
        tasks = [
            asyncio.create_task(attack(there, tally))
            for (_, attack), tally in zip(ATTACKS, tallies, strict=True)
        ]
        try:
            await _all_at_it(tallies)
            print("begun", flush=True)
            done, _ = await asyncio.wait((ended, *tasks), return_when=asyncio.FIRST_COMPLETED)
            for task in done - {ended}:
                await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return [tally.as_json() for tally in tallies]


async def _all_at_it(tallies: Sequence[AttackTally]) -> None:
    """Until each has begun: that a second browser starts is no attack."""
    for _ in range(int(BEGIN / LOOK)):
        if all(tally.tries or tally.left_out for tally in tallies):
            return
        await asyncio.sleep(LOOK)
    raise TimeoutError(", ".join(tally.name for tally in tallies if not tally.tries))


@asynccontextmanager
async def _forbidden(count: Any) -> AsyncIterator[Address]:
    """A server that counts who reaches it."""

    async def reached(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret")
        writer.close()

    server = await asyncio.start_server(reached, FORBIDDEN, 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        yield host, port


def _address(said: str) -> Address:
    host, _, port = said.rpartition(":")
    return host, int(port)


def main() -> None:
    """Runs the command."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    targets = dict(word.split("=", 1) for word in sys.argv[1:])
    print(json.dumps(asyncio.run(_attack(targets))))


if __name__ == "__main__":
    main()

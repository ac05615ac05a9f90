"""Many slow links, one a device, in a process of their own.

    python -m bench.capacity.lines --target 127.0.0.1:8119 --count 100 --rate-down 48000 ...

Prints the addresses as one line of JSON and goes on until its standard input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import selectors
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.origins.site import Address
from bench.pairs.bound import bound
from emulation.lines.profiles import Profile
from emulation.relay.relay_engine import Engine
from emulation.relay.relay_settings import RelaySettings


@asynccontextmanager
async def lines(count: int, target: Address, link: Profile) -> AsyncIterator[Sequence[Address]]:
    """Where to dial, one address a line. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *bound(sys.executable, "-m", __name__, f"--target={target[0]}:{target[1]}"),
        f"--count={count}",
        *(f"--{name}={getattr(link, name)}" for name in ("rate_up", "rate_down", "delay", "queue")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        said = await process.stdout.readline()
        if not said:
            raise OSError("the links did not start")
        yield [(host, port) for host, port in json.loads(said)]
    finally:
        process.stdin.close()
        await process.wait()


async def _carry(options: argparse.Namespace) -> None:
    host, _, port = options.target.rpartition(":")
    settings = RelaySettings(
        target=(host, int(port)),
        rate_up=options.rate_up,
        rate_down=options.rate_down,
        delay=options.delay,
        queue=options.queue,
        listen=("127.0.0.1", 0),
    )
    engines = [Engine(settings) for _ in range(options.count)]
    print(json.dumps([engine.address for engine in engines]), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await asyncio.gather(*(engine.close() for engine in engines))


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description="Many slow links, one a device.")
    parser.add_argument("--target", required=True)
    parser.add_argument("--count", type=int, required=True)
    for name in ("rate_up", "rate_down", "delay"):
        parser.add_argument(f"--{name}", type=float, required=True)
    parser.add_argument("--queue", type=int, required=True)
    options = parser.parse_args()
    with asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(selectors.EpollSelector())
    ) as runner:
        runner.run(_carry(options))


if __name__ == "__main__":
    main()

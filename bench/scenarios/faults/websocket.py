"""How much later is a WebSocket's echo beside a transfer that fills the link?

The real proxies, kernel TCP through a relay. One socket says a few bytes a few times a second and
waits for their echo: first alone, then beside a download of a file, a download of text, and an
upload. What is added is the round trip beside the transfer minus the median one alone.
"""

from __future__ import annotations

import asyncio
import base64
import random
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from bench.origins.synthetic import File, Prepared, Shelf, SyntheticPage
from bench.pairs.pair import Pair, tcp_pair, undisturbed
from bench.reports.report import Check
from emulation.lines.profiles import Profile, profile
from local_proxy.front.http1.upgrade import open_websocket
from local_proxy.http.model import Duplex, Request, Response
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from remote_proxy.reach.connector import Reach
from remote_proxy.reach.guard import Guard

GOAL: Final = 0.12
"""Seconds added, median: below it people feel that they are answered at once."""
MESSAGES: Final = 40
BETWEEN: Final = (0.1, 0.35)
"""Seconds between messages: no multiple of what is periodic in the gate."""
SIZE: Final = 40
"""Bytes of a message: a chat's line."""
WARM_UP: Final = 4.0
"""Seconds of the transfer before the first message."""
LINKS: Final = ("384k", "56k")
_FILE: Final = "http://file.test/"
_TEXT: Final = "http://text.test/"
_SINK: Final = "http://sink.test/"
_SWITCH: Final = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
)


class _Origin(Shelf):
    """Has the files, takes uploads, and lets tunnels reach the echo server."""

    def __init__(self, files: dict[str, File]) -> None:
        super().__init__([SyntheticPage(_FILE, files)])
        self.reach = Reach(Guard(["127.0.0.1"]))

    async def fetch(self, request: Any) -> Any:
        if request.body is not None:
            async for _ in request.body:
                pass
        return await super().fetch(request)


@asynccontextmanager
async def _echo_server() -> AsyncIterator[str]:
    """Agrees to the switch and echoes what comes after; its host:port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(_SWITCH)
            while data := await reader.read(65536):
                writer.write(data)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _round_trips(far: Duplex, *, seed: int) -> list[float]:
    """Seconds of each message until its echo is whole."""
    loop, pauses, found = asyncio.get_running_loop(), random.Random(seed), []
    for _ in range(MESSAGES):
        await asyncio.sleep(pauses.uniform(*BETWEEN))
        sent, left = loop.time(), SIZE
        await far.write(bytes(SIZE))
        while left:
            left -= len(await far.read())
        found.append(loop.time() - sent)
    return found


async def _load(pair: Pair, beside: str) -> None:
    """The transfer, until it is cancelled."""
    upload = _endless() if beside == "upload" else None
    url = {"download": _FILE, "text": _TEXT, "upload": _SINK}[beside]
    request = Request("POST" if upload else "GET", url, [("accept", "*/*")], body=upload)
    response = await pair.local.core.handle(request)
    assert not isinstance(response.body, bytes), response
    async for _ in response.body:
        pass


async def _endless() -> AsyncIterator[bytes]:
    while True:
        yield bytes(65536)


async def _measure(link: Profile, beside: str, files: dict[str, File], seed: int) -> dict[str, Any]:
    async with (
        _echo_server() as host,
        tcp_pair(link, Services(_Origin(files), Prepared({})), [Default()]) as pair,
    ):
        socket = await open_websocket(
            pair.local.core, Request("GET", f"http://{host}/", [("host", host)])
        )
        assert not isinstance(socket, Response), socket.status
        alone = await _round_trips(socket.far, seed=seed)
        transfer = asyncio.create_task(_load(pair, beside))
        await asyncio.sleep(WARM_UP)
        before = len(pair.tap.arrivals)
        with_it = await _round_trips(socket.far, seed=seed + 1)
        came = pair.tap.arrivals[before:]
        transfer.cancel()
        await asyncio.gather(transfer, return_exceptions=True)
        await socket.far.close()
        assert pair.relay is not None
        late = pair.relay.statistics().lateness
        rate = sum(one.size for one in came) / max(came[-1].at - came[0].at, 0.001)
    base = statistics.median(alone)
    added = sorted(one - base for one in with_it)
    return {
        "profile": link.name,
        "beside": beside,
        "alone_s": round(base, 4),
        "alone_spread_s": [round(min(alone), 4), round(max(alone), 4)],
        "added_median_s": round(statistics.median(added), 4),
        "added_spread_s": [round(added[0], 4), round(added[-1], 4)],
        "added_p90_s": round(added[round(0.9 * (len(added) - 1))], 4),
        "down_used": round(rate / link.rate_down, 3),
        "relay_late_ms": [round(one * 1e3, 2) for one in late],
    }


def _files(link: Profile, seed: int) -> dict[str, File]:
    """Each longer than the run. Text of random letters: three quarters of it cross the link."""
    size = int(link.rate_down * (WARM_UP + 2 * MESSAGES * sum(BETWEEN)))
    noise = random.Random(seed).randbytes(size)
    return {
        _FILE: File("application/zip", noise),
        _TEXT: File("text/plain", base64.b64encode(noise)),
    }


def _run(link: Profile, beside: str, files: dict[str, File], seed: int) -> dict[str, Any]:
    return asyncio.run(_measure(link, beside, files, seed))


def run(*, profile_name: str | None = None, seed: int = 1) -> dict[str, Any]:
    """Each link, beside each transfer."""
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    print(
        f"{'link':<6}{'beside':<10}{'alone':>8}{'added':>8}{'p90':>8}{'most':>8}{'down used':>11}"
    )
    for name in [profile_name] if profile_name else LINKS:
        link = profile(name)
        files = _files(link, seed)
        for beside in ("download", "text", "upload"):
            row = undisturbed(partial(_run, link, beside, files, seed))
            rows.append(row)
            print(
                f"{name:<6}{beside:<10}{row['alone_s']:>8.3f}{row['added_median_s']:>8.3f}"
                f"{row['added_p90_s']:>8.3f}{row['added_spread_s'][1]:>8.3f}"
                f"{row['down_used']:>11.2f}  relay late {row['relay_late_ms']} ms"
            )
            if name == "384k":
                checks[f"{name}: echo beside {beside}"] = Check(
                    row["added_median_s"],
                    "s added, median",
                    f"<= {GOAL:g}",
                    row["added_median_s"] <= GOAL,
                )
    return {"runs": rows, "checks": checks}

"""Does the remote's shared cache keep to HTTP's rules, by a suite that was not written for it?

http-tests' cache-tests (BSD-3-Clause) plays client and origin at once: both proxies stand between,
with `store = "memory"`. Its client knows no proxies, so a front turns what it asks into a proxy's
requests. `make bench-peers` installs the suite where npm is.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.origins.site import Address
from bench.pairs.ports import HOST, free_port
from bench.pairs.processes import named_command, text
from bench.reports.report import Check
from bench.rivals.program import program

SUITE: Final = Path(__file__).resolve().parents[3] / ".peers" / "cache-tests"
NOT_OURS: Final = {
    "cdn-cache-control": "said to caches that a site has hired",
    "interim": "HTTP/1.1 clients get none, for old ones take one for the answer (RFC 8297, 3)",
}
"""Groups of tests that don't speak of this cache, and why; what fails of them is shown apart."""
PATIENCE: Final = 600.0
"""Seconds for all of its tests; they pause for 70, some at a time."""
GOAL: Final = 262
"""Tests that Squid passes, by the suite's own results."""
_READ: Final = """
import tests from '{suite}/tests/index.mjs'
import {{ determineTestResult }} from '{suite}/test-engine/lib/results.mjs'
import {{ readFileSync }} from 'fs'
const results = JSON.parse(readFileSync(process.argv[2]))
const rows = tests.flatMap(suite => suite.tests.map(test => ({{
  id: test.id, group: suite.id, kind: test.kind || 'required', name: test.name,
  ran: test.id in results, passed: results[test.id] === true,
  failed: determineTestResult(tests, test.id, results)[2] === '⛔️',
  why: (results[test.id] || [])[1] || ''
}})))
console.log(JSON.stringify(rows))
"""
"""Says what became of each test; the suite judges none whose ground another has not passed."""


_NUMBERED: Final = """
import http from 'http'
const create = http.createServer
http.createServer = serve => create((request, response) => {
  request.headers['req-num'] = (request.headers['user-agent'] || '').split('cache-tests/')[1]
  serve(request, response)
})
"""
"""Gives the suite's origin the number of a request back, which the front hid in User-Agent: an
answer to fields that no browser sends is for nobody else."""
_NOT_SAID: Final = {b"connection", b"keep-alive", b"test-name", b"test-id", b"user-agent"}


@asynccontextmanager
async def _front(proxy: Address, origin: Address) -> AsyncIterator[Address]:
    """A server that asks the proxy for what it is asked, as if it were that origin's."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, rest = head.split(b" ", 2)
            version, _, fields = rest.partition(b"\r\n")
            whole = b"http://" + text(origin).encode() + target
            lines = list(_as_a_browser(fields.split(b"\r\n")))
            near, far = await asyncio.open_connection(*proxy)
            far.write(b" ".join((method, whole, version)) + b"\r\nConnection: close\r\n")
            far.write(b"\r\n".join(lines))
            async with asyncio.TaskGroup() as both:
                up = both.create_task(_carry(reader, far))
                await _carry(near, writer)
                up.cancel()
            far.close()
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    try:
        yield server.sockets[0].getsockname()[:2]
    finally:
        server.close()


def _as_a_browser(lines: list[bytes]) -> Iterator[bytes]:
    """The fields, the suite's own ones in one that browsers send; none of the connection."""
    for line in lines:
        name, _, value = line.partition(b":")
        if name.lower() == b"req-num":
            yield b"User-Agent: cache-tests/" + value.strip()
        elif name.lower() not in _NOT_SAID:
            yield line


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        sink.write(data)
        await sink.drain()


async def _node(suite: Path, *arguments: str, environment: dict[str, str] | None = None) -> bytes:
    """What it says. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *("node", "--no-warnings", *arguments),
        cwd=suite,
        env={**os.environ, **(environment or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, said = await process.communicate()
    if process.returncode:
        raise OSError(f"node: {said.decode(errors='replace')[-600:]}")
    return out


@asynccontextmanager
async def _suite_origin(suite: Path, folder: Path) -> AsyncIterator[Address]:
    """The suite's own server. Raises OSError."""
    port = free_port()
    numbered = folder / "numbered.mjs"
    numbered.write_text(_NUMBERED)
    served = {
        "npm_config_protocol": "http",
        "npm_config_port": str(port),
        "npm_config_pidfile": str(folder / "pid"),
    }
    variables = (f"{name}={value}" for name, value in served.items())
    script = str(suite / "test-engine/server/server.mjs")
    command = ("env", *variables, "node", "--import", str(numbered), script)
    async with program(*command, port=port, folder=folder) as origin:
        yield origin


@asynccontextmanager
async def _pair(folder: Path) -> AsyncIterator[Address]:
    """Both proxies, with a store in memory: where browsers ask. Raises OSError."""
    loopback = ("--listen=127.0.0.1:0", "--security=none")
    stored = {"SLUICE_REMOTE_STORE": "memory", "SLUICE_REMOTE_STATE": str(folder / "remote")}
    kept = {"SLUICE_LOCAL_STATE": str(folder / "local")}
    far = named_command("remote", *loopback, "--allow=127.0.0.0/8", environment=stored)
    async with far as (remote, _):
        near = named_command("local", *loopback, f"--remote={text(remote)}", environment=kept)
        async with near as (local, _):
            yield local


async def _results(suite: Path) -> list[dict[str, Any]]:
    """A row for each of its tests that ran. Raises OSError."""
    async with AsyncExitStack() as ends:
        folder = Path(ends.enter_context(TemporaryDirectory()))
        origin = await ends.enter_async_context(_suite_origin(suite, folder))
        local = await ends.enter_async_context(_pair(folder))
        front = await ends.enter_async_context(_front(local, origin))
        asked = {"npm_config_base": f"http://{text(front)}", "npm_package_config_id": ""}
        results = folder / "results.json"
        results.write_bytes(await _node(suite, "test-engine/cli.mjs", environment=asked))
        reader = folder / "read.mjs"
        reader.write_text(_READ.format(suite=suite))
        rows: list[dict[str, Any]] = json.loads(await _node(suite, str(reader), str(results)))
        return [row for row in rows if row.pop("ran")]


def run() -> dict[str, Any]:
    """All of its tests but those for browsers."""
    if shutil.which("node") is None or not SUITE.is_dir():
        print("not here: node and http-tests' cache-tests (make bench-peers installs the suite)")
        return {"checks": {}, "runs": []}
    rows = asyncio.run(_results(SUITE))
    passed = sum(row["passed"] for row in rows)
    failed = [row for row in rows if row["failed"]]
    broken = [row for row in failed if row["group"] not in NOT_OURS]
    groups = Counter(row["group"] for row in rows)
    print(f"{'group':<20}{'passed':>8}{'of':>6}")
    for group, size in groups.items():
        done = sum(row["passed"] for row in rows if row["group"] == group)
        print(f"{group:<20}{done:>8}{size:>6}")
    print(f"{'all':<20}{passed:>8}{len(rows):>6}")
    for row in failed:
        of = NOT_OURS.get(row["group"], "BROKEN")
        print(f"  {row['id']}: {row['why']} ({of})")
    checks = {
        "tests passed": Check(passed, f"of {len(rows)}", f">= {GOAL}", passed >= GOAL),
        "required of a shared cache, and broken": Check(len(broken), "tests", "none", not broken),
    }
    return {"runs": rows, "checks": checks}

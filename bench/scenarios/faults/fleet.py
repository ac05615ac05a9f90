"""Does a fleet lose anything when one part after the other of it is killed?

Two remotes of two processes behind HAProxy with one identity, one store and a Dask cluster; devices
of this process, each behind a link of its own. First all load the same page: its origin is asked
once, its pictures are made once. Then each loads pages of its own, some of which all load, and in
the middle a worker, the scheduler, the store and a remote are killed, one after the other, none of
which comes back.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import aiohttp
from aiohttp import web

from bench.capacity.crowd import device_at
from bench.capacity.lines import lines
from bench.origins import scripted
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import Address, content_type
from bench.origins.visits import commented
from bench.pairs import haproxy
from bench.pairs.dask_cluster import dask_cluster
from bench.pairs.ports import HOST, free_port
from bench.pairs.processes import named_command, text
from bench.pairs.processor_time import descendants
from bench.pairs.valkey_server import MISSING, SERVER, valkey
from bench.reports.report import Check
from bench.scenarios.entry import ARTICLE
from emulation.lines.profiles import Profile, profile
from pairing.invitation import Invitation
from pairing.store import PairingStore

DEVICES: Final = 50
LATER: Final = 3.0
"""Seconds by which pages may be later where something was killed."""
SPREAD: Final = 20.0
"""Seconds over which the devices of one phase begin."""
KILLED_AT: Final = 0.3
"""Part of it after which something is killed."""
LIMIT: Final = 120.0
"""Seconds for a page."""
REMOTES: Final = 2
PROCESSES: Final = 2
"""Of each."""
WORKERS: Final = 2
_FIGURE: Final = re.compile(r"^sluice_remote_(cluster_jobs_total\{where=\"\w+\"\}) (\S+)$", re.M)


@dataclass(frozen=True, slots=True)
class FleetLoad:
    """One page of one device, and a picture of it byte for byte."""

    seconds: float
    wrong: str = ""


class _Origin:
    """Serves one page under any number of names, and counts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.asked: Counter[str] = Counter()

    async def answer(self, request: web.Request) -> web.Response:
        """Any device may share it."""
        self.asked[request.path] += 1
        path = (self._folder / request.match_info["file"]).resolve()
        if not path.is_relative_to(self._folder) or not path.is_file():
            raise web.HTTPNotFound
        headers = {"cache-control": "public, max-age=3600", "content-type": content_type(path)}
        return web.Response(body=_file(path, request.match_info["visit"]), headers=headers)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Address]:
        app = web.Application()
        app.router.add_get("/{visit}/{file:.+}", self.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, HOST, port).start()
        try:
            yield HOST, port
        finally:
            await runner.cleanup()


@dataclass(slots=True)
class _Fleet:
    origin: _Origin
    at: Address
    """The origin's."""
    page: Path
    ports: Sequence[Address]
    """Of the devices."""
    statuses: Sequence[str]
    """Of the remotes."""
    victims: Mapping[str, Callable[[], Awaitable[None]]]
    """How each is killed."""

    async def load(self, device: int, visit: str) -> FleetLoad:
        """A page as a browser asks for it, then a picture as a program does, byte for byte."""
        proxy = f"http://{text(self.ports[device])}"
        there = PageAccess(base=f"http://{text(self.at)}/", statistics=no_link, proxy=proxy)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            found = await scripted.fetch_page(
                there, f"{visit}/index.html", navigates=True, limit=LIMIT
            )
            picture = next(one for one in found if one.resource.kind == "image").resource.url
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=LIMIT)) as session,
                session.get(picture, proxy=proxy) as answer,
            ):
                body = await answer.read()
            took = loop.time() - began
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return FleetLoad(loop.time() - began, f"{type(error).__name__} {error}"[:200])
        style = next((one for one in found if one.resource.kind == "style"), None)
        checked = [(picture, body)] + ([(style.resource.url, style.body)] if style else [])
        for url, data in checked:
            name = url.split("/", 4)[4]
            if _digest(data) != _digest(_file(self.page / name, visit)):
                return FleetLoad(took, f"{name} is not what the origin has")
        return FleetLoad(took)

    async def all_load(self, visit: Callable[[int], str], *, spread: float) -> list[FleetLoad]:
        """Each device a page, begun evenly."""

        async def one(number: int) -> FleetLoad:
            await asyncio.sleep(number * spread / len(self.ports))
            return await self.load(number, visit(number))

        return list(await asyncio.gather(*(one(number) for number in range(len(self.ports)))))

    async def made(self) -> float:
        """Forms of pictures that were made, wherever."""
        total = 0.0
        async with aiohttp.ClientSession() as session:
            for status in self.statuses:
                async with session.get(f"http://{status}/metrics") as answer:
                    total += sum(float(value) for _, value in _FIGURE.findall(await answer.text()))
        return total


def _file(path: Path, visit: str) -> bytes:
    """A file of one visit: what was made of another visit's pictures is of no use."""
    return commented(path.read_bytes(), visit.encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class _Remote:
    """One machine's command, with its processes."""

    process: int
    addresses: Sequence[Address]
    statuses: Sequence[str]

    async def kill(self) -> None:
        """All of it in one moment, as a machine goes."""
        for one in (self.process, *descendants(self.process)):
            os.kill(one, signal.SIGKILL)


@asynccontextmanager
async def _remote(state: Path, store: str, scheduler: str, devices: int) -> AsyncIterator[_Remote]:
    first = free_port(row=PROCESSES)
    environment = {
        "SLUICE_REMOTE_STATUS": f"{HOST}:{first}",
        "SLUICE_REMOTE_STORE": store,
        "SLUICE_REMOTE_DASK": scheduler,
        "SLUICE_REMOTE_DEVICES": str(devices),
        "SLUICE_REMOTE_STATE": str(state),
        "SLUICE_REMOTE_PROCESSES": str(PROCESSES),
    }
    arguments = ("--listen=127.0.0.1:0", "--allow=127.0.0.0/8")
    async with named_command("remote", *arguments, environment=environment) as (_, process):
        statuses = [f"{HOST}:{first + number}" for number in range(PROCESSES)]
        yield _Remote(process, PairingStore(state).listened(), statuses)


def _states(folder: Path, devices: int) -> tuple[list[Path], list[Invitation]]:
    """A state folder for each remote, of one identity, that all know the same devices."""
    states = [folder / f"remote{number}" for number in range(REMOTES)]
    pairings = PairingStore(states[0])
    known = [pairings.pair(f"d{n}", host=HOST, port=1) for n in range(devices)]
    for state in states[1:]:
        shutil.copytree(states[0], state)
    return states, known


@asynccontextmanager
async def _fleet(page: Path, link: Profile, devices: int) -> AsyncIterator[_Fleet]:
    origin = _Origin(page)
    async with AsyncExitStack() as ends:
        folder = Path(ends.enter_context(TemporaryDirectory(prefix="sluice-fleet-")))
        at = await ends.enter_async_context(origin.serving())
        store = await ends.enter_async_context(valkey(folder))
        cluster = await ends.enter_async_context(dask_cluster(folder, workers=WORKERS))
        states, known = _states(folder, devices)
        remotes = [
            await ends.enter_async_context(_remote(state, store.url, cluster.address, devices))
            for state in states
        ]
        addresses = [address for remote in remotes for address in remote.addresses]
        front = await ends.enter_async_context(haproxy.haproxy(addresses, folder))
        links = await ends.enter_async_context(lines(devices, front, link))
        ports = [
            await ends.enter_async_context(device_at(at_link, invitation))
            for at_link, invitation in zip(links, known, strict=True)
        ]
        victims = {
            "worker": lambda: cluster.kill(cluster.workers[0]),
            "scheduler": lambda: cluster.kill(cluster.scheduler),
            "store": store.kill,
            "remote": remotes[0].kill,
        }
        statuses = [status for remote in remotes for status in remote.statuses]
        yield _Fleet(origin, at, page, ports, statuses, victims)


async def _measure(page: Path, link: Profile, devices: int, spread: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    async with _fleet(page, link, devices) as fleet:
        made = await fleet.made()
        first = await fleet.load(0, "same")
        of_one = await fleet.made() - made
        asked = sum(fleet.origin.asked.values())
        same = await fleet.all_load(lambda _: "same", spread=spread / 4)
        rows.append(
            _row("same page", [first, *same])
            | {
                "origin_asked": sum(fleet.origin.asked.values()) - asked,
                "made_first": of_one,
                "made_again": await fleet.made() - made - of_one,
            }
        )
        rows.append(
            _row("nothing killed", await fleet.all_load(partial(_of, "quiet"), spread=spread))
        )
        for victim, kill in fleet.victims.items():
            loading = asyncio.ensure_future(fleet.all_load(partial(_of, victim), spread=spread))
            await asyncio.sleep(KILLED_AT * spread)
            await kill()
            rows.append(_row(f"{victim} killed", await loading))
            print(f"  {rows[-1]}", flush=True)
    return rows


def _of(phase: str, device: int) -> str:
    """The page that only this device loads, and only in this phase."""
    return f"{phase}{device}"


def _row(name: str, loads: Sequence[FleetLoad]) -> dict[str, Any]:
    seconds = [one.seconds for one in loads]
    return {
        "phase": name,
        "pages": len(loads),
        "wrong": sum(bool(one.wrong) for one in loads),
        "why": sorted({one.wrong for one in loads if one.wrong})[:5],
        "median_s": round(median(seconds), 2),
        "most_s": round(max(seconds), 2),
    }


def judge(rows: Sequence[dict[str, Any]]) -> dict[str, Check]:
    """By phase."""
    by_phase = {row["phase"]: row for row in rows}
    same, quiet = by_phase["same page"], by_phase["nothing killed"]
    checks = {
        "same page: origin asked again": Check(
            same["origin_asked"], "requests", "none", not same["origin_asked"]
        ),
        "same page: pictures made for the first": Check(
            same["made_first"], "forms", "some", same["made_first"] > 0
        ),
        "same page: pictures made again": Check(
            same["made_again"], "forms", "none", not same["made_again"]
        ),
    }
    for phase, row in by_phase.items():
        checks[f"{phase}: lost or wrong"] = Check(row["wrong"], "pages", "none", not row["wrong"])
        if phase.endswith("killed") and row is not quiet:
            later = row["most_s"] - quiet["most_s"]
            checks[f"{phase}: the latest page, later by"] = Check(
                round(later, 2), "s", f"<= {LATER:g}", later <= LATER
            )
    return checks


def run(*, size: int = DEVICES, scale: float = 1.0, profile_name: str = "384k") -> dict[str, Any]:
    """`size`: devices. `scale`: of the time over which their pages begin."""
    missing = [] if SERVER else [MISSING]
    missing += [] if haproxy.executable() else ["no haproxy (make bench-peers)"]
    if missing:
        print(f"not here: {'; '.join(missing)}")
        return {"checks": {}, "runs": []}
    rows = asyncio.run(_measure(ARTICLE, profile(profile_name), size, scale * SPREAD))
    print(f"{'phase':<18}{'pages':>6}{'wrong':>6}{'median':>8}{'most':>8}")
    for row in rows:
        print(
            f"{row['phase']:<18}{row['pages']:>6}{row['wrong']:>6}"
            f"{row['median_s']:>8.2f}{row['most_s']:>8.2f}"
        )
    return {"runs": rows, "checks": judge(rows)}

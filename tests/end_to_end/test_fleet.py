"""Two remote proxies with one store, as processes: what one has fetched and made the other has too.

The store is a real one, of Debian's packages. What it loses, or that it dies, costs work alone.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import re
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from bench.pairs.dask_cluster import dask_cluster
from bench.pairs.ports import free_port
from bench.pairs.processes import named_command, text
from bench.pairs.valkey_server import MISSING, SERVER, ValkeyServer, valkey
from pairing.store import PairingStore
from tests.end_to_end.client import Browser
from tests.end_to_end.origin import Asked, FakeOrigin
from tests.end_to_end.test_page_load import PHOTO, SITE, same_pixels
from tests.watched import run, until

pytestmark = pytest.mark.skipif(SERVER is None, reason=MISSING)
LASTING = [("cache-control", "public, max-age=600")]
PAGES = ("page", "meanwhile", "later")
"""Each has a picture of its name. What a device has had its remote does not fetch again."""
LOOPBACK = ("--listen=127.0.0.1:0", "--security=none")
OTHER = SITE / "news/img/03-space.jpg"
STYLE = b"body { color: red }\n" * 500


@dataclass
class FleetRemote:
    """One of the remotes, as a process."""

    address: str
    process: int
    status: str
    """Where it tells what it does."""

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)


@dataclass
class Device:
    """A local proxy at a remote of its own."""

    browser: Browser
    status: str
    """Where its remote tells what it does."""

    async def figure(self, name: str) -> float:
        """A figure of its remote."""
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"http://{self.status}/metrics") as answer,
        ):
            lines = await answer.text()
        found = re.search(rf"^{re.escape('sluice_remote_' + name)} (\S+)$", lines, re.MULTILINE)
        assert found, lines
        return float(found[1])

    async def has_store(self, origin: FakeOrigin) -> None:
        """Until its remote has tried the store again, and found it."""
        for number in range(100):
            await self.browser.get(f"{origin.base}/nothing{number}")
            if await self.figure('store_up{store="valkey"}'):
                return
            await asyncio.sleep(0.2)
        raise AssertionError("it does not use the store again")

    async def page(self, origin: FakeOrigin, name: str = "page") -> None:
        """Loads it, and its picture at all levels."""
        page = f"{origin.base}/{name}"
        answer = await self.browser.navigate(page)
        assert answer.status == 200
        assert b"words" in answer.body
        style = await self.browser.get(f"{origin.base}/s.css")
        assert style.body == STYLE
        picture = await self.browser.image(f"{origin.base}/{name}.jpg", page)
        assert same_pixels(picture.body, PHOTO.read_bytes())


@asynccontextmanager
async def fleet_remote(
    store: str, folder: Path, *, dask: str = "", **settings: str
) -> AsyncIterator[FleetRemote]:
    status = f"127.0.0.1:{free_port()}"
    environment = {"SLUICE_REMOTE_STORE": store, "SLUICE_REMOTE_STATUS": status}
    environment |= {"SLUICE_REMOTE_DASK": dask}
    more = {"SLUICE_REMOTE_STATE": str(folder / "remote"), "SLUICE_REMOTE_WORTH": "0"}
    arguments = (*LOOPBACK, "--allow=127.0.0.0/8")
    environment |= more | settings
    async with named_command("remote", *arguments, environment=environment) as one:
        yield FleetRemote(text(one[0]), one[1], status)


@asynccontextmanager
async def device(folder: Path, *remotes: FleetRemote) -> AsyncIterator[Device]:
    """One that may use all of these, the first if it can."""
    own = {"SLUICE_LOCAL_STATE": str(folder / "local")}
    where = ",".join(one.address for one in remotes)
    async with named_command("local", *LOOPBACK, f"--remote={where}", environment=own) as one:
        yield Device(Browser(one[0]), remotes[0].status)


@asynccontextmanager
async def fleet(
    folder: Path, **settings: str
) -> AsyncIterator[tuple[ValkeyServer, FakeOrigin, Device, Device]]:
    origin = FakeOrigin()
    html = "<!doctype html><html><head><link rel=stylesheet href=/s.css></head><body>words"
    for name in PAGES:
        origin.serve(f"/{name}", f"{html}<img src=/{name}.jpg>".encode(), headers=LASTING)
        origin.serve(f"/{name}.jpg", PHOTO.read_bytes(), "image/jpeg", headers=LASTING)
    origin.serve("/s.css", STYLE, "text/css", headers=LASTING)
    async with AsyncExitStack() as ends:
        server = await ends.enter_async_context(valkey(folder))
        await ends.enter_async_context(origin.running())
        devices = []
        for name in ("a", "b"):
            remote = await ends.enter_async_context(
                fleet_remote(server.url, folder / name, **settings)
            )
            devices.append(await ends.enter_async_context(device(folder / name, remote)))
        yield server, origin, *devices


def test_what_one_device_had_the_next_has_and_a_store_that_dies_costs_work_alone(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        async with fleet(tmp_path) as (server, origin, first, second):
            await first.page(origin)
            counts = origin.counts()
            assert counts == {"/page": 1, "/s.css": 1, "/page.jpg": 1}
            assert await first.figure("pictures_spared_total") == 0
            await second.page(origin)
            assert origin.counts() == counts
            assert await second.figure("pictures_spared_total") >= 2  # the low level, finer ones
            assert await second.figure('answers_total{how="given"}') >= 3
            assert await second.figure('store_up{store="valkey"}') == 1

            origin.serve("/both", b"words", headers=LASTING)
            asking = (one.browser.navigate(f"{origin.base}/both") for one in (first, second))
            await asyncio.gather(*asking)
            assert origin.counts()["/both"] == 1

            origin.serve("/private", b"mine", headers=[("cache-control", "private, max-age=600")])
            origin.serve("/cookie", b"mine", headers=[*LASTING, ("set-cookie", "a=1")])
            for path in ("/private", "/cookie"):
                for one in (first, second):
                    assert (await one.browser.navigate(origin.base + path)).body.endswith(b"mine")
                assert origin.counts()[path] == 2

            await first.page(origin, "meanwhile")
            assert origin.counts()["/meanwhile.jpg"] == 1
            await server.kill()
            await second.page(origin, "meanwhile")  # of which it has had nothing
            assert origin.counts()["/meanwhile"] == origin.counts()["/meanwhile.jpg"] == 2
            assert await second.figure('store_up{store="valkey"}') == 0
            await server.start()
            for one in (first, second):
                await one.has_store(origin)
            await first.page(origin, "later")
            counts = origin.counts()
            await second.page(origin, "later")
            assert origin.counts() == counts
            assert counts["/later"] == counts["/later.jpg"] == 1

    run(go(), timeout=180)


def test_a_day_s_bytes_count_at_all_remotes(tmp_path: Path) -> None:
    """The two devices have one name, as one that changes its remote has."""

    async def go() -> None:
        async with fleet(tmp_path, SLUICE_REMOTE_MAX_BYTES_PER_DAY="300000") as (
            _,
            origin,
            first,
            second,
        ):
            origin.serve("/most", random.Random(3).randbytes(250_000), "application/zip")
            origin.serve("/some", random.Random(4).randbytes(60_000), "application/zip")
            assert len((await first.browser.get(f"{origin.base}/most")).body) == 250_000
            statuses = []
            for _ in range(5):  # by its own count it may have five
                statuses.append((await second.browser.get(f"{origin.base}/some")).status)
                await asyncio.sleep(1.0)
            assert statuses[0] == 200
            assert statuses[-1] == 429
            assert statuses.count(200) <= 3

    run(go(), timeout=180)


async def holds(store: ValkeyServer, names: int) -> None:
    """Until it has so many."""
    for _ in range(300):
        if await store.count() >= names:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"the store has {await store.count()} names")


async def refused(browser: Browser, url: str) -> bool:
    """Whether pages come no more, soon."""
    for _ in range(100):
        if (await browser.navigate(url)).status >= 500:
            return True
        await asyncio.sleep(0.2)
    return False


def test_who_is_paired_with_one_remote_is_known_to_all_and_goes_on_at_another(
    tmp_path: Path,
) -> None:
    data = random.Random(1).randbytes(300_000)

    async def slowly(asked: Asked) -> None:
        head = f'HTTP/1.1 200 OK\r\ncontent-length: {len(data)}\r\netag: "1"\r\n\r\n'
        await asked.send(head.encode())
        for at in range(0, len(data), 10_000):
            await asked.send(data[at : at + 10_000])
            await asyncio.sleep(0.05)

    async def go() -> None:
        origin = FakeOrigin()
        origin.paths["/slow"] = slowly
        page = b"<!doctype html>" + base64.b64encode(random.Random(2).randbytes(30_000))
        origin.serve("/page", page + b"words")
        async with AsyncExitStack() as ends:
            store = await ends.enter_async_context(valkey(tmp_path))
            await ends.enter_async_context(origin.running())
            states = [tmp_path / name for name in ("a", "b")]
            PairingStore(states[0]).identity()
            states[1].mkdir()
            shutil.copy(states[0] / "identity.pem", states[1])
            remotes = []
            for state in states:
                environment = {"SLUICE_REMOTE_STORE": store.url, "SLUICE_REMOTE_STATE": str(state)}
                arguments = ("--listen=127.0.0.1:0", "--allow=127.0.0.0/8")
                one = named_command("remote", *arguments, environment=environment)
                remotes.append(await ends.enter_async_context(one))
            (first, first_process), (second, _) = remotes
            invitation = PairingStore(states[0]).pair(
                "phone", host=first[0], port=first[1], more=(second,)
            )
            await until(lambda: PairingStore(states[1]).devices()[0])
            own = {
                "SLUICE_LOCAL_STATE": str(tmp_path / "local"),
                "SLUICE_LOCAL_PAIR": str(invitation),
            }
            local, _ = await ends.enter_async_context(
                named_command("local", "--listen=127.0.0.1:0", environment=own)
            )
            browser = Browser(local)
            assert (await browser.navigate(f"{origin.base}/page")).body.endswith(b"words")
            await holds(store, 3)  # the page's text, who is paired, that none share its answer
            async with browser.open(f"{origin.base}/slow") as answer:
                got = bytearray(await anext(answer.stream))
                os.kill(first_process, signal.SIGKILL)
                async for chunk in answer.stream:
                    got += chunk
            assert got == data
            assert origin.counts()["/slow"] == 2  # once by each remote
            loop = asyncio.get_running_loop()
            began = loop.time()
            assert (await browser.navigate(f"{origin.base}/page")).body.endswith(b"words")
            assert loop.time() - began < 10  # it does not knock at the dead one first
            said = json.loads((await browser.get("http://sluice.local/status.json")).body)
            assert said["texts"]["spared"] > 35_000  # the second remote has what the first one sent
            PairingStore(states[1]).revoke("phone")
            await until(lambda: not PairingStore(states[1]).devices()[0])
            assert await refused(browser, f"{origin.base}/page")

    run(go(), timeout=180)


def test_pictures_are_made_by_a_cluster_and_by_the_remote_once_it_is_gone(tmp_path: Path) -> None:
    async def go() -> None:
        origin = FakeOrigin()
        html = b"<!doctype html><html><body>words<img src=/%s></body></html>"
        for name in (b"a.jpg", b"b.jpg"):
            origin.serve(f"/{name.decode()}", PHOTO.read_bytes(), "image/jpeg")
            origin.serve(f"/{name.decode()}.html", html % name)
        async with AsyncExitStack() as ends:
            await ends.enter_async_context(origin.running())
            cluster = await ends.enter_async_context(dask_cluster(tmp_path, workers=1))
            remote = await ends.enter_async_context(
                fleet_remote("", tmp_path, dask=cluster.address)
            )
            one = await ends.enter_async_context(device(tmp_path, remote))

            async def picture(name: str) -> None:
                page = f"{origin.base}/{name}.html"
                await one.browser.navigate(page)
                answer = await one.browser.image(f"{origin.base}/{name}", page)
                assert same_pixels(answer.body, PHOTO.read_bytes())

            for _ in range(300):
                if await one.figure("cluster_up"):
                    break
                await asyncio.sleep(0.2)
            await picture("a.jpg")
            assert await one.figure('cluster_jobs_total{where="cluster"}') >= 2
            await cluster.kill(cluster.scheduler)
            await picture("b.jpg")  # the same bytes: what was made is kept
            origin.serve("/c.jpg", OTHER.read_bytes(), "image/jpeg")
            origin.serve("/c.jpg.html", html % b"c.jpg")
            page = f"{origin.base}/c.jpg.html"
            await one.browser.navigate(page)
            answer = await one.browser.image(f"{origin.base}/c.jpg", page)
            assert same_pixels(answer.body, OTHER.read_bytes())
            assert await one.figure('cluster_jobs_total{where="here"}') >= 1

    run(go(), timeout=180)

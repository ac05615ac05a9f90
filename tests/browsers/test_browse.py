"""`sluice browse` as people run it, with real browsers, both proxies and an https origin."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from browsers import launch, nss, trust
from browsers.find import NoBrowser, find
from browsers.launch import PREFIX
from local_proxy.commands.status import NoAnswer, offer, show
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, Remote, pair, run, until
from tests.end_to_end.roots import Root
from tests.local_proxy import chromium
from tests.malformed import NESTED_JSON

ROOT = Path(__file__).parents[2]
PAGE = b"<!doctype html><title>page</title><img src=/x.png><script>fetch('/done')</script>"


def installed(family: str) -> bool:
    try:
        find(family)
    except NoBrowser:
        return False
    return True


@asynccontextmanager
async def command(*arguments: str, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A sluice command with a home, temporary files and state of its own."""
    for name in ("home", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    own = {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "SLUICE_LOCAL_STATE": str(folder / "state"),
        "SLUICE_LOCAL_SECURITY": "none",
        "PYTHONPATH": str(ROOT),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "sluice.py"), *arguments),
        env={**os.environ, **own},
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def processes_in(folder: Path) -> list[str]:
    """Command lines that name the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(folder / "tmp") in line:
            found.append(line)
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of a short name: Chromium puts a socket below it, whose path has 108 bytes
    (unix(7))."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("family", ["chromium", "firefox"])
def test_an_https_page_opens_and_nothing_is_left(family: str, folder: Path) -> None:
    if not installed(family):
        pytest.skip(f"no {family} on this machine")
    if family == "firefox" and not nss_tools():
        pytest.skip("no certutil on this machine (libnss3-tools)")

    async def go() -> None:
        root = Root(folder)
        remote = Remote(tls=root.trusted())
        await remote.start()
        async with FakeOrigin(tls=root.server("localhost")).running() as origin:
            origin.name = "localhost"
            origin.serve("/", PAGE)
            origin.serve("/done", b"")
            where = ("--listen", "127.0.0.1:0", "--remote", f"127.0.0.1:{remote.port}")
            flags = ("--browser", family, "--headless", *where)
            async with command("browse", origin.base + "/", *flags, folder=folder) as process:
                await until(lambda: origin.counts()["/done"], seconds=60)
                assert [one.name[: len(PREFIX)] for one in left(folder)] == [PREFIX]
                assert processes_in(folder)
                process.send_signal(signal.SIGINT)
                _, said = await process.communicate()
                assert process.returncode == 0, said
        await remote.stop()
        assert left(folder) == []
        assert processes_in(folder) == []
        assert [path for path in (folder / "home").rglob("*") if path.is_file()] == []

    run(go(), timeout=60)


def left(folder: Path) -> list[Path]:
    """Profiles that are there."""
    return [one for one in (folder / "tmp").iterdir() if one.name.startswith(PREFIX)]


def nss_tools() -> bool:
    try:
        nss.certutil()
    except nss.StoreError:
        return False
    return True


def test_without_a_browser_it_says_what_to_install(tmp_path: Path) -> None:
    async def go() -> None:
        async with command("browse", "--browser", "/no/such", folder=tmp_path) as process:
            _, said = await process.communicate()
            assert process.returncode == 1
            assert b"--browser takes chromium, firefox or a path" in said
            assert b"Traceback" not in said

    run(go())


def test_a_proxy_that_runs_is_recognised_and_a_stranger_is_not(tmp_path: Path) -> None:
    async def go() -> None:
        authority = Authority.open(tmp_path / "state")
        async with pair(authority=authority) as both:
            found = await offer(*both.address)
            assert found is not None
            assert found.certificate == authority.certificate_pem.decode()
            assert found.secure
        async with pair() as both:
            found = await offer(*both.address)
            assert found is not None
            assert (found.certificate, found.secure) == (None, False)
        assert await offer(*both.address) is None  # it has ended
        async with FakeOrigin().running() as stranger:
            with pytest.raises(NoAnswer, match="--listen"):
                await offer(*stranger.address)
            for said in (b'{"certificate":"\xff"}', NESTED_JSON):
                stranger.serve("http://sluice.local/setup.json", said)
                with pytest.raises(NoAnswer, match="--listen"):
                    await offer(*stranger.address)
                stranger.serve("http://sluice.local/status.json", said)
                assert await show(*stranger.address, as_json=False) == 1

    run(go())


@pytest.mark.skipif(
    chromium.EXECUTABLE is None or not nss_tools(), reason="needs chromium and certutil"
)
def test_chromium_trusts_after_sluice_trust_and_not_before(tmp_path: Path) -> None:
    """By the store in its home alone, without any flag."""

    async def shown(url: str) -> bytes:
        assert chromium.EXECUTABLE is not None
        process = await asyncio.create_subprocess_exec(
            *(chromium.EXECUTABLE, "--headless", "--disable-gpu", "--dump-dom"),
            *(("--no-sandbox",) if launch.is_root() else ()),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--no-proxy-server", url),
            env={**os.environ, "HOME": str(tmp_path / "home")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        out, _ = await process.communicate()
        return out

    async def go() -> None:
        authority = Authority.open(tmp_path / "state")
        context = authority.context_for("localhost", alpn=("http/1.1",))
        async with FakeOrigin(tls=context).running() as origin:
            origin.name = "localhost"
            origin.serve("/", b"<!doctype html><title>trusted</title>")
            task = trust.Task(authority.certificate_pem, authority.certificate_path)
            places = trust.StorePlaces(tmp_path / "home", system=tmp_path / "none")
            assert b"trusted" not in await shown(origin.base + "/")
            assert trust.carry_out(task, places) == 0
            assert b"trusted" in await shown(origin.base + "/")

    run(go(), timeout=60)

"""Runs a browser with a profile of its own and leaves nothing behind, however it ends.

The browser and all its children are one process group, so what is ended is what was started and
nothing else. Must not know: proxies' insides.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from browsers import chromium, firefox, nss
from browsers.find import Browser
from browsers.proxy import Proxy
from local_proxy.kept.threads import PROGRAMS

PREFIX: Final = "sluice-browse-"
NICKNAME: Final = "Sluice local CA"
"""In NSS stores, of profiles and of users."""
_FAREWELL: Final = 5.0
"""Seconds that a browser gets to end by itself when it is told to."""
_LAST_WORDS: Final = 2000
"""Bytes of what it said last, when it failed."""


class BrowserFailed(Exception):
    """It did not start or broke down; the text has its last words."""


def is_root() -> bool:
    """Whether Chromium would refuse its sandbox."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


async def browse(browser: Browser, proxy: Proxy, url: str, *, headless: bool = False) -> None:
    """Show `url` and return when the browser is closed. Cancelled: close it.

    Raises BrowserFailed, and nss.StoreError when a Firefox can't be given the certificate.
    """
    async with profile(browser) as folder:
        command = [browser.path, *await prepare(browser, folder, proxy, url, headless=headless)]
        words = folder / "sluice-browse.log"
        with words.open("wb") as log:
            async with running(command, folder, log.fileno()) as process:
                code = await process.wait()
        if code not in (0, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP):
            said = words.read_bytes()[-_LAST_WORDS:].decode("utf-8", "replace").strip()
            how = f"signal {-code}" if code < 0 else f"code {code}"
            raise BrowserFailed(f"{browser.path} ended with {how}. It said:\n{said}")


@contextlib.asynccontextmanager
async def profile(browser: Browser) -> AsyncIterator[Path]:
    """A fresh folder, readable by its user alone, gone afterwards."""
    place = browser.profiles
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    try:
        yield folder
    finally:
        _remove(folder)


async def prepare(
    browser: Browser, folder: Path, proxy: Proxy, url: str, *, headless: bool
) -> list[str]:
    """Fill the profile; the arguments that go with it."""
    if browser.family == "chromium":
        return chromium.arguments(
            profile=folder, proxy=proxy, url=url, root=is_root(), headless=headless
        )
    settings = firefox.user_js(firefox.preferences(proxy=proxy, url=url))
    (folder / "user.js").write_text(settings, "utf-8")
    if proxy.certificate_pem is not None:
        await PROGRAMS.run(_trust, folder, proxy.certificate_pem)
    return firefox.arguments(profile=folder, url=url, headless=headless)


def _trust(folder: Path, certificate_pem: bytes) -> None:
    nss.create(folder)
    der = ssl.PEM_cert_to_DER_cert(certificate_pem.decode("ascii"))
    nss.add(folder, der, nickname=NICKNAME)


@contextlib.asynccontextmanager
async def running(
    command: list[str], folder: Path, log: int
) -> AsyncIterator[asyncio.subprocess.Process]:
    # Crash reports and desktop settings are kept outside the profile, unless told otherwise.
    elsewhere = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "CACHE")}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C on the terminal is ours to handle
            env={**os.environ, **elsewhere, **firefox.ENVIRONMENT},
        )
    except OSError as error:
        raise BrowserFailed(f"{command[0]}: {error.strerror or error}") from error
    try:
        yield process
    finally:
        await asyncio.shield(_end(process))


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the whole group, gently at first; helpers may outlive the browser itself."""
    if process.returncode is None:
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _FAREWELL)
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _remove(folder: Path) -> None:
    """Some process of the group may still write for a moment after it was killed."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return

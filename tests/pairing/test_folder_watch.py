"""Files that come and go are heard of by who sleeps meanwhile: a real folder, the real kernel."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pairing import folder_watch
from pairing.folder_watch import FolderWatch

SOON = 10.0
"""Seconds within which it is heard, on a busy machine too."""


def watching(folder: Path, main: Callable[[FolderWatch], Coroutine[Any, Any, None]]) -> None:
    async def go() -> None:
        with FolderWatch(folder) as watch:
            async with asyncio.timeout(3 * SOON):
                await main(watch)

    asyncio.run(go())


async def heard(watch: FolderWatch, change: Callable[[], object]) -> None:
    """Fails unless the change is heard before a look would have been due."""
    waiting = asyncio.ensure_future(watch.changed())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    change()
    async with asyncio.timeout(SOON):
        await waiting


async def empty(watch: FolderWatch) -> None:
    """All that was told so far has been taken."""
    while True:
        try:
            async with asyncio.timeout(0.2):
                await watch.changed()
        except TimeoutError:
            return


@pytest.fixture(autouse=True)
def _no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is heard was told."""
    monkeypatch.setattr(folder_watch, "TOLD", 1000.0)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


def test_files_that_come_change_and_go_are_heard_of(tmp_path: Path) -> None:
    async def main(watch: FolderWatch) -> None:
        await watch.changed()  # what was before is not known
        one, other = tmp_path / "one.pem", tmp_path / "other.pem"
        changes = [
            lambda: one.write_text("a"),
            lambda: one.write_text("b"),
            lambda: one.replace(other),
            other.unlink,
        ]
        for change in changes:
            await heard(watch, change)
            await empty(watch)

    watching(tmp_path, main)


def test_a_folder_that_comes_later_or_is_replaced_is_heard_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watch, "UNTOLD", 0.1)
    folder = tmp_path / "devices"

    async def main(watch: FolderWatch) -> None:
        await watch.changed()  # a look in vain: there is nothing
        folder.mkdir()
        await empty(watch)
        await heard(watch, lambda: (folder / "a").write_text("a"))
        await empty(watch)
        await heard(watch, lambda: folder.rename(tmp_path / "away"))
        folder.mkdir()
        await empty(watch)
        await heard(watch, lambda: (folder / "b").write_text("b"))

    watching(folder, main)


def test_where_nobody_tells_there_is_a_look_every_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watch, "ABLE", False)

    async def main(watch: FolderWatch) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await watch.changed()
        await watch.changed()
        assert loop.time() - began >= 2 * folder_watch.UNTOLD
        assert folder_watch.UNTOLD < 1.0  # as docs/security.md promises

    watching(tmp_path, main)


def test_a_closed_watch_holds_nothing(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def main(watch: FolderWatch) -> None:
        before = descriptors()
        await watch.changed()
        assert descriptors() > before
        watch.close()
        assert descriptors() == before

    watching(tmp_path, main)

"""Browsers that close, break down, linger or are interrupted: nothing of them is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path

import pytest

from browsers.find import Browser
from browsers.launch import PREFIX, BrowserFailed, browse
from browsers.proxy import Proxy

PROXY = Proxy(host="127.0.0.1", port=1)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where profiles are made, so that what is left can be seen."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def script(tmp_path: Path, body: str) -> Browser:
    """A program that takes a browser's place: its first argument's profile is $profile."""
    path = tmp_path / "chromium"
    path.write_text(
        "#!/bin/sh\n"
        'for a; do case "$a" in --user-data-dir=*) profile="${a#*=}";; esac; done\n' + body
    )
    path.chmod(0o755)
    return Browser(str(path), "chromium")


def alive(pid: int) -> bool:
    """Whether it runs; what has ended and waits for its parent does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def gone(pid: int) -> bool:
    async with asyncio.timeout(60):
        while alive(pid):  # noqa: ASYNC110 - the kernel tells nobody but its parent
            await asyncio.sleep(0.01)
    return True


def test_a_browser_that_is_closed_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    wrote = tmp_path / "wrote"
    browser = script(tmp_path, f'mkdir "$profile/Default"; ls "$profile" > {wrote}; exit 0\n')
    asyncio.run(browse(browser, PROXY, "http://a.test/"))
    assert "Default" in wrote.read_text()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("end", "how"), [("exit 3", "code 3"), ("kill -SEGV $$", "signal 11")])
def test_one_that_breaks_down_has_its_last_words(
    tmp_path: Path, temporary: Path, end: str, how: str
) -> None:
    browser = script(tmp_path, f"echo cannot open display >&2\n{end}\n")
    with pytest.raises(BrowserFailed, match=f"{how}(.|\n)*cannot open display"):
        asyncio.run(browse(browser, PROXY, "http://a.test/"))
    assert list(temporary.iterdir()) == []


def test_one_that_is_no_program_is_told(tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(BrowserFailed, match="No such file"):
        asyncio.run(browse(Browser(str(tmp_path / "none"), "chromium"), PROXY, "http://a.test/"))
    assert list(temporary.iterdir()) == []


def test_an_interruption_ends_all_its_processes(tmp_path: Path, temporary: Path) -> None:
    """Also children that outlive it and one that does not listen to SIGTERM."""
    pids = tmp_path / "pids"
    deaf = "sh -c 'trap \"\" TERM; while :; do sleep 1; done' &"
    browser = script(tmp_path, f"{deaf}\necho $! $$ > {pids}.new; mv {pids}.new {pids}; wait\n")

    async def go() -> None:
        running = asyncio.ensure_future(browse(browser, PROXY, "http://a.test/"))
        async with asyncio.timeout(60):
            while not pids.exists():  # noqa: ASYNC110 - a shell tells nobody
                await asyncio.sleep(0.01)
        started = [int(pid) for pid in pids.read_text().split()]
        assert all(map(alive, started))
        assert os.getpgid(started[0]) == started[1] != os.getpgid(0)
        (profile,) = temporary.iterdir()  # noqa: ASYNC240
        assert profile.name.startswith(PREFIX)
        assert profile.stat().st_mode & 0o77 == 0
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert [await gone(pid) for pid in started] == [True, True]

    asyncio.run(go())
    assert list(temporary.iterdir()) == []

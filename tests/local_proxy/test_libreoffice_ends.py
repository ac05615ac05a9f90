"""How documents end in a real LibreOffice: nothing more comes, programs die, links lead away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from local_proxy.export_drivers.libreoffice import session
from local_proxy.export_drivers.libreoffice.events import EventKind
from local_proxy.export_drivers.libreoffice.find import Office, find
from local_proxy.export_drivers.libreoffice.session import OfficeFailed, OfficeSession
from local_proxy.export_drivers.libreoffice.show import show, show_coming
from office.source import Source
from tests.local_proxy.office_desk import (
    DATA,
    PATIENCE,
    desk,
    needs_libreoffice,
    processes,
)
from tests.office.fake_source import FakeSource
from tests.watched import until

pytestmark = [needs_libreoffice, pytest.mark.usefixtures("at_a_desk")]
ROOT = Path(__file__).resolve().parents[2]


def test_the_rest_does_not_come(tmp_path: Path) -> None:
    """What is here stays, and what waited is done."""
    saved = tmp_path / "saved.odp"

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person(
                "dispatch", command=".uno:SaveAs", URL=saved.as_uri(), FilterName="impress8"
            )
            await at.until(EventKind.HELD)
            at.source.fail("The server has another version now.")
            assert (await at.until(EventKind.FAILED)).text == "The server has another version now."
            await at.until(EventKind.STORED)
            await at.close()

    asyncio.run(scenario())
    assert saved.exists()


def test_who_closes_the_window_while_being_told_something_has_closed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = OfficeSession.ask

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            saved = asyncio.Event()

            async def late(self: OfficeSession, do: str, **fields: object) -> dict[str, Any]:
                if do == "tell":
                    await saved.wait()
                    await at.person("close")
                    await self.over.wait()
                return await ask(self, do, **fields)

            monkeypatch.setattr(OfficeSession, "ask", late)
            await at.text_shown()
            await at.person("save_as", path=str(tmp_path / "mine.odp"), kind="impress8")
            saved.set()
            async with asyncio.timeout(PATIENCE):
                await at.showing
            assert at.events[-1].kind is EventKind.CLOSED
            assert "before all of its pictures were here" in at.events[-1].text

    asyncio.run(scenario())


def test_a_file_that_was_saved_coarse_is_said_to_be(tmp_path: Path) -> None:
    """Programs can go round the commands that wait; so does the question at closing."""

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person("save_as", path=str(tmp_path / "mine.odp"), kind="impress8")
            await at.until(EventKind.STORED)
            await at.close()
            assert "before all of its pictures were here" in at.events[-1].text

    asyncio.run(scenario())


def test_a_program_that_does_not_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        source = FakeSource(DATA / "deck_pictures.pptx", tmp_path / "sparse")
        office = Office("/no/soffice", find().python)
        with pytest.raises(OfficeFailed, match="/no/soffice: No such file"):
            await show(source, on_event=lambda _: None, office=office)

    asyncio.run(scenario())


@pytest.mark.parametrize("victim", ["soffice.bin", "helper"])
def test_killed_while_it_loads(victim: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            at.source.feed_page(1)
            await at.until(EventKind.OPENED)
            for pid, line in processes(tmp_path).items():
                if victim in line.split(" -")[0] or f"-m {victim}" in line:
                    os.kill(pid, signal.SIGKILL)
            with pytest.raises(OfficeFailed, match="ended"):
                async with asyncio.timeout(60):
                    await at.showing

    asyncio.run(scenario())


def runs(program: str, folder: Path) -> bool:
    return any(program in line for line in processes(folder).values())


@pytest.mark.parametrize("comes", [True, False])
def test_nothing_is_left_where_no_document_comes(comes: bool, tmp_path: Path) -> None:
    """It has been started for one that comes whole, or that nobody has."""

    async def scenario() -> None:
        coming: asyncio.Future[Source | None] = asyncio.get_running_loop().create_future()
        showing = asyncio.create_task(
            show_coming(coming, like="deck.pptx", on_event=lambda _: None, office=find())
        )
        async with asyncio.timeout(60):
            await until(lambda: runs("soffice", tmp_path))
            if comes:
                coming.set_result(None)
            else:
                showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
        assert showing.cancelled() is not comes

    asyncio.run(scenario())


def test_one_that_has_hardly_begun_to_start_is_ended_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it writes while it is being killed is removed as well."""
    monkeypatch.setattr(session, "FAREWELL", 3600.0)
    program = tmp_path / "soffice"
    program.write_text(f"""#!/bin/sh
folder=$(ls -d {tmp_path}/sluice-open-*)
for writer in 1 2 3 4 5 6; do
  (while :; do mkdir -p $folder/profile/$writer; : > $folder/profile/$writer/file; done) &
done
wait
""")
    program.chmod(0o755)

    async def scenario() -> None:
        async with asyncio.timeout(60):
            async with session.started(Office(str(program), find().python), like="a.odp"):
                pass

    asyncio.run(scenario())


def test_a_folder_that_is_written_into_is_removed_in_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    through = threading.Event()

    def write() -> None:
        for number in range(300):
            with contextlib.suppress(OSError):
                folder.mkdir(exist_ok=True)
                (folder / str(number)).touch()
            time.sleep(0.001)
        through.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not through.is_set():
        session.remove(folder)
    writer.join()
    session.remove(folder)
    assert not folder.exists()


def test_it_starts_before_the_document_is_known(tmp_path: Path) -> None:
    """Whose name is its own, and not its address's."""

    async def scenario() -> None:
        coming: asyncio.Future[Source | None] = asyncio.get_running_loop().create_future()
        async with desk("deck_pictures.pptx", tmp_path, coming=coming) as at:
            at.source.feed_texts()
            await until(lambda: runs("soffice.bin", tmp_path))
            assert not at.events
            coming.set_result(at.source)
            await at.until(EventKind.EDITABLE)
            assert (await at.person("state"))["title"].startswith("deck_pictures.pptx (loading")
            await at.close()

    asyncio.run(scenario())


def test_cancelled_while_it_loads(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            at.source.feed_page(1)
            await at.until(EventKind.OPENED)

    asyncio.run(scenario())


def test_what_was_edited_outlives_the_proxy(tmp_path: Path) -> None:
    """A person closes the window himself; then nothing is left."""

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person("type_on", page=2, text="My own words")
            await at.until(EventKind.EDITED)
            at.showing.cancel()
            assert "My own words" in await at.person("text_on", page=2)
            await at.person("close")
            await asyncio.gather(at.showing, return_exceptions=True)
            assert at.showing.cancelled()

    asyncio.run(scenario())


SHOWS_ONE_PAGE = """
import asyncio, sys
from pathlib import Path
from typing import Any
from local_proxy.export_drivers.libreoffice.show import show
from tests.office.fake_source import FakeSource

async def main():
    source = FakeSource(Path(sys.argv[1]), Path(sys.argv[2]) / "sparse")
    source.feed_page(1)
    await show(source, on_event=lambda event: print(event.kind, flush=True))

asyncio.run(main())
"""


def test_the_proxy_is_killed(tmp_path: Path) -> None:
    """The helper ends LibreOffice, and clears up."""
    proxy = subprocess.Popen(
        [sys.executable, "-c", SHOWS_ONE_PAGE, str(DATA / "deck_pictures.pptx"), str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    assert proxy.stdout is not None
    with proxy.stdout:
        for line in proxy.stdout:
            if line == b"opened\n":
                break
        others = [os.pidfd_open(pid) for pid in processes(tmp_path) if pid != proxy.pid]
        proxy.kill()
        proxy.wait()
    assert len(others) >= 2
    for other in others:
        ended, _, _ = select.select([other], [], [], 20)
        os.close(other)
        assert ended


def test_links_are_not_fetched_around_the_proxy(tmp_path: Path) -> None:
    """Neither those of pictures, nor when the whole document is opened."""

    async def scenario() -> int:
        asked = 0

        def count(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            writer.close()

        async with await asyncio.start_server(count, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            linked = tmp_path / "linked.odt"
            link_pictures(DATA / "text_pictures.odt", linked, f"http://127.0.0.1:{port}/a.png")
            async with desk("linked.odt", tmp_path, data=tmp_path) as at:
                at.source.feed_rest()
                await at.until(EventKind.COMPLETE)
                await at.person("pdf", path=str(tmp_path / "linked.pdf"))
                await at.close()
        return asked

    assert asyncio.run(scenario()) == 0


def test_a_picture_that_nobody_can_read(tmp_path: Path) -> None:
    """The rest of the document is none the worse."""
    damaged = tmp_path / "damaged.pptx"
    with (
        zipfile.ZipFile(DATA / "deck_pictures.pptx") as original,
        zipfile.ZipFile(damaged, "w") as archive,
    ):
        for name in original.namelist():
            archive.writestr(name, b"?" if name.endswith("image3.png") else original.read(name))

    async def scenario() -> None:
        async with desk("damaged.pptx", tmp_path, data=tmp_path) as at:
            await at.text_shown()
            at.source.feed_rest()
            await at.until(EventKind.COMPLETE)
            assert await at.person("pictures_on", page=1) == [[360, 240]]
            assert not (await at.person("state"))["modified"]
            await at.close()

    asyncio.run(scenario())


def link_pictures(document: Path, to: Path, url: str) -> None:
    """The same document, whose pictures are elsewhere."""
    with zipfile.ZipFile(document) as original, zipfile.ZipFile(to, "w") as linked:
        for name in original.namelist():
            data = original.read(name)
            if name == "content.xml":
                data, links = re.subn(
                    rb'xlink:href="Pictures/[^"]*"', b'xlink:href="%b"' % url.encode(), data
                )
                assert links
            linked.writestr(name, data)

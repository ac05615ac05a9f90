"""Office documents in parts over the pair: readable early, byte-identical at the end."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from pathlib import Path

import pytest

from local_proxy.commands.document_client import FollowedSource, following
from local_proxy.commands.open_document import run as command
from local_proxy.documents.incoming_document import CHANGED, IncomingDocument
from local_proxy.documents.whole import Whole
from local_proxy.link.components import ComponentFailed
from office.source import Source
from tests.end_to_end.packages import TYPE, content, ended, opened
from tests.end_to_end.pair import (
    PLAIN,
    all_three,
    run,
    slow_three,
    until,
)
from tests.office_files import DECK, FILES, mutated, with_film

DOCUMENTS = {path.name: path.read_bytes() for path in FILES}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_comes_in_parts_and_is_the_same_file(name: str) -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            data = DOCUMENTS[name]
            number, document = await opened(origin, both, data, name)
            await ended(document)
            assert not document.failure
            assert content(document) == data
            assert document.sha256 == hashlib.sha256(data).digest()
            assert document.name == name
            rasters = [one for one in document.outline.media if not one.entry.endswith(".svm")]
            assert all(one.width and one.height for one in rasters)
            assert all(document.present(entry.name) for entry in document.directory.entries)
            folder = document.path.parent
            both.local.packages.close(number)
            assert not folder.exists()
            await until(lambda: not both.session.statistics().held)
            await until(lambda: not both.session.statistics().documents)

    run(main())


def test_texts_come_before_pictures_and_pictures_coarse_before_fine() -> None:
    async def main() -> None:
        async with slow_three(rate=8_000) as (origin, _, both):
            seen: list[str] = []
            _, document = await opened(origin, both, DECK, "deck.pptx")
            pages, media = document.outline.pages, document.outline.media

            def look() -> None:
                for number, page in enumerate(pages, 1):
                    if all(map(document.present, page.entries)):
                        seen.append(f"text {number}")
                seen.extend(f"low {one.entry}" for one in media if document.low(one.entry))
                seen.extend(f"fine {one.entry}" for one in media if document.present(one.entry))

            document.watch(look)
            await ended(document)
            order = list(dict.fromkeys(seen))
            assert order[:3] == ["text 1", "text 2", "text 3"]
            assert set(order[3:5]) == {f"low {one.entry}" for one in media}
            assert order[5:] == [f"fine {one.entry}" for one in media]
            assert document.low(media[0].entry)[8:12] == b"WEBP"  # type: ignore[index]

    run(main())


def test_what_a_person_looks_at_goes_first() -> None:
    async def main() -> None:
        async with slow_three() as (origin, _, both):
            fine: list[str] = []
            _, document = await opened(origin, both, DECK, "deck.pptx")
            media = [one.entry for one in document.outline.media]
            document.watch(lambda: fine.extend(e for e in media if document.present(e)))
            await until(lambda: all(document.low(entry) for entry in media))
            document.focus(3, ["ppt/media/image2.jpeg"])
            await ended(document)
            assert content(document) == DECK
            assert fine[0] == "ppt/media/image2.jpeg"

    run(main())


def test_a_restarted_remote_sends_only_what_is_not_here() -> None:
    async def main() -> None:
        async with slow_three(patience=20.0, rate=8_000) as (origin, remote, both):
            _, document = await opened(origin, both, DECK, "deck.pptx")
            await until(lambda: document.received > len(DECK) // 2)
            before = document.received
            await remote.stop()
            await remote.start()
            await ended(document)
            assert not document.failure
            assert content(document) == DECK
            (session,) = remote.sessions
            assert session.outbox.payload_sent <= len(DECK) - before + 3000

    run(main())


def test_a_document_that_has_changed_meanwhile_is_not_mixed() -> None:
    async def main() -> None:
        async with slow_three(patience=20.0, rate=8_000) as (origin, remote, both):
            _, document = await opened(origin, both, DECK, "deck.pptx")
            await until(lambda: document.received > len(DECK) // 2)
            origin.serve("/deck.pptx", DOCUMENTS["text.docx"], TYPE)
            await remote.stop()
            await remote.start()
            await ended(document)
            assert document.failure == CHANGED

    run(main())


def test_a_part_may_be_longer_than_its_first_credit() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            data = with_film(5_000_000)
            _, document = await opened(origin, both, data, "long.pptx")
            await ended(document)
            assert content(document) == data
            assert both.held < 10_000

    run(main())


@pytest.mark.parametrize(
    ("data", "content_type", "name"),
    [
        (b"<html>no document</html>", "text/html", "page.html"),
        (b"PK\x03\x04" + bytes(5000), TYPE, "broken.pptx"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(5000), TYPE, "encrypted.docx"),
        (b"", TYPE, "empty.odt"),
        (DECK[:-1], TYPE, "cut.pptx"),
        (DECK, "text/plain", "deck.txt"),
    ],
)
def test_what_is_no_document_comes_as_it_is(data: bytes, content_type: str, name: str) -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            origin.serve(f"/{name}", data, content_type)
            number, document = await both.local.packages.open(f"{origin.base}/{name}")
            assert isinstance(document, Whole)
            await ended(document)
            assert (content(document), document.failure) == (data, "")
            both.local.packages.close(number)

    run(main())


def test_an_address_may_lead_to_another() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            origin.serve("/deck.pptx", DECK, TYPE)
            leads = {
                "/a": "/b?c",
                "/b": f"{origin.base}/deck.pptx#x",
                "/x": "/x",
                "/f": "file:///x",
            }
            for path, to in leads.items():
                origin.serve(path, b"", "text/html", status=302, headers=[("location", to)])
            _, document = await both.local.packages.open(f"{origin.base}/a")
            assert isinstance(document, IncomingDocument)
            await ended(document)
            assert (content(document), document.name) == (DECK, "deck.pptx")
            for path, reason in (("/x", "circles"), ("/f", "no address")):
                with pytest.raises(ComponentFailed, match=reason):
                    await both.local.packages.open(f"{origin.base}{path}")
            assert not both.local.uplink.session.expecting  # type: ignore[union-attr]

    run(main())


def test_switches_of_sites_hold_for_documents() -> None:
    async def main() -> None:
        sites = {"127.0.0.1": "original", "bank.example": "tunnel"}
        async with all_three(sites=sites) as (origin, both):
            _, document = await opened(origin, both, DECK, "deck.pptx")
            await ended(document)
            assert content(document) == DECK
            assert not any(document.low(one.entry) for one in document.outline.media)
            with pytest.raises(ComponentFailed, match="tunnel"):
                await both.local.packages.open("https://bank.example/x.pptx")

    run(main())


def test_plain_clients_get_plain_files() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            origin.serve("/deck.pptx", DECK, TYPE, headers=[("etag", '"x"')])
            answer = await both.client.get(f"{origin.base}/deck.pptx", PLAIN)
            assert answer.body == DECK
            assert both.session.statistics().deliveries == 0

    run(main())


def test_five_hundred_mutants_hurt_nobody() -> None:
    """Each comes in parts or as it is, and its bytes are the origin's."""

    async def main() -> None:
        async with all_three() as (origin, both):
            ways = {IncomingDocument: 0, Whole: 0}

            async def one(number: int, data: bytes, name: str) -> None:
                origin.serve(f"/{number}/{name}", data, TYPE)
                own, document = await both.local.packages.open(f"{origin.base}/{number}/{name}")
                ways[type(document)] += 1
                await ended(document)
                assert (content(document), document.failure) == (data, ""), number
                both.local.packages.close(own)

            chance = random.Random(7)
            for start in range(0, 500, 10):
                some = [mutated(chance) for _ in range(10)]
                await asyncio.gather(*(one(start + at, *some[at]) for at in range(10)))
            await both.serves(origin)
            assert min(ways.values()) > 100, ways

    run(main())


def test_a_program_follows_a_document(tmp_path: Path) -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            origin.serve("/deck.pptx", DECK, TYPE)
            async with following(*both.address, f"{origin.base}/deck.pptx") as source:
                assert isinstance(source, FollowedSource)
                source.focus(2)
                await source.ended()
                assert (source.failure, source.sha256) == ("", hashlib.sha256(DECK).hexdigest())
                assert source.low("ppt/media/image2.jpeg")
                assert all(source.present(entry.name) for entry in source.directory.entries)
                folder = source.path.parent
                assert source.path.read_bytes() == DECK
            await until(lambda: not folder.exists())

    run(main())


def test_the_command_says_what_has_come(tmp_path: Path) -> None:
    async def main() -> list[str]:
        lines: list[str] = []
        async with all_three() as (origin, both):
            origin.serve("/deck.pptx", DECK, TYPE)
            target = tmp_path / "kept.pptx"
            for _ in range(2):
                url = f"{origin.base}/deck.pptx"
                assert await command(*both.address, url, into=target, out=lines.append) == 0
            missing = f"{origin.base}/none.pptx"
            assert await command(*both.address, missing, into=target, out=lines.append) == 1
            assert await command(*both.address, "ftp://x", into=target, out=lines.append) == 1
        return lines

    lines = run(main())
    assert os.listdir(tmp_path) == ["kept.pptx", "kept (1).pptx"] or len(os.listdir(tmp_path)) == 2
    assert (tmp_path / "kept (1).pptx").read_bytes() == DECK
    said = [line.partition(" s  ")[2] for line in lines]
    assert said[:2] == [f"deck.pptx: {len(DECK)} bytes, 3 pages", "text of page 1"]
    assert f"complete, SHA-256 {hashlib.sha256(DECK).hexdigest()}" in said
    assert any("404" in line for line in lines[-3:])


def test_what_shows_a_document_is_started_before_that_is_known(tmp_path: Path) -> None:
    """By the name in its address; it is told of a source, or of none, or is left."""

    async def main() -> list[str]:
        told: list[str] = []

        async def open_with(coming: asyncio.Future[Source | None], *, like: str) -> None:
            told.append(f"{like}, {'known' if coming.done() else 'not known'}")
            try:
                source = await asyncio.shield(coming)
            except asyncio.CancelledError:
                told.append("left")
                raise
            told.append(source.name if source is not None else "none")

        async with all_three() as (origin, both):
            origin.serve("/deck.pptx", DECK, TYPE)
            origin.serve("/broken.pptx", DECK[:90], TYPE)
            origin.serve("/get", DECK, "application/vnd.openxmlformats-officedocument.pptx")
            for name in ("deck.pptx", "broken.pptx", "missing.pptx", "get"):
                await command(
                    *both.address, f"{origin.base}/{name}", into=tmp_path / name,
                    out=lambda _: None, open_with=open_with,
                )  # fmt: skip
        return told

    assert run(main()) == [
        *("deck.pptx, not known", "deck.pptx"),
        *("broken.pptx, not known", "none"),
        *("missing.pptx, not known", "none"),
        *("get.pptx, known", "get.pptx"),
    ]
    # A window that is closed ends the document; what has no window comes to its end.
    assert (tmp_path / "broken.pptx").read_bytes() == DECK[:90]


def test_nobody_else_may_open_documents() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            origin.serve("/deck.pptx", DECK, TYPE)
            body = f'{{"url": "{origin.base}/deck.pptx"}}'.encode()
            url = "http://sluice.local/documents"
            answer = await both.client.get(url, method="POST", body=body)
            assert answer.status == 403
            assert not origin.asked

    run(main())

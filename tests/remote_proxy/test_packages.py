"""Tests of documents in parts: which responses are worth a look, and what is sent of them."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import brotli
import pytest
from msgspec import structs

from office.extents import Extents
from office.text_view.records import VIEWED
from office.zip_directory import parse
from remote_proxy.documents import packages
from remote_proxy.documents.delivery import PackageDelivery
from remote_proxy.documents.packages import MAX_FILE, Packaging
from remote_proxy.jobs.job import Job
from remote_proxy.origin.client import Origin, OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from tests.office.styled_deck import styled_deck
from tests.office_files import DECK, FILES
from tests.remote_proxy.document_world import (
    DOCUMENT,
    FakeSender,
    FakeTranscoders,
    gathered,
    job,
    response,
)
from tests.watched import run
from transcoders.work.workers import Workers
from wire import abilities
from wire import messages as m
from wire.abilities import Takes
from wire.continuation import Continuation
from wire.fields import Headers
from wire.package import Held, Slice, flat, ranges_of
from wire.skeleton import Kind

COARSE = b"RIFF coarse WEBP"
BROKEN = OriginError(Failure.RESET, "the origin broke off")


class Session(FakeSender):
    """A session that brings documents in parts."""

    def __init__(self, *accepts: str, transcoders: FakeTranscoders | None = None) -> None:
        super().__init__(*accepts)
        self.transcoders = transcoders or FakeTranscoders(coarse=COARSE)

    @property
    def slices(self) -> list[Slice]:
        return [one for package in self.told(m.Package) for one in package.slices]

    async def bring(
        self, data: bytes, job_: Job, *, breaks: OriginError | None = None, texts: bool = False
    ) -> None:
        """A delivery to its end; the device takes what there is. `texts`: they are here already."""
        async with gathered(data, breaks=breaks) as document:
            if texts:
                await document.gathering.everything()
            delivery = PackageDelivery(job_, document, self, self.transcoders)
            running = asyncio.ensure_future(delivery.run())
            while not running.done():
                await asyncio.sleep(0)
                self.deliver()
            await running
            self.deliver()

    def file(self, size: int) -> bytes:
        """What the device puts together."""
        package = self.told(m.Package)[0]
        made = bytearray(size)
        made[package.directory :] = brotli.decompress(self.came[DOCUMENT])
        for number, one in enumerate(self.slices):
            component = package.first + 2 * number
            low = next(
                (
                    said.levels[0].end
                    for said in self.told(m.Levels)
                    if said.component == component and len(said.levels) > 1
                ),
                0,
            )
            rest = self.came[component][low:] if not one.view else b""
            for start, end in ranges_of(one.ranges, length=size):
                made[start:end], rest = rest[: end - start], rest[end - start :]
            assert not rest
        return bytes(made)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_parts_are_the_file_and_the_digest_says_so(path: Path) -> None:
    data = path.read_bytes()

    async def main() -> None:
        session = Session()
        await session.bring(data, job(takes=Takes.PACKAGE))
        assert session.file(len(data)) == data
        last = session.told(m.Package)[0].first + 2 * len(session.slices)
        assert session.came[last] == hashlib.sha256(data).digest()
        assert session.ended == set(session.came)
        assert {document for document, _ in session.adopted} == {DOCUMENT}

    run(main())


def test_a_device_is_told_what_is_to_come_before_any_byte() -> None:
    async def main() -> None:
        session = Session()
        headers = [("content-type", "x/y"), ("etag", '"1"'), ("set-cookie", "secret=1")]
        async with gathered(DECK, headers=headers) as document:
            delivery = PackageDelivery(job(), document, session, session.transcoders)
            running = asyncio.ensure_future(delivery.run())
            while not session.heard:
                await asyncio.sleep(0)
                session.deliver()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        package, head = session.heard[:2]
        assert isinstance(package, m.Package) and isinstance(head, m.Head)
        assert (package.length, package.kind, package.pages) == (len(DECK), "pptx", 3)
        assert (head.component, head.status, head.coding) == (DOCUMENT, 200, "br")
        assert session.headers[1] == [("content-type", "x/y"), ("etag", '"1"')]

    run(main())


def test_texts_go_first_and_pictures_are_coarse_before_any_is_whole() -> None:
    async def main() -> None:
        session = Session()
        await session.bring(DECK, job())
        first = session.told(m.Package)[0].first
        pictures = [
            first + 2 * number
            for number, one in enumerate(session.slices)
            if one.kind is Kind.IMAGE
        ]
        levels = {said.component: said for said in session.told(m.Levels)}
        assert len(pictures) == 2
        for component in pictures:
            assert [one.name for one in levels[component].levels] == ["low", "original"]
            assert session.came[component].startswith(COARSE)

    run(main())


@pytest.mark.parametrize(
    ("treatment", "headers"),
    [
        (m.Treatment.ORIGINAL, []),
        (m.Treatment.ADAPTED, [("cache-control", "no-transform")]),
    ],
)
def test_who_wants_nothing_changed_gets_no_coarse_pictures(
    treatment: m.Treatment, headers: Headers
) -> None:
    async def main() -> None:
        session = Session()
        async with gathered(DECK, headers=headers) as document:
            delivery = PackageDelivery(
                job(treatment=treatment), document, session, session.transcoders
            )
            running = asyncio.ensure_future(delivery.run())
            while not running.done():
                await asyncio.sleep(0)
                session.deliver()
            await running
        assert session.told(m.Levels) == []
        assert session.file(len(DECK)) == DECK

    run(main())


def test_what_the_device_has_of_the_file_is_not_sent_again() -> None:
    async def main() -> None:
        directory = parse(DECK, length=len(DECK))
        there = [(0, directory.start // 2)]
        held = Held(hashlib.sha256(directory.raw).digest(), flat(there))
        session = Session()
        await session.bring(DECK, job(resume=Continuation(0, held=held)))
        sent = Extents(
            span for one in session.slices for span in ranges_of(one.ranges, length=len(DECK))
        )
        assert sent.size == directory.start - directory.start // 2
        assert sent.missing(*there[0]) == there
        assert brotli.decompress(session.came[DOCUMENT]) == b""
        assert session.told(m.Package)[0].goes_on
        other = Session()
        changed = structs.replace(held, directory=bytes(32))
        await other.bring(DECK, job(resume=Continuation(0, held=changed)))
        assert other.file(len(DECK)) == DECK

    run(main())


def test_a_view_of_long_texts_comes_instead_of_them_and_they_come_too() -> None:
    data = styled_deck(60)

    async def main() -> None:
        session = Session()
        await session.bring(data, job(takes=Takes.PACKAGE | Takes.VIEWS), texts=True)
        (number,) = (n for n, one in enumerate(session.slices) if one.view)
        view = session.slices[number]
        component = session.told(m.Package)[0].first + 2 * number
        assert len(brotli.decompress(session.came[component])) == view.view
        assert session.file(len(data)) == data
        without = Session()
        await without.bring(data, job(takes=Takes.PACKAGE), texts=True)
        assert not any(one.view for one in without.slices)

    run(main())


def test_a_view_that_the_device_has_or_needs_no_more_is_not_sent_again() -> None:
    data = styled_deck(60)
    directory = parse(data, length=len(data))
    there = [(entry.start, entry.end) for entry in directory.entries if entry.name in VIEWED]
    digest = hashlib.sha256(directory.raw).digest()

    async def views(held: Held) -> int:
        session = Session()
        takes = Takes.PACKAGE | Takes.VIEWS
        await session.bring(data, job(takes=takes, resume=Continuation(0, held=held)), texts=True)
        return sum(bool(one.view) for one in session.slices)

    async def main() -> None:
        assert await views(Held(digest, [])) == 1
        assert await views(Held(digest, [], view=True)) == 0
        assert await views(Held(digest, flat(sorted(there)))) == 0
        assert await views(Held(digest, flat(sorted(there)[:1]))) == 1

    run(main())


def test_a_picture_goes_in_its_exact_form_where_the_device_can_undo_it() -> None:
    async def main() -> None:
        both = Takes.PACKAGE | Takes.EXACT
        transcoders = FakeTranscoders(form=b"a form")
        session = Session(abilities.EXACT, transcoders=transcoders)
        session.rate = 7000.0
        await session.bring(DECK, job(takes=both))
        coded = {
            said.component for said in session.told(m.Levels) if said.coding == abilities.EXACT
        }
        assert coded
        assert {session.came[component] for component in coded} == {b"a form"}
        plain = Session(transcoders=FakeTranscoders(form=b"a form"))
        plain.rate = 7000.0
        await plain.bring(DECK, job(takes=both))
        assert plain.told(m.Levels) == []
        assert plain.file(len(DECK)) == DECK

    run(main())


def test_a_file_that_breaks_off_ends_with_the_reason() -> None:
    async def main() -> None:
        session = Session()
        await session.bring(DECK, job(), breaks=BROKEN)
        (failed,) = session.told(m.Failed)
        last = session.told(m.Package)[0].first + 2 * len(session.slices)
        assert (failed.component, failed.status) == (last, 502)
        assert "broke off" in failed.reason
        assert session.outbox.components() == []
        assert session.tree.leaves() == []

    run(main())


# -- which responses -------------------------------------------------------------------------------


def run_packaging(
    work: Callable[[Packaging, Session], Awaitable[None]],
) -> None:
    async def main() -> None:
        session = Session()
        reading = Workers(workers=1, waiting=None)
        try:
            await work(Packaging(session, Origin(), session.transcoders, reading), session)
        finally:
            await reading.close()

    run(main())


GENERIC = "application/octet-stream"
OFFICE = "application/vnd.oasis.opendocument.presentation"


@pytest.mark.parametrize(
    ("url", "headers", "expected"),
    [
        ("http://a.test/x", [("content-type", OFFICE)], True),
        ("http://a.test/x", [("content-type", GENERIC)], False),
        ("http://a.test/x.PPTX?y", [("content-type", GENERIC)], True),
        ("http://a.test/%78.odp", [], True),
        ("http://a.test/x.pptx", [("content-type", "text/html")], False),
        ("http://a.test/x.zip", [("content-type", "application/zip")], False),
        (
            "http://a.test/x",
            [
                ("content-type", GENERIC),
                ("content-disposition", 'attachment; filename="a.docx"'),
            ],
            True,
        ),
        ("http://a.test/x.odt", [("content-encoding", "gzip")], False),
    ],
)
def test_what_may_be_a_document_is_told_by_its_type_or_else_its_name(
    url: str, headers: Headers, expected: bool
) -> None:
    async def go(packaging: Packaging, _: Session) -> None:
        assert packaging.takes(job(url), response(b"", headers=headers, length=1000)) is expected

    run_packaging(go)


def test_only_whole_answers_to_who_wants_parts_are_looked_at() -> None:
    async def go(packaging: Packaging, _: Session) -> None:
        def takes(job_: Job, answer: OriginResponse) -> bool:
            return packaging.takes(job_, answer)

        assert takes(job(), response(b"", length=1000))
        assert not takes(job(takes=Takes.NOTHING), response(b"", length=1000))
        assert not takes(job(method="POST"), response(b"", length=1000))
        assert not takes(job(), response(b"", length=1000, status=206))
        assert not takes(job(), response(b"", length=MAX_FILE + 1))

    run_packaging(go)


def test_what_is_to_be_put_away_or_left_alone_is_not_shown_in_a_page() -> None:
    async def go(packaging: Packaging, _: Session) -> None:
        shown = job(takes=Takes.PACKAGE | Takes.INLINE)
        for name, value in (
            ("content-disposition", "attachment"),
            ("content-disposition", 'Form-Data; name="x"'),
            ("cache-control", "private, No-Transform"),
        ):
            answer = response(b"", headers=[(name, value)], length=1000)
            assert packaging.takes(job(), answer)
            assert not packaging.takes(shown, answer)
        inline = response(b"", headers=[("content-disposition", "Inline; x")], length=1000)
        assert packaging.takes(shown, inline)

    run_packaging(go)


def test_what_is_no_document_passes_through_untouched() -> None:
    noise = random.Random(1).randbytes(50_000)

    async def go(packaging: Packaging, session: Session) -> None:
        passed: list[bytes] = []

        async def otherwise(answer: OriginResponse) -> None:
            passed.append(b"".join([chunk async for chunk in answer.body]))

        for data in (noise, b"PK\x03\x04" + noise, b"PK", b""):
            await packaging.deliver(job(), response(data), otherwise=otherwise)
            assert passed.pop() == data
        session.deliver()
        assert session.heard == []

    run_packaging(go)


def test_disk_is_given_back_when_a_document_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "MAX_SPOOLED", 60_000)

    async def go(packaging: Packaging, _: Session) -> None:
        seen: list[bool] = []

        async def otherwise(answer: OriginResponse) -> None:
            seen.append(packaging.takes(job(), response(b"", length=20_000)))

        await packaging.deliver(job(), response(bytes(50_000)), otherwise=otherwise)
        seen.append(packaging.takes(job(), response(b"", length=20_000)))
        assert seen == [False, True]

    run_packaging(go)


def test_a_document_is_read_and_sent_in_parts() -> None:
    async def go(packaging: Packaging, session: Session) -> None:
        async def otherwise(answer: OriginResponse) -> None:
            raise AssertionError("it passed through whole")

        running = asyncio.ensure_future(
            packaging.deliver(job(), response(DECK), otherwise=otherwise)
        )
        while not running.done():
            await asyncio.sleep(0)
            session.deliver()
        await running
        assert session.file(len(DECK)) == DECK

    run_packaging(go)

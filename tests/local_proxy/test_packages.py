"""Tests of opening documents by their address: in parts, whole, by redirects, across links."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.memory.virtual_time import run
from local_proxy.documents.incoming_document import CHANGED, IncomingDocument
from local_proxy.documents.packages import MAX_OPEN, MAX_REDIRECTS, Answer, Packages
from local_proxy.documents.whole import Whole
from local_proxy.link.components import Component, ComponentFailed
from local_proxy.sites.sites import Mode
from policies.api import FocusChanged, ScrolledInView
from tests.local_proxy.packages_at_work import (
    DIGEST,
    START,
    URL,
    announce,
    begun,
    documents,
    in_parts,
    plain,
)
from tests.local_proxy.scripted_remote import ScriptedRemote, moment
from tests.office_files import DECK
from transport.link.interface import LinkError
from wire import messages as m
from wire.abilities import Takes
from wire.applications import Application
from wire.fields import Headers
from wire.origin_request import OriginRequest
from wire.package import flat


async def refused(packages: Packages, url: str = URL) -> ComponentFailed:
    with pytest.raises(ComponentFailed) as caught:
        await packages.open(url)
    return caught.value


def test_a_document_in_parts_is_the_file_and_goes_when_it_is_closed(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept") as at:
            number, opened = await at.packages.open(URL)
            assert isinstance(opened, IncomingDocument)
            assert at.packages.get(number) is opened
            await moment()
            assert opened.complete
            assert opened.path.read_bytes() == DECK
            assert opened.name == "deck.pptx"
            (asked,) = at.remote.asked
            assert asked.takes == Takes.PACKAGE | Takes.VIEWS | Takes.EXACT
            assert asked.component == asked.document == opened.document
            assert at.observer.opened == [(asked.document, URL)]
            assert at.observer.applications == [asked.application] == [Application.OFFICE]
            assert [one.id for one in at.observer.requested] == [asked.document]
            assert at.heard == [FocusChanged(asked.document)]
            at.packages.close(number)
            assert at.packages.get(number) is None
            assert not opened.path.parent.exists()
            assert at.closed == [asked.document]

    run(main())


def test_what_is_no_office_document_comes_whole(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", plain) as at:
            number, opened = await at.packages.open("http://a.test/notes.txt")
            assert isinstance(opened, Whole)
            await moment()
            assert opened.complete
            assert opened.file.path.read_bytes() == b"plain text"
            at.packages.close(number, taken=opened.document)
            assert at.closed == []  # whoever has taken it ends it himself

    run(main())


def test_an_address_that_leads_on_is_followed_within_the_web_and_not_for_ever(
    tmp_path: Path,
) -> None:
    def leads(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
        places = {"/a": "b#part", "/b": "//b.test/c", "/in": "/in", "/out": "file:///etc/passwd"}
        path = request.url.removeprefix("http://a.test")
        if path in places:
            remote.respond(request, b"", [("location", places[path])], status=302)
        else:
            plain(remote, request, fields)

    async def main() -> None:
        async with documents(tmp_path / "kept", leads) as at:
            _, opened = await at.packages.open("http://a.test/a")
            assert opened.url == "http://b.test/c"
            assert [one.url for one in at.remote.asked] == [
                "http://a.test/a",
                "http://a.test/b",
                "http://b.test/c",
            ]
            assert at.closed == [one.document for one in at.remote.asked[:2]]
            before = len(at.remote.asked)
            failure = await refused(at.packages, "http://a.test/in")
            assert (failure.status, failure.reason) == (502, "its address leads in circles")
            assert len(at.remote.asked) - before == MAX_REDIRECTS + 1
            failure = await refused(at.packages, "http://a.test/out")
            assert "no address of the web" in failure.reason

    run(main())


def test_a_site_that_the_remote_may_not_see_is_not_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", plain, mode=Mode.TUNNEL) as at:
            failure = await refused(at.packages, "https://a.test/deck.pptx")
            assert failure.status == 403
            assert at.remote.asked == []
            _, opened = await at.packages.open(URL)  # without TLS there is nothing to hide
            assert opened.url == URL

    run(main())


@pytest.mark.parametrize(
    ("mode", "treatment"),
    [
        (Mode.ADAPT, m.Treatment.ADAPTED),
        (Mode.ORIGINAL, m.Treatment.ORIGINAL),
        (Mode.TEXT_ONLY, m.Treatment.TEXT_ONLY),
    ],
)
def test_a_sites_switch_holds_for_its_documents(
    tmp_path: Path, mode: Mode, treatment: m.Treatment
) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", plain, mode=mode) as at:
            await at.packages.open(URL)
            assert at.remote.asked[0].treatment is treatment

    run(main())


def test_without_a_link_nothing_can_be_had(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", link=False, patience=2.0) as at:
            assert (await refused(at.packages)).status == 504

    run(main())


def test_so_many_are_open_and_no_more(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", plain) as at:
            numbers = [(await at.packages.open(URL))[0] for _ in range(MAX_OPEN)]
            assert len(set(numbers)) == MAX_OPEN
            assert at.packages.full
            assert (await refused(at.packages)).status == 503
            at.packages.close(numbers[0])
            assert not at.packages.full
            await at.packages.open(URL)
            at.packages.close_all()
            assert not any((tmp_path / "kept").iterdir())

    run(main())


def test_after_a_lost_link_only_the_rest_is_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", begun) as at:
            _, opened = await at.packages.open(URL)
            assert isinstance(opened, IncomingDocument)
            await moment()
            half = START // 2
            assert opened.received == half + len(DECK) - START

            def rest(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
                part, digest = announce(remote, request, [(half, START)], goes_on=True)
                remote.send(part, DECK[half:START])
                remote.send(digest, DIGEST)

            first, at.link.remotes.answer = opened.document, rest
            at.remote.close(LinkError("reset"))
            await moment()
            await moment()
            (asked,) = at.remote.asked
            assert asked.resume is not None
            assert asked.resume.held is not None
            assert asked.resume.held.ranges == flat([(0, half)])
            assert asked.application is Application.OFFICE
            assert opened.complete
            assert opened.path.read_bytes() == DECK
            assert opened.document == asked.document != first
            assert at.closed == [first]

    run(main())


def test_another_answer_after_a_lost_link_is_another_document(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", begun) as at:
            _, opened = await at.packages.open(URL)
            at.link.remotes.answer = plain
            at.remote.close(LinkError("reset"))
            await moment()
            await moment()
            assert opened.failure == CHANGED
            assert at.closed[-1] == opened.document

    run(main())


def test_what_somebody_else_has_asked_for_can_be_taken_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", None) as at:
            session = at.link.session
            component = Component(session.new_id(), 0, URL)
            component.document = component.id
            answer = Answer(component)
            takes = at.packages.takes
            session.request(component, OriginRequest("GET", URL, [], takes=takes))
            await moment()
            assert not answer.in_parts
            in_parts(at.remote, at.remote.asked[0], [])
            number, opened = await at.packages.take(answer, [])
            assert answer.in_parts
            assert at.packages.get(number) is opened
            await moment()
            assert opened.complete

    run(main())


def test_the_rest_of_what_a_browser_has_asked_for_is_the_browsers(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", None) as at:
            session = at.link.session
            component = Component(session.new_id(), 0, URL)
            component.document = component.id
            answer = Answer(component)
            request = OriginRequest("GET", URL, [], takes=at.packages.takes)
            session.request(component, request)
            await moment()
            begun(at.remote, at.remote.asked[0], [])
            await at.packages.take(answer, [])
            at.remote.close(LinkError("reset"))
            await moment()
            await moment()
            (rest,) = at.remote.asked
            assert rest.resume is not None
            assert rest.application is Application.BROWSER
            assert at.observer.applications == [Application.BROWSER]

    run(main())


def test_an_answer_without_parts_can_not_be_taken_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", plain) as at:
            session = at.link.session
            component = Component(session.new_id(), 0, URL)
            answer = Answer(component)
            session.request(component, OriginRequest("GET", URL, []))
            with pytest.raises(ComponentFailed) as caught:
                await at.packages.take(answer, [])
            assert caught.value.status == 502

    run(main())


def test_what_a_person_looks_at_is_told_to_policies_and_raised(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", begun) as at:
            _, opened = await at.packages.open(URL)
            assert isinstance(opened, IncomingDocument)
            at.heard.clear()
            opened.focus(1)
            await moment()
            assert at.heard == [FocusChanged(opened.document), ScrolledInView(opened.document, ())]
            (raised,) = at.remote.of(m.Raise)
            assert raised.urgency == 1

    run(main())

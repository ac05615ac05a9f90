"""Pages and their drivers: whose key opens what, what a cached page finds, who gets a tag."""

from __future__ import annotations

import re

import pytest

from local_proxy.export_drivers.markup.page_marks import VARY
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, OriginHead
from tests.local_proxy.export_world import (
    IMAGE,
    PREFIXES,
    URL,
    World,
    advance,
    component,
    run,
    stream,
    text_of,
)
from wire.fields import header
from wire.skeleton import Kind


@pytest.mark.parametrize(
    "url",
    [
        "{url}?sluice-level=wrong.7.low",
        "{url}?sluice-level={key}.7.low",
        "{url}?sluice-level={name}.8.low",
        "{url}?sluice-level={name}.7.huge",
        "{url}?sluice-level={name}.7.original",
        "http://b.test/p.jpg?sluice-level={name}.7.low",
        "http://a.test/other.jpg?sluice-level={name}.7.low",
    ],
)
def test_a_level_is_served_at_its_picture_only(url: str) -> None:
    async def main() -> None:
        world = World()
        driver = await world.page()
        await world.export.picture(component(*PREFIXES, received=3), Request("GET", URL, IMAGE))
        asked = url.format(url=URL, key=driver.key, name=driver.name)
        answer = await world.export.own(Request("GET", asked, IMAGE))
        assert await text_of(answer) == b"again"
        assert world.fetched[0].url == asked.partition("?")[0]

    run(main())


def test_keys_belong_to_one_page_and_origin() -> None:
    async def main() -> None:
        world = World()
        driver, other = await world.page(), await world.page(2)
        assert len({*driver, *other}) == 4  # two windows of one address are told apart
        for key, origin in (
            (driver.key, "http://b.test"),
            (driver.name, "http://a.test"),
            ("x", "http://a.test"),
            ("", "http://a.test"),
        ):
            assert (await world.say("events", key, origin=origin)).status == 404
        foreign = Request(
            "POST",
            "http://a.test/.well-known/sluice/events",
            [("origin", "http://b.test")],
            body=stream(driver.key.encode()),
        )
        for request in (foreign, Request("GET", foreign.url, [])):
            response = await world.export.own(request)
            assert response is not None
            assert response.status == 404
        stranger = world.ticket(3).replace("a.test", "b.test")
        assert b"KEY" not in await text_of(await world.get(stranger))
        assert await world.get("http://a.test/page?d=1") is None

    run(main())


def test_a_cached_page_finds_its_driver() -> None:
    async def main() -> None:
        world = World()
        ticket = world.ticket()
        world.export.close_document(1)
        world.export.open_document(2, "http://a.test/")  # the browser asks whether it has changed
        csp = ("content-security-policy", "default-src 'none'")
        answer = world.export.document_response(2, Response(304, [("etag", '"1"'), csp]))
        assert "sluice" in header(answer.headers, "content-security-policy")
        assert header(answer.headers, "etag") == 'W/"1;sluice"'
        assert b"KEY" in await text_of(await world.get(ticket))
        one = component(*PREFIXES, received=3)
        one.document = 2
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert response.body == b"abc!"

    run(main())


def test_a_document_that_has_moved_is_another_page() -> None:
    async def main() -> None:
        world = World()
        before = await world.page()
        world.export.move_document(1, "http://a.test/en/")
        driver = await world.page(1, "http://a.test/en/")
        assert driver.key != before.key
        assert (await world.say("beacon", before.key, b"{}")).status == 404
        assert len(world.export.pages) == 1
        script = Component(7, 1, "http://a.test/s.js", Kind.SCRIPT, promised=True)
        script.head = OriginHead(200, [("content-type", "text/javascript")], None)
        script.data += b"a.drawImage(b)"
        script.looked_at = script.received  # it came while the document was the page before
        world.export.look_again([script])
        one = component(*PREFIXES, received=3)
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert response.length == 9, "it is whole when it says so"

    run(main())


def test_left_pages_are_forgotten_in_time_and_number() -> None:
    async def main() -> None:
        world = World()
        one = component(*PREFIXES, received=3)
        await world.page()
        await world.export.picture(one, Request("GET", URL, IMAGE))
        for document in range(2, 100):
            world.export.open_document(document, "http://a.test/")
            world.export.close_document(document)
        assert world.export.statistics().pages == 65
        world.export.close_document(1)
        world.now = 601
        world.export.close_document(0)
        assert world.export.statistics().pages == 0
        advance(one, 5)
        assert one.unread == 2  # nobody holds it any more

    run(main())


def test_a_document_is_passed_on_unless_it_is_html() -> None:
    async def main() -> None:
        world = World()
        world.export.open_document(1, "http://a.test/")
        for response in (
            Response(200, [("content-type", "application/xhtml+xml")], b"<html><head>"),
            Response(200, [("content-type", "text/html"), ("content-encoding", "gzip")], b"x"),
            Response(206, [("content-type", "text/html")], b"<html><head>"),
            Response(200, [("content-type", "text/html; charset=utf-16")], b"<html><head>"),
        ):
            assert world.export.document_response(1, response) is response
        fields = [("content-type", "text/html"), ("content-length", "12"), ("etag", '"x"')]
        body = stream(b"<html><he", b"ad><title>")
        answer = world.export.document_response(1, Response(200, fields, body, 19))
        assert answer.length is None
        vary = ("vary", VARY)
        assert answer.headers == [("content-type", "text/html"), ("etag", 'W/"x;sluice"'), vary]
        text = await text_of(answer)
        assert re.fullmatch(
            rb'<html><head><script src="/.well-known/sluice/driver.js\?d=\w+"></script><title>',
            text,
        )

    run(main())

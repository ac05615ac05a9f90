"""A request tells its purpose by its own fields, and what its browser can do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from local_proxy.export_drivers.browser.engines import in_gecko, stretches
from local_proxy.front.clients import Clients, ClientsError, is_here
from local_proxy.http.model import Request, Response
from local_proxy.http.responses import bodyless, dispose, keeps_length
from local_proxy.requests.intent import (
    in_frame,
    is_form,
    is_navigation,
    is_sheet,
    is_speculative,
    is_window,
    referring_host,
    saves_data,
    subject_of,
)
from wire.skeleton import Kind, Use

CHROME = "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; rv:{0}.0) Gecko/20100101 Firefox/{0}.0"


def asked(method: str = "GET", **fields: str) -> Request:
    headers = [(name.replace("_", "-"), value) for name, value in fields.items()]
    return Request(method, "http://a.test/x", headers)


@pytest.mark.parametrize(
    ("request_", "page", "framed"),
    [
        (asked(sec_fetch_dest="document"), True, False),
        (asked(sec_fetch_dest="iframe"), True, True),
        (asked(sec_fetch_dest="image"), False, False),
        (asked(sec_fetch_dest="empty", sec_fetch_mode="navigate"), True, False),
        (asked(sec_fetch_dest="empty", sec_fetch_mode="cors"), False, False),
        (asked(accept="text/html,*/*", upgrade_insecure_requests="1"), True, False),
        (asked(accept="text/html,*/*"), False, False),
        (asked("HEAD", accept="text/html", upgrade_insecure_requests="1"), False, False),
        (asked(accept="*/*"), False, False),
    ],
)
def test_whether_a_page_is_loaded(request_: Request, page: bool, framed: bool) -> None:
    assert (is_navigation(request_), in_frame(request_)) == (page, framed)


@pytest.mark.parametrize(
    ("request_", "window"),
    [
        (asked(sec_fetch_dest="document"), True),
        (asked(accept="text/html,*/*", upgrade_insecure_requests="1"), True),
        (asked("POST", sec_fetch_dest="document"), False),
        (asked(sec_fetch_dest="iframe"), False),
        (asked(sec_fetch_dest="empty", sec_fetch_mode="navigate"), False),
        (replace(asked(sec_fetch_dest="document"), original=True), False),
    ],
)
def test_whether_a_window_is_to_show_a_page(request_: Request, window: bool) -> None:
    assert is_window(request_) is window


@pytest.mark.parametrize(
    ("request_", "form"),
    [
        (asked("POST", sec_fetch_dest="document"), True),
        (asked("POST", accept="text/html,*/*", upgrade_insecure_requests="1"), True),
        (asked("POST", accept="*/*"), False),
        (asked("POST", sec_fetch_dest="iframe"), False),
        (asked(sec_fetch_dest="document"), False),
        (replace(asked("POST", sec_fetch_dest="document"), original=True), False),
    ],
)
def test_whether_a_window_sends_a_form(request_: Request, form: bool) -> None:
    assert is_form(request_) is form


@pytest.mark.parametrize(
    ("request_", "kind", "use"),
    [
        (asked(sec_fetch_dest="document"), Kind.TEXT, Use.DOCUMENT),
        (asked(sec_fetch_dest="font"), Kind.FONT, Use.OTHER),
        (asked(sec_fetch_dest="image", accept="image/avif,*/*"), Kind.IMAGE, Use.OTHER),
        (asked(accept="text/css,*/*;q=0.1"), Kind.STYLE, Use.OTHER),
        (asked(accept="*/*"), Kind.OTHER, Use.OTHER),
    ],
)
def test_what_a_plan_can_know_before_there_is_an_answer(
    request_: Request, kind: Kind, use: Use
) -> None:
    subject = subject_of(request_, 7)
    assert (subject.kind, subject.use) == (kind, use)


def test_who_asks_for_less_data() -> None:
    assert saves_data(asked(save_data="on"))
    assert saves_data(asked(save_data="On; x=y"))
    assert not saves_data(asked(save_data="off"))


def test_a_style_sheet_by_its_type_or_by_who_asked() -> None:
    plain = Response(200, [("content-type", "text/plain")])
    assert is_sheet(asked(sec_fetch_dest="style"), plain)
    assert is_sheet(asked(), Response(200, [("content-type", "Text/CSS; charset=x")]))
    assert not is_sheet(asked(), plain)


def test_a_referer_that_is_no_address_names_nobody() -> None:
    assert referring_host(asked(referer="http://b.test:81/x")) == "b.test"
    assert referring_host(asked(referer="http://[::")) == ""
    assert referring_host(asked()) == ""


def test_engines_by_their_names() -> None:
    assert stretches(asked(user_agent=CHROME.format(120)))
    assert not stretches(asked(user_agent=CHROME.format(119)))
    assert stretches(asked(user_agent=FIREFOX.format(128)))
    assert not stretches(asked(user_agent="curl/8"))
    assert in_gecko(asked(user_agent=FIREFOX.format(140)))
    assert not in_gecko(asked(user_agent=CHROME.format(140)))


def test_a_proxy_for_everybody_says_for_whom_it_is() -> None:
    with pytest.raises(ClientsError, match="allow_clients"):
        Clients("0.0.0.0:8118", [])
    with pytest.raises(ClientsError, match="'neighbours' is no address"):
        Clients("0.0.0.0:8118", ["neighbours"])


@pytest.mark.parametrize(
    ("client", "admitted"),
    [
        (("192.168.1.7", 5), True),
        (("192.168.2.7", 5), False),
        (("127.0.0.1", 5), True),
        (("10.0.0.1", 5), True),  # our own address, to itself
        (("gone", 5), False),
        (None, False),
    ],
)
def test_who_is_admitted(client: tuple[str, int] | None, admitted: bool) -> None:
    clients = Clients("0.0.0.0:8118", ["192.168.1.0/24"])
    assert clients.admits(client, ("10.0.0.1", 8118)) is admitted
    assert is_here(client, None) is False


def test_bodies_that_are_not_sent() -> None:
    assert bodyless(Response(304, []), "GET") and keeps_length(Response(304, []), "GET")
    assert bodyless(Response(204, []), "GET") and not keeps_length(Response(204, []), "GET")
    assert bodyless(Response(200, []), "HEAD") and keeps_length(Response(200, []), "HEAD")
    assert not bodyless(Response(200, []), "GET")


def test_a_body_is_let_go_and_everybody_told_whatever_one_of_them_does() -> None:
    ended: list[str] = []

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            yield b"b"
        finally:
            ended.append("body")

    def breaks(whole: bool) -> None:
        raise RuntimeError("mine")

    async def go() -> None:
        response = Response(200, [], body())
        response.on_done += [breaks, lambda whole: ended.append(f"whole {whole}")]
        assert not isinstance(response.body, bytes)
        async for _ in response.body:
            break
        await dispose(response, whole=False)

    asyncio.run(go())
    assert ended == ["body", "whole False"]


@pytest.mark.parametrize(
    ("said", "is_one"),
    [("prefetch", True), ("prefetch;prerender", True), ("", False), ("other", False)],
)
def test_a_page_that_nobody_has_gone_to_says_so(said: str, is_one: bool) -> None:
    assert is_speculative(asked(sec_fetch_dest="document", sec_purpose=said)) is is_one

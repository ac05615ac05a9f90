"""Tests of jobs: what a browser asked for, what is promised, what an earlier session promised."""

from __future__ import annotations

import pytest

from remote_proxy.import_drivers.found import Found
from remote_proxy.jobs.job import Job, is_download, kind_of
from remote_proxy.origin.decoder import ACCEPT_ENCODING
from remote_proxy.promises.prefetch import Prefetch
from transport.sending.incoming import Incoming
from wire import messages as m
from wire.applications import Application
from wire.continuation import Continuation
from wire.fields import header
from wire.skeleton import Kind, Part, Use

ATTACHED = [("content-disposition", 'attachment; filename="a"')]
PICTURE = Found("http://a.test/a.png", Kind.IMAGE, Use.ELEMENT, order=4, width=640, height=480)
HEADERS = (("cookie", "a=1"), ("referer", "http://a.test/"))


def asked(component: int, document: int, **more: object) -> m.Request:
    return m.Request(component, document, "GET", "http://a.test/a", b"", **more)  # type: ignore[arg-type]


def promised(treatment: m.Treatment = m.Treatment.ADAPTED, *, withheld: bool = False) -> Job:
    prefetch = Prefetch(PICTURE.url, HEADERS, "image/webp,*/*", PICTURE)
    return Job.prefetch(prefetch, component=8, document=5, treatment=treatment, withheld=withheld)


def test_what_a_window_asks_for_is_a_document_and_what_a_page_asks_for_is_not() -> None:
    upload = Incoming(lambda amount: None)
    page = Job.requested(asked(5, 5), [("accept", "*/*")], upload)
    part = Job.requested(asked(7, 5), [], None)
    assert (page.use, page.kind, page.upload) == (Use.DOCUMENT, None, upload)
    assert page.request.headers == [("accept", "*/*")]
    assert (part.use, part.kind, part.document) == (Use.OTHER, None, 5)
    assert not page.promised and not part.promised


def test_what_browsers_fetch_for_themselves_is_never_ahead_of_a_text() -> None:
    assert Job.requested(asked(5, m.BACKGROUND), [], None).kind is Kind.OTHER


def test_a_promise_asks_as_a_browser_would_and_for_levels_of_pictures_alone() -> None:
    job = promised()
    assert job.promised and not job.withheld
    assert job.request.headers == [
        *HEADERS,
        ("accept", "image/webp,*/*"),
        ("accept-encoding", ACCEPT_ENCODING),
    ]
    assert job.request.levels
    assert not promised(m.Treatment.ORIGINAL).request.levels
    assert promised(withheld=True).withheld
    assert job.part == Part(8, PICTURE.url, Kind.IMAGE, Use.ELEMENT, 5, 640, 480)


def test_a_promise_of_an_earlier_session_is_what_it_was_then() -> None:
    before = promised().part
    resume = Continuation(1000, b"digest", part=before, accept="text/html,image/avif,*/*")
    job = Job.requested(
        asked(8, 5, resume=resume, application=Application.OFFICE), [*HEADERS], None
    )
    assert job.promised
    assert job.request.application is Application.OFFICE
    assert (job.kind, job.use, job.order, job.width, job.height) == (
        *(Kind.IMAGE, Use.ELEMENT, 5, 640, 480),
    )
    assert job.request.levels
    assert header(job.request.headers, "accept").startswith("image/avif,")
    assert job.resume is resume


def test_what_is_resumed_and_was_asked_for_is_no_promise() -> None:
    job = Job.requested(asked(5, 5, resume=Continuation(1000, b"digest")), [], None)
    assert not job.promised
    assert job.use is Use.DOCUMENT
    assert job.part.kind is Kind.OTHER


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/css", Kind.STYLE),
        ("text/javascript", Kind.SCRIPT),
        ("application/x-javascript", Kind.SCRIPT),
        ("image/svg+xml", Kind.IMAGE),
        ("audio/ogg", Kind.MEDIA),
        ("font/woff2", Kind.FONT),
        ("application/vnd.ms-fontobject", Kind.FONT),
        ("text/plain", Kind.TEXT),
        ("application/atom+xml", Kind.TEXT),
        ("application/ld+json", Kind.TEXT),
        ("application/octet-stream", Kind.OTHER),
        ("", Kind.OTHER),
    ],
)
def test_a_media_type_is_of_one_kind(content_type: str, kind: Kind) -> None:
    assert kind_of(content_type) is kind


@pytest.mark.parametrize(
    ("window", "headers", "content_type", "expected"),
    [
        (True, [], "text/html", False),
        (True, [], "application/pdf", False),
        (True, [], "application/json", False),
        (True, [], "image/png", False),
        (True, [], "video/mp4", False),
        (True, [], "", False),
        (True, [], "application/octet-stream", True),
        (True, [], "application/zip", True),
        (True, ATTACHED, "text/html", True),
        (True, [("content-disposition", " Attachment")], "text/csv", True),
        (True, [("content-disposition", "inline; filename=a.pdf")], "application/pdf", False),
        (False, ATTACHED, "application/zip", True),
        (False, [], "application/octet-stream", False),  # a page's script asked for it
        (False, [], "application/wasm", False),
    ],
)
def test_a_download_is_what_a_browser_puts_away(
    window: bool, headers: list[tuple[str, str]], content_type: str, expected: bool
) -> None:
    job = Job.requested(asked(5, 5 if window else 3), [], None)
    assert is_download(job, headers, content_type) is expected


def test_what_browsers_fetch_for_themselves_is_no_download() -> None:
    job = Job.requested(asked(5, m.BACKGROUND), [], None)
    assert not is_download(job, ATTACHED, "application/zip")

"""Stand-ins for a text-only site's pictures have their size and next to no bytes."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from local_proxy.http.model import Request
from local_proxy.sites.placeholder import gif, kind_of, unloaded
from wire.fields import header
from wire.skeleton import Kind


@pytest.mark.parametrize(
    ("asked", "shown"), [((320, 200), (320, 200)), ((0, 5), (1, 5)), ((1 << 20, 1), (0xFFFF, 1))]
)
def test_a_picture_of_that_size_that_shows_nothing(
    asked: tuple[int, int], shown: tuple[int, int]
) -> None:
    made = gif(*asked)
    assert len(made) < 64
    with Image.open(io.BytesIO(made)) as image:
        assert image.size == shown
        assert image.convert("RGBA").getpixel((0, 0))[3] == 0  # type: ignore[index]


def test_a_page_that_asks_by_cors_gets_it_too() -> None:
    asked = Request("GET", "http://a/p.jpg", [("origin", "http://b")])
    answer = unloaded(asked, Kind.IMAGE, width=3, height=2)
    assert header(answer.headers, "access-control-allow-origin") == "http://b"
    assert header(answer.headers, "cache-control") == "no-store"


def test_films_and_fonts_are_refused_in_words() -> None:
    answer = unloaded(Request("GET", "http://a/f.mp4", []), Kind.MEDIA)
    assert answer.status == 403
    assert isinstance(answer.body, bytes) and b"text only" in answer.body


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("image/png", Kind.IMAGE),
        ("IMAGE/WEBP; q=1", Kind.IMAGE),
        ("image/svg+xml", Kind.OTHER),
        ("video/mp4", Kind.MEDIA),
        ("audio/ogg", Kind.MEDIA),
        ("font/woff2", Kind.FONT),
        ("application/x-font-ttf", Kind.FONT),
        ("text/html", Kind.OTHER),
        ("", Kind.OTHER),
    ],
)
def test_a_media_type_tells_what_is_left_out(content_type: str, kind: Kind) -> None:
    assert kind_of(content_type) is kind

"""Pages with our tag, and who is told of them: by the fields of requests and responses alone."""

from __future__ import annotations

import pytest

from local_proxy.export_drivers.markup.page_marks import asked, marked
from wire.fields import Headers, header

DATE = "Mon, 23 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("origins", "ours"),
    [
        ([("etag", '"a"')], 'W/"a;sluice"'),
        ([("etag", 'W/"a"')], 'W/"a;sluice"'),
        ([("last-modified", DATE)], 'W/";sluice"'),
        ([("etag", "none"), ("last-modified", DATE)], 'W/";sluice"'),
        ([("etag", "none")], ""),
        ([], ""),
    ],
)
def test_whatever_browsers_might_ask_by_has_a_mark(origins: Headers, ours: str) -> None:
    out = marked(origins)
    assert header(out, "etag") == ours
    assert header(out, "last-modified") == header(origins, "last-modified")
    assert "sec-fetch-dest" in header(out, "vary")


def test_what_a_page_varies_by_already_is_kept() -> None:
    assert header(marked([("vary", "Cookie")]), "vary").startswith("Cookie, sec-fetch-dest")


SINCE = ("if-modified-since", DATE)


@pytest.mark.parametrize(
    ("sent", "for_pages", "for_others"),
    [
        ([("if-none-match", 'W/"a;sluice"')], [("if-none-match", 'W/"a"')], []),
        ([("if-none-match", 'W/"a;sluice"'), SINCE], [SINCE, ("if-none-match", 'W/"a"')], []),
        ([("if-none-match", 'W/";sluice"'), SINCE], [SINCE], []),
        (
            [("if-none-match", '"b", W/"a;sluice"')],
            [("if-none-match", 'W/"b", W/"a"')],
            [],
        ),
        ([("if-none-match", '"b"'), SINCE], [("if-none-match", '"b"'), SINCE], None),
        ([("if-none-match", "*")], [("if-none-match", "*")], None),
        ([], [], None),
    ],
)
def test_origins_never_hear_of_a_mark(
    sent: Headers, for_pages: Headers, for_others: Headers | None
) -> None:
    fields: Headers = [("accept", "*/*"), *sent]
    assert asked(fields, page=True) == [fields[0], *for_pages]
    expected = fields if for_others is None else [fields[0], *for_others]
    assert asked(fields, page=False) == expected

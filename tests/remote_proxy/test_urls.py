"""Relative URLs, as browsers resolve them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.import_drivers.urls import origin, resolve

BASE = "http://site.test/a/b.html?q#f"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("c", "http://site.test/a/c"),
        ("./c", "http://site.test/a/c"),
        ("../c", "http://site.test/c"),
        ("../../../c/./d/..", "http://site.test/c/"),
        ("%2E%2e/c", "http://site.test/c"),
        ("/c?", "http://site.test/c?"),
        ("?x", "http://site.test/a/b.html?x"),
        ("c?a=b c&d='\"<>`", "http://site.test/a/c?a=b%20c&d=%27%22%3C%3E`"),
        ("c d`{}|", "http://site.test/a/c%20d%60%7B%7D|"),
        ("c%zz%41", "http://site.test/a/c%zz%41"),
        (" \t c\n", "http://site.test/a/c"),
        ("c\nd\te", "http://site.test/a/cde"),
        ("\\c\\d", "http://site.test/c/d"),
        ("//Cdn.Test:80/x#y", "http://cdn.test/x"),
        ("//cdn.test:0443/x", "http://cdn.test:443/x"),
        ("HTTPS://cdn.test:443/x", "https://cdn.test/x"),
        ("https:/cdn.test/x", "https://cdn.test/x"),
        ("http:c", "http://site.test/a/c"),
        ("http://u:p@h/x", "http://h/x"),
        ("http://[::1]:8/x", "http://[::1]:8/x"),
        ("http://bücher.test/é", "http://xn--bcher-kva.test/%C3%A9"),
        ("//cdn.test", "http://cdn.test/"),
        ("//cdn.test?x", "http://cdn.test/?x"),
        ("#x", None), ("", None), ("data:,x", None), ("javascript:void(0)", None),
        ("about:blank", None), ("blob:http://h/x", None), ("mailto:a@b", None),
        ("http://", None), ("//", None), ("http://h:99999/", None), ("http://a b/", None),
        ("http://h:x/", None), ("x" * 9000, None),
    ],
)  # fmt: skip
def test_resolve(reference: str, expected: str | None) -> None:
    assert resolve(BASE, reference) == expected


@given(st.text(max_size=80))
def test_whatever_is_written_comes_out_whole_or_not_at_all(reference: str) -> None:
    url = resolve(BASE, reference)
    assert url is None or resolve(BASE, url) == url
    if url is not None:
        assert url.startswith(("http://", "https://")) and url.isascii() and "#" not in url
        assert len(origin(url)) < len(url)

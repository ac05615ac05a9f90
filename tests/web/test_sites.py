"""Origins and sites are told apart as browsers do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.sites import origin_of, registrable, relation, site_of, within


@pytest.mark.parametrize(
    ("url", "origin", "site"),
    [
        ("https://www.example.com/a?b#c", "https://www.example.com", "https://example.com"),
        ("https://example.com:443/", "https://example.com", "https://example.com"),
        ("https://Example.COM:8443", "https://example.com:8443", "https://example.com"),
        ("http://example.com/", "http://example.com", "http://example.com"),
        ("https://a.b.example.co.uk/", "https://a.b.example.co.uk", "https://example.co.uk"),
        ("https://mine.github.io/", "https://mine.github.io", "https://mine.github.io"),
        ("https://github.io/", "https://github.io", "https://github.io"),
        ("https://example.com./", "https://example.com.", "https://example.com"),
        ("http://u:p@127.0.0.1:80/", "http://127.0.0.1", "http://127.0.0.1"),
        ("http://10.0.0.1:8080/", "http://10.0.0.1:8080", "http://10.0.0.1"),
        ("http://[::1]:81/", "http://[::1]:81", "http://::1"),
        ("http://localhost:3000/", "http://localhost:3000", "http://localhost"),
        ("https://a.intranet/", "https://a.intranet", "https://a.intranet"),
        ("https://b.a.intranet/", "https://b.a.intranet", "https://a.intranet"),
        ("null", "", ""),
        ("", "", ""),
        ("about:blank", "", ""),
        ("data:text/html,x", "", ""),
        ("http://[", "", ""),
        ("http://a:port/", "", ""),
        ("ftp://a/", "", ""),
    ],
)
def test_origin_and_site(url: str, origin: str, site: str) -> None:
    assert (origin_of(url), site_of(url)) == (origin, site)


@pytest.mark.parametrize(
    ("origin", "url", "said"),
    [
        ("https://a.example.com", "https://a.example.com/x", "same-origin"),
        ("https://a.example.com", "https://a.example.com:8443/x", "same-site"),
        ("https://a.example.com", "https://b.example.com/x", "same-site"),
        ("http://a.example.com", "https://a.example.com/x", "cross-site"),
        ("https://a.github.io", "https://b.github.io/x", "cross-site"),
        ("http://10.0.0.1", "http://10.0.0.2/", "cross-site"),
    ],
)
def test_how_an_origin_stands_to_an_address(origin: str, url: str, said: str) -> None:
    assert relation(origin, url) == said


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.example.co.uk/x", "example.co.uk"),
        ("http://example.co.uk:8000/", "example.co.uk"),
        ("https://a.github.io/", "a.github.io"),
        ("http://10.0.0.1/", "10.0.0.1"),
        ("nothing", ""),
    ],
)
def test_one_site_however_it_is_reached(url: str, name: str) -> None:
    assert registrable(url) == name


@pytest.mark.parametrize(
    ("host", "is_one"),
    [("a.test", True), ("www.a.test", True), ("ba.test", False), ("test", False), ("", False)],
)
def test_hosts_of_a_site(host: str, is_one: bool) -> None:
    assert within(host, "a.test") is is_one
    assert not within(host, "")


@given(st.text() | st.text().map("https://".__add__))
def test_any_text_is_answered_and_a_site_is_a_site_of_itself(text: str) -> None:
    origin = origin_of(text)
    assert bool(origin) == bool(site_of(text))
    assert origin_of(origin) == origin

"""The table of content security policies: the least change, or none possible."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.export_drivers.markup.csp import (
    MAX_POLICIES,
    MetaPolicies,
    adjust_csp,
    adjust_headers,
)

ORIGIN = "http://a.test"
S = "http://a.test/.well-known/sluice/driver.js"
C = "http://a.test/.well-known/sluice/"

TABLE: list[tuple[str, str | None, str | None]] = [
    ("default-src 'self'", "default-src 'self'", None),
    ("default-src *", "default-src *", None),
    ("img-src 'none'", "img-src 'none'", None),
    ("default-src 'none'", f"default-src 'none'; script-src-elem {S}; connect-src {C}", None),
    ("default-src b", f"default-src b; script-src-elem b {S}; connect-src b {C}", None),
    ("script-src 'none'", f"script-src {S}", None),
    ("script-src", f"script-src {S}", None),
    ("script-src b.test", f"script-src b.test {S}", None),
    ("script-src a.test", "script-src a.test", None),
    ("script-src http:", "script-src http:", None),
    ("script-src 'none'; script-src-elem b", f"script-src 'none'; script-src-elem b {S}", None),
    ("SCRIPT-SRC 'NONE'", f"script-src {S}", None),
    ("script-src 'nonce-Ab1='", "script-src 'nonce-Ab1='", "Ab1="),
    ("script-src 'nonce-x' 'strict-dynamic'", "script-src 'nonce-x' 'strict-dynamic'", "x"),
    ("script-src 'sha256-x' 'strict-dynamic'", None, None),
    ("script-src 'nonce-x', script-src b", f"script-src 'nonce-x', script-src b {S}", "x"),
    ("script-src 'nonce-x', script-src 'nonce-y' 'strict-dynamic'", None, None),
    ("connect-src 'none'", f"connect-src {C}", None),
    ("connect-src b;img-src c", f"connect-src b {C};img-src c", None),
    ("connect-src b; connect-src c", f"connect-src b {C}; connect-src c", None),
    ("default-src 'none'; connect-src 'self'; script-src 'self'",) * 2 + (None,),
    ("sandbox", None, None),
    ("sandbox allow-scripts", None, None),
    ("sandbox allow-scripts allow-same-origin", "sandbox allow-scripts allow-same-origin", None),
    ("upgrade-insecure-requests", None, None),
    ("require-trusted-types-for 'script'", "require-trusted-types-for 'script'", None),
    ("", "", None),
    (";;", ";;", None),
]


@pytest.mark.parametrize(("value", "expected", "nonce"), TABLE)
def test_table(value: str, expected: str | None, nonce: str | None) -> None:
    adjusted = adjust_csp(value, origin=ORIGIN)
    if expected is None:
        assert adjusted is None
    else:
        assert adjusted is not None
        assert (adjusted.value, adjusted.nonce) == (expected, nonce)


def test_several_headers_share_one_nonce() -> None:
    name = "content-security-policy"
    headers = [(name, "script-src 'nonce-x'"), ("a", "b"), (name, "script-src 'nonce-y' 'nonce-x'")]
    assert adjust_headers(headers, origin=ORIGIN) == (headers, "x")
    blocked = [("integrity-policy", "blocked-destinations=(script)")]
    assert adjust_headers(blocked, origin=ORIGIN) is None


@given(st.text(alphabet="'abcdefghijklmnopqrstuvwxyz-;, *\t:/", max_size=80))
def test_adjusting_twice_changes_nothing_more(value: str) -> None:
    once = adjust_csp(value, origin=ORIGIN)
    if once is not None:
        assert adjust_csp(once.value, origin=ORIGIN) == once


@pytest.mark.parametrize(
    ("policy", "shut"),
    [
        ("default-src 'self'", False),
        ("img-src 'self'", False),
        ("default-src 'none'; img-src *", True),
        ("connect-src b.test", True),
        ("connect-src 'self' b.test", False),
        ("upgrade-insecure-requests", True),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_meta_policies(policy: str, shut: bool, step: int) -> None:
    page = (
        '<head><meta charset=utf-8><META http-equiv="Content-Security-Policy"\n'
        f' content="{policy}">'
    ).encode()
    watch = MetaPolicies(origin=ORIGIN)
    for at in range(0, len(page), step):
        watch.feed(page[at : at + step])
    assert watch.shut is shut


def test_meta_search_is_bounded() -> None:
    watch = MetaPolicies(origin=ORIGIN)
    for _ in range(70):
        watch.feed(b"<meta " * 170)
    assert not watch.shut
    watch.feed(b'<meta http-equiv=content-security-policy content="default-src none">')
    assert not watch.shut


META_PIECES = st.sampled_from(
    [
        *(b"<meta ", b"<META\n", b"<", b">", b" ", b"http-equiv=", b"x", b"<met", b"a "),
        *(b"content-security-policy", b"Content-Security-", b"Policy", b" content=", b'"', b"'"),
        *(b"connect-src b.test", b"default-src 'none'", b"connect-src 'self'", b"; "),
    ]
)


@given(st.lists(META_PIECES, max_size=20).map(b"".join), st.data())
def test_meta_policies_are_the_same_however_the_page_is_cut(
    page: bytes, draw: st.DataObject
) -> None:
    cuts = draw.draw(st.lists(st.integers(0, len(page)), max_size=6))
    whole, cut = MetaPolicies(origin=ORIGIN), MetaPolicies(origin=ORIGIN)
    whole.feed(page)
    for a, b in pairwise([0, *sorted(cuts), len(page)]):
        cut.feed(page[a:b])
    assert (cut.shut, cut.restrict) == (whole.shut, whole.restrict)


def test_a_header_of_too_many_policies_leaves_the_page_alone() -> None:
    fits = [("content-security-policy", "img-src *," * (MAX_POLICIES - 1) + "img-src *")]
    assert adjust_headers(fits, origin=ORIGIN) is not None
    assert adjust_headers([*fits, ("content-security-policy", "")], origin=ORIGIN) is None

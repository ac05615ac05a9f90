"""A page's earlier elements speak for those behind them."""

from __future__ import annotations

import pytest

from remote_proxy.import_drivers.scope import UNSURE, Scope, nonce_of
from web.content_security import header_policies

PAGE = "http://a.test/dir/page"


def scope(policy: str = "") -> Scope:
    fields = [("content-security-policy", policy)] if policy else []
    return Scope(PAGE, header_policies(fields, origin="http://a.test"))


def test_the_first_base_with_an_address_holds() -> None:
    page = scope()
    page.on_base({"target": "x"})
    page.on_base({"href": "http://b.test/c/"})
    page.on_base({"href": "http://d.test/"})
    assert page.resolve("e.png") == "http://b.test/c/e.png"


def test_a_base_that_a_policy_forbids_leaves_the_page_s_own() -> None:
    page = scope("base-uri 'self'")
    page.on_base({"href": "http://b.test/"})
    page.on_base({"href": "http://a.test/other/"})
    assert page.resolve("e.png") == "http://a.test/dir/e.png"


def test_nothing_is_asked_for_where_there_is_no_reference() -> None:
    assert scope().resolve(None) is None
    assert scope().resolve("") is None


def test_policies_of_metas_add_up() -> None:
    page = scope("img-src a.test")
    page.on_meta({"http-equiv": "Content-Security-Policy", "content": "font-src b.test"})
    page.on_meta({"http-equiv": "content-security-policy", "content": ""})
    assert len(page.policies) == 2


@pytest.mark.parametrize(
    ("name", "content", "policy"),
    [
        ("referrer", "no-referrer", "no-referrer"),
        ("referrer", "NEVER", "no-referrer"),
        ("referrer", "nonsense", ""),
        (" referrer", "origin", UNSURE),
        ("author", "origin", ""),
    ],
)
def test_a_meta_s_referrer_policy(name: str, content: str, policy: str) -> None:
    page = scope()
    page.on_meta({"name": name, "content": content})
    assert page.referrer_policy == policy


def test_an_element_s_own_referrer_policy_goes_before_the_page_s() -> None:
    page = scope()
    page.on_meta({"name": "referrer", "content": "origin"})
    assert page.referrer_policy_of({}) == "origin"
    assert page.referrer_policy_of({"referrerpolicy": "no-referrer"}) == "no-referrer"
    assert page.referrer_policy_of({"referrerpolicy": "nonsense"}) == "origin"
    assert page.referrer_policy_of({"referrerpolicy": "never"}) == UNSURE


def test_the_head_is_over_with_the_first_element_of_a_body() -> None:
    page = scope()
    for tag in ("html", "head", "meta", "link", "style"):
        page.enter(tag)
        assert not page.head_over
    page.enter("p")
    assert page.head_over


def test_foreign_content_ends_by_itself_where_html_begins() -> None:
    page = scope()
    page.enter("svg")
    page.enter("image")
    assert page.foreign
    page.enter("div")
    assert not page.foreign
    page.leave("svg")
    assert page.foreign == 0, "it never falls below"


def test_what_stands_for_a_film_may_never_be_shown() -> None:
    page = scope()
    page.enter("video")
    page.enter("img")
    assert page.fallback == 1
    page.leave("video")
    assert page.fallback == 0


def test_inline_styles_by_policy_and_nonce() -> None:
    page = scope("style-src 'nonce-n1'")
    assert not page.allows_inline_style()
    assert page.allows_inline_style({"nonce": "n1"})
    assert not page.allows_inline_style({"nonce": "n2"})
    assert scope().allows_inline_style()


def test_a_nonce_that_markup_ran_into_is_none() -> None:
    assert nonce_of({"nonce": "n1"}) == "n1"
    assert nonce_of({"nonce": "n1", "title": "<script src=x"}) == ""


def test_of_sheets_with_titles_those_of_the_first_take_effect() -> None:
    page = scope()
    assert page.prefers({})
    assert page.prefers({"title": "day"})
    assert not page.prefers({"title": "night"})
    assert page.prefers({"title": "day"})

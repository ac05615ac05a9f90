"""A document's own protections bind promises: each rule, by a page that has it."""

from __future__ import annotations

import base64
import hashlib
import time

import pytest

from remote_proxy.promises.document_import import DocumentImport, Importer
from remote_proxy.promises.prefetch import Document, Prefetch
from remote_proxy.promises.protections import Embedding, shown

PAGE = "https://site.test/dir/page"
SHEET = b"""html{background:url(/bg.png);font-family:F}
@font-face{font-family:F;src:url(f.woff2)}"""
SHA = "sha256-" + base64.b64encode(hashlib.sha256(SHEET).digest()).decode()
Fields = dict[str, str]
META = '<meta http-equiv=content-security-policy content="{}">'


class Read:
    """A page, read as it comes; what is to be fetched for it."""

    def __init__(self, answered: Fields | None = None, *, embedding: Embedding | None = None,
                 agent: str = "Chrome/156") -> None:  # fmt: skip
        self.wanted: list[Prefetch] = []
        fields = [("content-type", "text/html;charset=utf-8"), *(answered or {}).items()]
        document = Document(
            PAGE, [("user-agent", agent), ("cookie", "id=7"), ("sec-fetch-mode", "navigate")],
            fields, embedding=embedding or Embedding(),
        )  # fmt: skip
        self.imports = DocumentImport(document, self.wanted.extend)
        self.page = self.imports.page()

    def feed(self, html: str) -> Read:
        self.page.feed(html.encode())
        return self

    def close(self) -> Read:
        self.page.close()
        return self

    def sheet(self, path: str, headers: Fields | None = None, body: bytes = SHEET) -> Read:
        made = self._sheet(path, headers or {})
        if made is not None:
            made.feed(body)
            made.close()
        return self

    def _sheet(self, path: str, headers: Fields) -> Importer | None:
        url = path if "://" in path else "https://site.test" + path
        return self.imports.sheet(url, [("content-type", "text/css"), *headers.items()])

    @property
    def paths(self) -> str:
        return " ".join(one.url.removeprefix("https://site.test") for one in self.wanted)


def paths(html: str, answered: Fields | None = None, **options: object) -> str:
    return Read(answered, **options).feed(html).close().paths  # type: ignore[arg-type]


def policy(text: str) -> Fields:
    return {"content-security-policy": text}


EVIL = "https://evil.test"
ALL = (
    f"<link rel=stylesheet href={EVIL}/c><script src={EVIL}/s></script><img src={EVIL}/i>"
    f"<link rel=preload as=font crossorigin href={EVIL}/f><iframe src={EVIL}/d></iframe>"
    f"<link rel=preload as=fetch crossorigin href={EVIL}/x><object type=text/html data={EVIL}/o>"
    f"</object><table background={EVIL}/b><p style='background:url({EVIL}/a)'><img src=/own>"
)


def evil(answered: Fields) -> str:
    return "".join(one[-1] for one in paths(ALL, answered).split() if one.startswith(EVIL))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", "csifdxoba"),
        ("default-src 'self'", ""),
        ("default-src 'self' evil.test 'unsafe-inline'", "csifdxoba"),
        ("img-src 'self'", "csfdxo"),
        ("style-src 'self' 'unsafe-inline'", "sifdxoba"),
        ("style-src *", "csifdxob"),
        ("script-src 'self'", "cifdxoba"),
        ("font-src 'none'", "csidxoba"),
        ("frame-src 'none'", "csifxba"),
        ("child-src 'self'", "csifxba"),
        ("object-src 'none'", "csifdxba"),
        ("connect-src 'self'", "csifdoba"),
        ("manifest-src 'none'; media-src 'none'; worker-src 'none'", "csifdxoba"),
        ("sandbox allow-same-origin", "cifdxoba"),
        ("sandbox allow-scripts", ""),
        ("upgrade-insecure-requests; block-all-mixed-content", "csifdxoba"),
    ],
)
def test_a_policy_of_the_response_holds_for_each_kind(text: str, left: str) -> None:
    assert sorted(evil(policy(text))) == sorted(left)


def test_a_policy_in_a_meta_holds_for_what_follows_it() -> None:
    meta = META.format("img-src 'self'")
    assert paths(f"<img src={EVIL}/1>{meta}<img src={EVIL}/2><img src=/3>") == f"{EVIL}/1 /3"
    assert paths(f"<template>{meta}</template><img src={EVIL}/2>") == f"{EVIL}/2"
    assert paths(META.format("default-src *, img-src 'none'") + "<img src=/1>") == ""


def test_a_page_with_a_sane_policy_still_gets_its_promises() -> None:
    answered = policy(
        "default-src 'self'; script-src 'nonce-abc' 'strict-dynamic' https: 'unsafe-inline'; "
        "style-src 'self' 'unsafe-inline'; img-src https: data:; font-src 'self'; object-src "
        "'none'; base-uri 'self'; frame-ancestors 'self'; upgrade-insecure-requests"
    )
    read = Read(answered).feed(
        "<link rel=stylesheet href=/c><script nonce=abc src=/s></script><script src=/no></script>"
        f"<style>p{{background:url(/p)}}</style><body><p><img src={EVIL}/i>"
    )
    assert read.sheet("/c").close().paths == f"/c /s {EVIL}/i /bg.png /f.woff2 /p"


def test_a_nonce_that_markup_ran_into_does_not_count() -> None:
    answered = policy("script-src 'nonce-abc'; style-src 'nonce-abc'")
    page = "<script src=/1 <script nonce=abc></script><script nonce=abc src=/2></script>"
    page += "<style nonce=abc>html{background:url(/3)}</style>"
    page += "<style nonce=abc title='<style'>html{background:url(/4)}</style>"
    assert paths(page, answered) == "/2 /3"


def test_a_script_by_the_hash_of_its_integrity() -> None:
    page = f"<script src=/1 integrity={SHA}></script><script src=/2 integrity=sha256-A></script>"
    assert paths(page, policy(f"script-src '{SHA}'")) == "/1"
    page = f"<script src=/1></script><script src=/2 crossorigin integrity={SHA}></script>"
    assert paths(page, {"integrity-policy": "blocked-destinations=(script)"}) == "/2"


def test_a_base_that_is_forbidden_or_strange() -> None:
    page = f"<base href={EVIL}/><img src=a>"
    assert paths(page) == f"{EVIL}/a"
    assert paths(page, policy("base-uri 'none'")) == "/dir/a"
    assert paths(META.format("base-uri 'self'") + page) == "/dir/a"
    assert paths("<base href='ftp://x/'><img src=a>") == ""
    assert paths("<base href=''><img src=a>") == "/dir/a"


@pytest.mark.parametrize("url", ["/a\n<b", "/a\t<b", "\n/a<b", "/a\n#<b", "/a<\r\nb"])
def test_dangling_markup_is_not_asked_for(url: str) -> None:
    assert paths(f'<img src="{url}"><iframe src="{url}"></iframe><img src="/c\nd<"><img src=/e>'
                 f'<base href="{url}"><img src=f>') == "/e"  # fmt: skip
    assert paths('<img src="/a\nb"><img src="/a<b">') == "/ab /a%3Cb"


def test_mixed_content_and_upgrades_are_left_to_the_browser() -> None:
    page = "<img src=http://cdn.test/a><iframe src=http://cdn.test/b></iframe>"
    assert paths(page) == ""
    http = Document("http://site.test/", [], list(policy("upgrade-insecure-requests").items()))
    wanted: list[Prefetch] = []
    DocumentImport(http, wanted.extend).page().feed(page.encode())
    assert wanted == []


def test_frames_that_are_not_plain_are_left_to_the_browser() -> None:
    page = (
        "<iframe src=/1 credentialless></iframe><iframe src=/2 csp='x'></iframe>"
        f"<iframe src={PAGE}#x></iframe><iframe src=/3 sandbox></iframe>"
        "<object data=/4 type=text/html><object data=/5 type=text/html></object>"
        "<iframe src=/6></iframe></object><object data=/7 type=image/png></object>"
    )
    assert paths(page) == "/3 /4"
    within = Embedding(ancestors=("https://site.test/3",))
    assert paths("<iframe src=/3></iframe><iframe src=/4></iframe>", embedding=within) == "/4"


def test_what_a_frame_asks_for_is_judged_where_it_stands() -> None:
    page = Read(policy("sandbox allow-same-origin allow-scripts; upgrade-insecure-requests"))
    page.feed("<iframe src=/1 sandbox='allow-scripts'></iframe><iframe src=/2></iframe>")
    assert page.imports.frames["https://site.test/1"] == Embedding(
        (PAGE,), frozenset(("allow-scripts",)), upgrades=True
    )
    inside = "<img src=/a><script src=/s></script>"
    opaque = page.imports.frames["https://site.test/1"]
    assert paths(inside, embedding=opaque) == ""
    assert paths(inside, embedding=page.imports.frames["https://site.test/2"]) == "/a /s"
    foreign = Embedding((EVIL + "/",))
    assert paths(inside, {"set-cookie": "id=8; Path=/"}, embedding=foreign) == ""


@pytest.mark.parametrize(
    ("headers", "framed", "alone"),
    [
        ({}, True, True),
        ({"x-frame-options": "SAMEORIGIN"}, False, True),
        (policy("frame-ancestors 'self'"), False, True),
        ({"content-disposition": "attachment; filename=x"}, False, False),
        ({"content-disposition": "inline"}, True, True),
    ],
)
def test_documents_that_are_not_shown_are_not_read(
    headers: Fields, *, framed: bool, alone: bool
) -> None:
    assert shown(list(headers.items()), Embedding((PAGE,))) is framed
    assert shown(list(headers.items()), Embedding()) is alone
    assert not shown([], Embedding((PAGE,), isolated=True))


LINK = "<link rel=stylesheet href=/c {}><body>"
CDN = f"<link rel=stylesheet href={EVIL}/c {{}}><body>"


@pytest.mark.parametrize(
    ("page", "answered", "headers", "read"),
    [
        (LINK.format(""), {}, {}, True),
        (LINK.format(f"integrity={SHA}"), {}, {}, True),
        (LINK.format(f"integrity='sha256-AAAA {SHA}'"), {}, {}, True),
        (LINK.format(f"integrity='sha512-AAAA {SHA}'"), {}, {}, False),
        (LINK.format("integrity=sha256-AAAA"), {}, {}, False),
        (LINK.format("integrity=md5-AAAA"), {}, {}, False),
        (LINK.format("media=print"), {}, {}, False),
        ("<link rel=stylesheet title=a href=/a>" + LINK.format("title=b"), {}, {}, False),
        ("<link rel=preload as=style href=/c><body>", {}, {}, False),
        ("<link rel=preload as=style href=/c>" + LINK.format(""), {}, {}, True),
        ("<body>", {}, {}, False),
        (CDN.format(""), {}, {}, True),
        (CDN.format("crossorigin"), {}, {}, False),
        (CDN.format("crossorigin"), {}, {"access-control-allow-origin": "*"}, True),
        (CDN.format("crossorigin"), {}, {"access-control-allow-origin": EVIL}, False),
        (CDN.format(""), {}, {"cross-origin-resource-policy": "same-site"}, False),
        (CDN.format(""), {"cross-origin-embedder-policy": "require-corp"}, {}, False),
        (CDN.format(""), {"cross-origin-embedder-policy": "require-corp"},
         {"cross-origin-resource-policy": "cross-origin"}, True),
    ],
)  # fmt: skip
def test_a_style_sheet_is_read_if_it_takes_effect(
    page: str, answered: Fields, headers: Fields, *, read: bool
) -> None:
    path = "/c" if EVIL not in page else EVIL + "/c"
    found = Read(answered).feed(page).sheet(path, headers)
    assert ("bg.png" in found.paths) is read


def test_what_a_style_sheet_asks_for_is_under_the_pages_policies() -> None:
    for answered, left in (
        ({}, "/bg.png /f.woff2"),
        (policy("img-src 'none'"), "/f.woff2"),
        (policy("font-src 'none'"), "/bg.png"),
    ):
        found = Read(answered).feed(LINK.format("")).sheet("/c")
        assert found.paths == "/c " + left
    imported = b"@import url(/more);@import 'https://evil.test/c';"
    found = Read(policy("style-src 'self'")).feed(LINK.format("")).sheet("/c", body=imported)
    assert found.paths == "/c /more"


def test_a_sheet_that_is_here_before_the_policy_of_the_page_waits_for_it() -> None:
    found = Read().feed("<link rel=stylesheet href=/c>").sheet("/c")
    assert found.paths == "/c"
    assert found.feed(META.format("img-src 'none'") + "<body>x").paths == "/c /f.woff2"


REFERRERS = [
    # policy of the response, what asks, the referrer if it is fetched
    ("", "<img src=/i>", ["/dir/page"]),
    ("no-referrer", "<img src=/i>", [""]),
    ("no-referrer", "<style>html{background:url(/i)}</style>", []),
    ("same-origin", "<style>html{background:url(/i)}</style>", ["/dir/page"]),
    ("", "<img src=/i referrerpolicy=never>", []),
    ("", "<img src=/i referrerpolicy=' origin '>", []),
    ("", "<img src=/i referrerpolicy=bogus>", ["/dir/page"]),
    ("", "<meta name=referrer content=never><img src=/i>", [""]),
    ("", "<meta name=referrer content=' origin'><img src=/i>", []),
    ("", "<meta name=referrer content='origin,no-referrer'><img src=/i>", ["/dir/page"]),
    ("", "<input type=image referrerpolicy=no-referrer src=/i>", ["/dir/page"]),
]


@pytest.mark.parametrize(("answered", "html", "expected"), REFERRERS)
def test_referrers_are_the_browsers_or_nothing_is_fetched(
    answered: str, html: str, expected: list[str]
) -> None:
    wanted = Read({"referrer-policy": answered}).feed(html + "<body>").close().wanted
    sent = [dict(one.headers).get("referer", "") for one in wanted]
    assert [one.removeprefix("https://site.test") for one in sent] == expected


def test_parts_of_a_sheet_have_its_address_for_referrer_if_no_policy_makes_a_difference() -> None:
    for answered, headers, left in (
        ({}, {}, "/c /bg.png /f.woff2"),
        ({"referrer-policy": "same-origin"}, {}, "/c /bg.png /f.woff2"),
        ({"referrer-policy": "no-referrer"}, {}, "/c"),
        ({}, {"referrer-policy": "no-referrer"}, "/c"),
    ):
        found = Read(answered).feed(LINK.format("")).sheet("/c", headers)
        assert found.paths == left
        for one in found.wanted[1:]:
            assert dict(one.headers)["referer"] == "https://site.test/c"


def test_browsers_that_tell_other_sites_less_than_a_page_allows() -> None:
    page = f"<img src={EVIL}/i referrerpolicy=unsafe-url>"
    assert paths(page) == f"{EVIL}/i"
    assert paths(page, agent="Gecko/20100101 Firefox/140.0") == ""
    assert paths(page, agent="AppleWebKit Version/18 Safari/605") == ""


def test_credentials_that_cannot_be_known_are_not_guessed() -> None:
    assert paths(f"<img src={EVIL}/i crossorigin=use-credentials><img src=/o crossorigin="
                 "use-credentials>") == "/o"  # fmt: skip
    assert paths("<img src=/i>", {"clear-site-data": '"cookies"'}) == ""
    made = Read().feed(ALL).close().wanted
    assert all("cookie" not in dict(one.headers) for one in made if EVIL in one.url)


def test_documents_within_the_page_say_so() -> None:
    made = Read().feed("<frameset><frame src=/1></frameset>").close().wanted
    made += Read().feed("<embed type=text/html src=/2><svg><use href=/3#a></svg>").close().wanted
    sent = [dict(one.headers) for one in made]
    assert [one["sec-fetch-dest"] for one in sent] == ["frame", "embed", "image"]
    assert [one["sec-fetch-mode"] for one in sent] == ["navigate", "navigate", "same-origin"]


INERT = [
    f"<svg><use href={EVIL}/x#a></svg>",
    f"<style>p{{filter:url({EVIL}/x#a)}}</style><p>",
    "<style>p{no-property:url(/x)}</style><p>",
    "<style>@supports not (display:grid){p{background:url(/x)}}</style><p>",
    "<script href=/x></script>",
    "<svg><script src=/x></script><link rel=stylesheet href=/x></svg>",
    "<svg><![CDATA[ > <image href=/x> ]]></svg>",
    "<template shadowrootmode=bogus><img src=/x></template>",
    "<link rel=modulepreload as=style href=/x>",
    "<link rel=preload as=track href=/x>",
    "<video loading=lazy poster=/x></video>",
    "<meta http-equiv=refresh content='0;url=/x'>",
    "<noscript><img src=/x></noscript><!-- <img src=/x> -->",
]


@pytest.mark.parametrize("page", INERT)
def test_what_a_browser_does_not_fetch(page: str) -> None:
    assert paths(page) == ""


def test_a_find_is_never_put_together_from_two_elements() -> None:
    page = f"<img loading=lazy src={EVIL}/x><script src={EVIL}/x></script>"
    assert paths(page, policy("script-src 'self'")) == ""
    assert paths(page) == f"{EVIL}/x"


def test_policies_cost_little_beside_reading_the_page() -> None:
    hosts = " ".join(f"https://cdn{n}.test *.w{n}.test" for n in range(100))
    text = f"default-src 'none'; img-src {hosts}; script-src {hosts}; style-src {hosts}"
    page = "".join(f"<img src=https://cdn{n % 100}.test/{n}.png>" for n in range(500))
    before = time.process_time()
    assert len(paths(page, policy(text)).split()) == 256
    assert time.process_time() - before < 1  # 20 ms on an idle machine

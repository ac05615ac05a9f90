"""Titles, hosts, names of files: all that a page of ours is given stands there as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from bench.reports import report_html
from bench.reports.exhibits import (
    Arrow,
    Arrows,
    Bands,
    Bars,
    Curve,
    Curves,
    Film,
    FilmRow,
    Mark,
)
from tests.house.test_html_rules import rendered
from tests.house.test_rooms import house
from web.templates import template, verbatim

HOSTILE: Final = (
    "<script>alert(1)</script>", "</title><b>", "</style></script>", "\"><img src=x onerror=y>",
    "' x='", "{{ 7 * 7 }}", "{% raw %}", "{# x #}", "$x ${x} $$", "&lt;b&gt;", "&amp;&#60;", "<!--",
    "-->", "]]>", "`", "=", "%s %(x)s", "javascript:x",
)  # fmt: skip
_CHARACTERS: Final = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""Surrogates have no UTF-8; what a parser makes of NUL, HTML says (13.2.5), and lxml does not."""
TEXT: Final = st.lists(
    st.sampled_from(HOSTILE) | st.text(_CHARACTERS, min_size=1, max_size=8), min_size=1, max_size=4
).map("".join)

Render = Callable[..., str]


def _page(name: str, **more: Any) -> Render:
    package, _, file = name.rpartition("/")
    page = template(package.replace("/", "."), file)
    return lambda **texts: page.render(**texts, **more)


def _link_down(**texts: str) -> str:
    hints = [texts.pop("hint"), texts.pop("other_hint")]
    return _page("local_proxy/requests/link_down.html", hints=hints, retry=5)(**texts)


def _preview(**texts: str) -> str:
    package = "local_proxy.export_drivers.preview"
    ours = {
        "style": verbatim(package, "preview.css"),
        "script": verbatim(package, "preview.js"),
    }
    name = "local_proxy/export_drivers/preview/page.html"
    return _page(name, count=3, classes="slide", **ours)(**texts)


def _report(*, page: str, peer: str, label: str, words: str, scenario: str) -> str:
    """All kinds of exhibits and of runs. What keeps two texts apart is a letter before each."""
    run = {"page": f"p{page}", "peer": f"q{peer}", "painted_s": 1.0, "visit": f"v{words}"}
    points = [(0.0, 1.0), (2.0, 3.0)]
    curve, marks = Curve(label, points, 1, label), [Mark(1.0, label)]
    exhibits = [
        Film(f"p{page}", [1.0], [FilmRow(label, [label], [(0.5, label)])]),
        Curves(f"c of p{page}", words, [curve], 4.0, marks),
        Bands(f"b{words}", words, [curve], 4.0, marks),
        Bars(f"s{words}", words, [label, "other"], [curve], 4.0),
        Arrows(f"a{words}", 0.0, 2.0, [Arrow(0.0, 1.0, label)], marks, marks),
    ]
    data = {
        "scenario": scenario,
        "profile": words,
        "notes": [words],
        "checks": {label: {"value": words, "unit": words, "goal": words, "ok": True}},
        "runs": [run],
        "command": words,
        "commit": words,
        "machine": words,
    }
    free = {**data, "runs": [{f"k{words}": words, f"l{label}": 1.5}]}
    sections = [(data, exhibits), (free, exhibits[2:])]
    return report_html.page(sections, title=words, failed=[words])


PREVIEW: Final = "local_proxy/export_drivers/preview"
PAGES: Final[Mapping[str, tuple[tuple[str, ...], Render]]] = {
    name: (fields, render)
    for name, fields, render in (
        (
            "local_proxy/http/error_page.html",
            ("title", "reason"),
            _page("local_proxy/http/error_page.html"),
        ),
        (
            "local_proxy/requests/link_down.html",
            ("heading", "why", "host", "since", "reason", "hint", "other_hint"),
            _link_down,
        ),
        (
            "local_proxy/status/setup.html",
            ("address", "host", "port", "fingerprint", "private"),
            _page("local_proxy/status/setup.html", loopback=True),
        ),
        (f"{PREVIEW}/page.html", ("name", "base", "launch", "size", "nonce"), _preview),
        (
            f"{PREVIEW}/launch_question.html",
            ("name", "host", "secret"),
            _page(f"{PREVIEW}/launch_question.html"),
        ),
        (
            f"{PREVIEW}/launch_state.html",
            ("title", "lines"),
            _page(f"{PREVIEW}/launch_state.html", refresh=2),
        ),
        (f"{PREVIEW}/launch_refusal.html", ("text",), _page(f"{PREVIEW}/launch_refusal.html")),
        (
            "bench/reports/report.html",
            ("page", "peer", "label", "words", "scenario"),
            _report,
        ),
    )
}
"""Each template's fields that are texts, and what renders it with them."""


def structure(page: str) -> list[tuple[str, list[str]]]:
    """Elements in their order, each with the names of its attributes; comments are elements too."""
    tree = html.document_fromstring(page)
    return [(str(one.tag), sorted(one.attrib)) for one in tree.iter()]


def texts(page: str) -> list[str]:
    """All that a reader may see or a browser may use."""
    tree = html.document_fromstring(page)
    found = [text for one in tree.iter() for text in (one.text, one.tail, *one.attrib.values())]
    return [text for text in found if text]


def test_every_template_has_its_hostile_texts() -> None:
    assert set(PAGES) == rendered(house())


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("said", HOSTILE)
def test_a_hostile_text_is_shown_as_it_is(name: str, said: str) -> None:
    fields, render = PAGES[name]
    plain = dict.fromkeys(fields, "plain")
    made_of = structure(render(**plain))
    for field in fields:
        page = render(**plain | {field: said})
        assert structure(page) == made_of
        assert any(said.lower() in text.lower() for text in texts(page)), field


@pytest.mark.parametrize("name", PAGES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_text_changes_what_a_page_is_made_of(name: str, data: st.DataObject) -> None:
    fields, render = PAGES[name]
    plain = render(**dict.fromkeys(fields, "plain"))
    hostile = render(**{field: data.draw(TEXT, label=field) for field in fields})
    assert structure(hostile) == structure(plain)

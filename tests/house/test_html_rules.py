"""All HTML of ours is written by one environment that escapes: nothing depends on who remembers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from jinja2 import Environment, meta, nodes

from tests.house.test_rooms import ROOT, House, Module, house

STATIC: Final = ("local_proxy/status/page.html",)
"""Sent as they are: nothing is filled in."""
NOT_OURS: Final = "demo"
"""A site to load."""
BY_HAND: Final = {
    "local_proxy.export_drivers.browser.left_out": "a drawing, which is XML and no page",
    "local_proxy.export_drivers.markup.injection": "one tag, put into a stream of someone else's",
    "office.preview.markup": "thousands of pieces of a document, in the document's order",
}
"""Modules that escape on their own, and why."""
NO_HTML: Final = {
    "local_proxy.export_drivers.libreoffice.helper.program": "LibreOffice's settings, which are XML"
}
"""Modules besides in which a string is put together with tags."""
WRITES_PAGES: Final = ("local_proxy.", "remote_proxy.", "bench.reports.")
VERBATIM: Final = {
    "local_proxy.export_drivers.preview.page": "its style and its script, which are files of ours"
}
"""Modules that have something stand in a page unescaped, and why."""
IN_STYLES: Final = {
    "bench/reports/film.html": "names and percentages of animations, numbers that we made",
    "local_proxy/export_drivers/preview/page.html": "its style and its script, verbatim",
}
"""Templates that fill something into a style or a script, where escaping is no help, and why."""
_SYNTAX: Final = Environment()
_STATEMENT: Final = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_FIELD: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_TAG: Final = re.compile(r"<[a-z][a-z0-9]*[ >/]|</[a-z]")
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")


def templates() -> dict[str, str]:
    """All HTML of the product by its path from the root."""
    tops = {room.partition(".")[0] for room in house().rooms()} - {NOT_OURS}
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for top in sorted(tops)
        for path in sorted(ROOT.joinpath(top).rglob("*.html"))
    }


def calls(ours: House, name: str) -> Iterator[tuple[Module, ast.Call]]:
    """Calls of a function of web.templates, and the modules that make them."""
    for module in ours.modules.values():
        if "web.templates" in module.imports:
            for node in ast.walk(ast.parse(module.path.read_bytes())):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                    yield module, node


def rendered(ours: House) -> set[str]:
    """Templates that a module renders, each from its own package."""
    found = set()
    for module, call in calls(ours, "template"):
        package, file = (ast.unparse(argument) for argument in call.args)
        assert package == "__package__", f"{module.name} renders another's"
        found.add(f"{module.room.replace('.', '/')}/{ast.literal_eval(file)}")
    return found


def parts(source: str) -> Iterator[str]:
    """Templates that this one extends or takes macros from."""
    for name in meta.find_referenced_templates(_SYNTAX.parse(source)):
        assert name is not None, "which template it is must be said by name"
        yield name


def breaches(name: str, source: str) -> list[str]:
    """What in a template defeats escaping, in words."""
    tree = _SYNTAX.parse(source)
    found = [f"{name} switches escaping" for _ in tree.find_all(nodes.ScopedEvalContextModifier)]
    found += [
        f"{name} passes something through {one.name}"
        for one in tree.find_all(nodes.Filter)
        if one.name in ("safe", "xmlattr", "tojson", "urlize")
    ]
    markup = _FIELD.sub("\0", _STATEMENT.sub("", source))
    tags = [_QUOTED.sub('""', tag) for tag in re.findall(r"<[\w\0/][^<>]*", markup)]
    if any(re.search(r'=\s*[^\s\0"]*\0', tag) for tag in tags):
        found.append(f"{name} fills in an attribute without quotes")
    if any(re.match(r"</?\w*\0", tag) for tag in tags):
        found.append(f"{name} fills in the name of an element")
    if any(re.search(r"\son\w+\s*=", tag) for tag in tags):
        found.append(f"{name} has an event handler")
    inside = re.findall(r"<(style|script)\b[^>]*>(.*?)</\1>", source, re.DOTALL)
    if any("{{" in text for _, text in inside) and name not in IN_STYLES:
        found.append(f"{name} fills something into a style or a script")
    return found


def imported(ours: House, *wanted: str) -> Mapping[str, set[str]]:
    """Modules that import something of these, and what."""
    found: dict[str, set[str]] = {}
    tops = {name.partition(".")[0] for name in wanted}
    for module in ours.modules.values():
        if not tops & module.imports:
            continue
        for node in ast.walk(ast.parse(module.path.read_bytes())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            for name in set(names) & set(wanted):
                found.setdefault(module.name, set()).add(name)
    return found


def test_every_page_is_rendered_by_the_one_environment() -> None:
    files = templates()
    roots = rendered(house())
    used = {part for source in files.values() for part in parts(source)}
    assert len(files) > 10
    assert {name for name in files if name not in roots | used} == set(STATIC)
    assert roots | used <= set(files)
    assert set(imported(house(), "jinja2")) == {"web.templates"}


def test_what_is_static_has_nothing_to_fill_in() -> None:
    for name in STATIC:
        assert not re.search(r"\{[{%#]|\$\{?[a-z]", templates()[name])


def test_nothing_in_a_template_defeats_its_escaping() -> None:
    files = templates()
    assert [said for name, source in files.items() for said in breaches(name, source)] == []
    for name in IN_STYLES:
        assert any("{{" in text for text in re.findall(r"<style>(.*?)</style>", files[name]))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("<p>{{ x | safe }}", "passes something through safe"),
        ("{% autoescape false %}{{ x }}{% endautoescape %}", "switches escaping"),
        ("<p title={{ x }}>", "fills in an attribute without quotes"),
        ("<p id=a{{ x }}>", "fills in an attribute without quotes"),
        ("<p id={% if x %}{{ x }}{% endif %}>", "fills in an attribute without quotes"),
        ("<p title=\"=\" id='='\nclass=a-{{ x }}>", "fills in an attribute without quotes"),
        ("<{{ x }}>", "fills in the name of an element"),
        ("<style>{{ x }}</style>", "fills something into a style or a script"),
        ("<script id='s'>\n{{ x }}</script>", "fills something into a style or a script"),
        ('<p onclick="{{ x }}">', "has an event handler"),
        ('<p title="a={{ x }}"{{ " hidden" if x else "" }}>{% if x == 1 %}={{ x }}{% endif %}', ""),
    ],
)
def test_a_breach_in_a_template_is_found(source: str, said: str) -> None:
    assert breaches("a", source) == [f"a {said}"] * bool(said)


def test_who_escapes_by_hand_has_a_reason() -> None:
    escaping = imported(house(), "html", "html.escape")
    assert set(escaping) == set(BY_HAND)


def test_no_page_is_filled_in_by_anything_that_does_not_escape() -> None:
    assert imported(house(), "string.Template", "string.Formatter") == {}
    assert set(imported(house(), "markupsafe", "markupsafe.Markup")) == {"web.templates"}


def put_together(source: str) -> bool:
    """Whether some string of this is put together with tags."""
    return any(
        isinstance(part, ast.Constant) and _TAG.search(part.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    )


def test_no_page_is_put_together_from_strings() -> None:
    found = {
        module.name
        for module in house().modules.values()
        if module.name.startswith(WRITES_PAGES) and put_together(module.path.read_text("utf-8"))
    }
    assert found == {name for name in BY_HAND if name.startswith(WRITES_PAGES)} | set(NO_HTML)


def test_a_string_with_tags_is_found() -> None:
    assert put_together('f"<b>{x}"') and put_together('f"{x}</b>"')
    assert not put_together('"<b>"') and not put_together('f"<Repr {x}>"')


def test_what_stands_in_a_page_unescaped_has_a_reason() -> None:
    assert {module.name for module, _ in calls(house(), "verbatim")} == set(VERBATIM)


@pytest.mark.parametrize(
    "modules",
    [
        "sluice, local_proxy.commands.status, browsers.trust",
        "remote_proxy.main",
    ],
)
def test_a_command_that_writes_no_page_needs_no_templates(modules: str) -> None:
    """It takes 30 ms to import them, a fifth of what `sluice --help` takes in all."""
    ask = f"import sys, {modules}; print('jinja2' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"

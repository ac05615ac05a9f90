"""Modules tell what they import, however their bytes come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.import_drivers.found import Found, Terms
from remote_proxy.import_drivers.modules import MAX_HEAD, MAX_IMPORTS, ModuleImport
from wire.skeleton import Kind, Use

URL = "https://a.test/js/app.js"
APP = Found(
    *(URL, Kind.SCRIPT, Use.DEFERRED, 3),
    cors=True,
    referrer_policy="origin",
    terms=Terms(nonce="n", integrity="sha256-x", credentials=True),
)
BASE = "https://a.test/"


def imports(code: str | bytes, *, step: int = MAX_HEAD) -> list[str]:
    data = code.encode() if isinstance(code, str) else code
    driver, found = ModuleImport(URL, APP), []
    for at in range(0, len(data), step):
        found += driver.feed(data[at : at + step])
    return [one.url.removeprefix(BASE) for one in (*found, *driver.close())]


CASES = [
    ('import"./a.js"', ["js/a.js"]),
    ("import x from './a.js'\nimport * as y from \"../b.js\"", ["js/a.js", "b.js"]),
    ('import{a as b,c}from"/c.js";const d=1;import"./late.js"', ["c.js"]),
    ('/*! © */\n"use strict";\n// one\nexport * from "./d.js" // two\n', ["js/d.js"]),
    ('export {a} from "./e.js"; export {b}; import "./f.js"', ["js/e.js", "js/f.js"]),
    ('import {from} from "./g.js"; import {"x-y" as z} from "./h.js";', ["js/g.js", "js/h.js"]),
    ('import j from "./j.json" with {type: "json"}; import "./k.js"', ["js/k.js"]),
    ('import /* from "./no.js" */ l from "./l.js"', ["js/l.js"]),
    ('#!/usr/bin/env node\nimport "./m.js"', ["js/m.js"]),
    ('const __vite__mapDeps=(i,m)=>i;\nimport{n}from"./n.js";', ["js/n.js"]),
    ('import "https://b.test/o.js"; import "./p.js#x"', ["https://b.test/o.js", "js/p.js"]),
    ('import "react"; import "#own"; import "data:text/javascript,1"', []),
    ('import "./\\u0061.js"; import "./a.js"; import "./a.js"', ["js/a.js"]),
    ('import("./no.js"); import "./no.js"', []),
    ('import.meta.url; import "./no.js"', []),
    ('imports "./no.js"', []),
    ('x = `import "./no.js"`', []),
    ('export const a = 1; import "./no.js"', []),
    ('import a from "./cut', []),
]


@pytest.mark.parametrize(("code", "found"), CASES, ids=[code for code, _ in CASES])
@pytest.mark.parametrize("step", [1, 7, MAX_HEAD])
def test_imports_at_its_beginning_are_found(code: str, found: list[str], step: int) -> None:
    assert imports(code, step=step) == found


def test_an_import_is_asked_for_as_its_module_was() -> None:
    driver = ModuleImport(URL, APP, referrer_policy="no-referrer")
    (found,) = (*driver.feed(b'import "./a.js"'), *driver.close())
    assert (found.kind, found.use, found.cors) == (Kind.SCRIPT, Use.DEFERRED, True)
    assert found.terms == Terms(nonce="n", credentials=True, sheet=URL)
    assert found.referrer_policy == "no-referrer"
    (other,) = (*ModuleImport(URL, APP).feed(b'import "./a.js";1'),)
    assert other.referrer_policy == "origin"


def test_what_is_found_is_bounded() -> None:
    many = "".join(f'import "./{number}.js";\n' for number in range(2 * MAX_IMPORTS))
    assert len(imports(many)) == len(imports(many, step=11)) == MAX_IMPORTS
    assert imports(" " * MAX_HEAD + 'import "./a.js"') == []


@given(st.lists(st.sampled_from([code for code, _ in CASES] + ["/*", "import{", "é"]), max_size=4),
       st.integers(1, 40))  # fmt: skip
def test_how_its_bytes_come_makes_no_difference(codes: list[str], step: int) -> None:
    code = "\n".join(codes)
    assert imports(code, step=step) == imports(code)


@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_bytes_are_read(data: bytes, step: int) -> None:
    assert imports(b"import " + data, step=step) == imports(b"import " + data)

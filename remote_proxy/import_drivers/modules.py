"""Module scripts to the modules that they import.

Each module of a chain is asked for only when the one that imports it is here: a round trip of the
link each. Imports stand at a module's beginning, where tools and people write them; what is behind
the first other statement is left to the browser, and so is what an import map names.

Source: ECMAScript 2025, 16.2 (modules); HTML, 8.1.4.2 (fetching their graphs). Never raises.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from remote_proxy.import_drivers.found import Found
from remote_proxy.import_drivers.urls import resolve
from wire.skeleton import Use

MAX_HEAD: Final = 64 << 10
"""Characters of a module in which its imports must be."""
MAX_STATEMENT: Final = 8 << 10
"""Characters of one import, and of comments before it."""
MAX_IMPORTS: Final = 256
"""Of one module."""

_COMMENT: Final = r"//[^\n\r\u2028\u2029]*+(?=[\n\r\u2028\u2029])|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_SPACE: Final = rf"(?:\s|\ufeff|{_COMMENT})*"
_STRING: Final = r"""(?:"(?:[^"\\\n\r]|\\[^\n\r])*+"|'(?:[^'\\\n\r]|\\[^\n\r])*+')"""
_NAMES: Final = rf"(?:[\w$,*{{}}\s]|{_COMMENT}|{_STRING}(?=\s*(?:as\b|[,}}])))*?"
_FROM: Final = rf"{_NAMES}\bfrom{_SPACE}"
_STATEMENT: Final = re.compile(
    rf"""(?:
        (?: import(?![\w$]) (?:{_SPACE}|{_FROM}) | export(?![\w$]){_SPACE}(?=[*{{]){_FROM} )
        ({_STRING}) ({_SPACE}(?:with|assert)\b{_SPACE}\{{[^}}]*\}})?
        | export(?![\w$]){_SPACE}\{{[\w$,\s]*\}}(?!{_SPACE}from)
        | {_STRING}(?={_SPACE};)
        | const\ __vite__mapDeps=[^\n]*(?=\n)
    )""",
    re.VERBOSE,
)
"""An import, or what may stand before one: an export of names, a directive, a table of what a
bundler loads ahead."""
_BETWEEN: Final = re.compile(rf"(?:\#![^\n]*(?=\n))?(?:[\s;\ufeff]|{_COMMENT})*")
_SPACES: Final = re.compile(_SPACE)
_ESCAPED: Final = re.compile(r"\\")
_PLACES: Final = ("./", "../", "/", "https://", "http://")
"""How a name begins that is an address; others are names in an import map."""


class ModuleImport:
    """The imports of one module, as its bytes come."""

    def __init__(self, url: str, module: Found, *, referrer_policy: str = "") -> None:
        """`module`: as it was found itself. `referrer_policy`: that it came with."""
        self._url = url
        self._like = replace(
            module,
            use=Use.DEFERRED,
            lazy=False,
            referrer_policy=referrer_policy or module.referrer_policy,
            terms=replace(module.terms, integrity="", sheet=url),
        )
        self._text = ""
        self._begun = b""
        """Of a character, the bytes that are here."""
        self._left = MAX_HEAD
        self._known: set[str] = set()

    def feed(self, data: bytes) -> list[Found]:
        """More of it; what it imports, as far as that can be told."""
        if self._left <= 0:
            return []
        data = self._begun + data[: self._left]
        self._left -= len(data) - len(self._begun)
        whole = len(data) - _cut(data)
        self._begun = data[whole:]
        self._text += data[:whole].decode("utf-8", "replace")
        return self._read(last=self._left <= 0)

    def close(self) -> list[Found]:
        """Nothing more comes of it."""
        if self._left <= 0:
            return []
        self._left = 0
        return self._read(last=True)

    def _read(self, *, last: bool) -> list[Found]:
        found: list[Found] = []
        at, text = 0, self._text
        while True:
            between = _BETWEEN.match(text, at)
            start = at if between is None else between.end()
            one = _STATEMENT.match(text, start)
            if one is None or not (last or _over(text[one.end() : one.end() + MAX_STATEMENT])):
                break
            at = one.end()
            name, terms = one.groups()
            if name is not None and terms is None:
                found += self._import(name[1:-1])
        self._text = text[at:]
        if not last and len(self._text) > MAX_STATEMENT:
            return found + self._read(last=True)
        if last or len(self._known) >= MAX_IMPORTS:
            self._left, self._text = 0, ""
        return found

    def _import(self, name: str) -> list[Found]:
        if not name.startswith(_PLACES) or _ESCAPED.search(name):
            return []
        url = resolve(self._url, name)
        if url is None or url in self._known or len(self._known) >= MAX_IMPORTS:
            return []
        self._known.add(url)
        return [replace(self._like, url=url)]


def _over(behind: str) -> bool:
    """Whether a statement has ended, by what is behind it."""
    space = _SPACES.match(behind)
    word = behind if space is None else behind[space.end() :]
    return word != "" and not any(
        word.startswith(one) or one.startswith(word) for one in ("from", "with", "assert", "/")
    )


def _cut(data: bytes) -> int:
    """Bytes at the end that begin a character of UTF-8 whose others are still to come."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needs = 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if needs > back else 0
    return 0

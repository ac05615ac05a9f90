"""Style sheets to what they need: url(), image-set(), @import, @font-face.

A sheet may be megabytes and must not hold the event loop, so a scanner cuts it into preludes and
declarations as it arrives, and tinycss2 (css_values.py) parses only the values that name a
resource. Source: CSS Syntax 3 (tokens), Cascade 5 (@import), Fonts 4 (which src is fetched).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from remote_proxy.import_drivers.charset import Decoder, from_content_type
from remote_proxy.import_drivers.css_values import covers_latin, font_source, import_target, urls
from remote_proxy.import_drivers.found import Browser, Findings, Found, Names, Pending
from remote_proxy.import_drivers.media import matches
from remote_proxy.import_drivers.selectors import selector_names
from remote_proxy.import_drivers.urls import resolve
from wire.skeleton import Kind, Use

MAX_SHEET: Final = 8 << 20
"""Bytes of one sheet that are looked at."""
MAX_PIECE: Final = 64 << 10
"""Characters of one prelude or declaration; what is longer is a data: URI, or nothing."""
MAX_DEPTH: Final = 64
"""Nested blocks whose meaning is kept."""

_TOKEN: Final = re.compile(
    r"/\*.*?(?:\*/|\Z)"
    r'|"(?:[^"\\\n]|\\.)*(?:["\n]|\\?\Z)'
    r"|'(?:[^'\\\n]|\\.)*(?:['\n]|\\?\Z)"
    r"|\burl\(\s*(?![\s\"'])(?:[^)\\]|\\.)*(?:\)|\\?\Z)"
    r"|[{};]",
    re.DOTALL | re.IGNORECASE,
)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_DELIMITER: Final = re.compile(r"[{};]")
_NAMES_RESOURCE: Final = re.compile(r"url\(|image-set\(|src\(", re.IGNORECASE)
_CONDITIONAL: Final = ("supports", "layer", "container", "scope", "starting-style", "document")
_OTHER_BROWSERS: Final = ("-ms-", "-moz-", "-o-", "behavior", "filter-ms", "*", "_")
_CORS_PROPERTIES: Final = ("mask", "shape-outside")


@dataclass(slots=True)
class _Block:
    """An open block: what its prelude said."""

    active: bool = True
    """False: of another medium, or of a kind whose resources nobody asks for at load."""
    prelude: str | None = None
    """Selector text; None outside of style rules."""
    face: dict[str, str] | None = None
    """Descriptors of an @font-face."""
    selectors: tuple[frozenset[str], ...] | None = field(default=None, repr=False)


class StyleScanner:
    """Text of one sheet, as it comes, to finds."""

    def __init__(
        self,
        base_url: str,
        findings: Findings,
        *,
        browser: Browser,
        names: Names | None = None,
        encoding: str = "utf-8",
        inside_rule: bool = False,
        active: bool = True,
    ) -> None:
        """`names`: None: every rule counts as used. `inside_rule`: the text is a `style`
        attribute. `active`: False for a sheet of another medium."""
        self.encoding = encoding
        self._base = base_url
        self._findings = findings
        self._browser = browser
        self._names = names
        self._families = names or Names()
        self._held = ""
        self._stack = [_Block(active=active)]
        self._ignored_depth = 0
        self._imports = not inside_rule
        self._faces: list[dict[str, str]] = []

    def feed(self, text: str) -> None:
        held, self._held = self._held + text, ""
        if not _DELIMITER.search(text):
            self._held = held[: MAX_PIECE * 2]
            if len(held) > MAX_PIECE:
                self._scan(held, final=False)
            return
        self._scan(held, final=False)

    def close(self) -> None:
        """The sheet ends; open blocks close as a browser closes them."""
        held, self._held = self._held, ""
        self._scan(held, final=True)
        held, self._held = self._held, ""
        self._piece(held, ";")
        while len(self._stack) > 1:
            self._pop()
        for face in self._faces:
            self._font(face)
        self._faces = []

    def _scan(self, text: str, *, final: bool) -> None:
        start = 0
        unfinished = len(text)
        for token in _TOKEN.finditer(text):
            first = token[0][0]
            if first in "{};":
                self._piece(text[start : token.start()], first)
                start = token.end()
            elif token.end() == len(text) and not final:
                unfinished = token.start()
        self._held = text[start:]
        if len(self._held) > MAX_PIECE:
            # The head of an unfinished token says what it is (`"data:`, `/*`); its body is dropped.
            self._held = text[start : unfinished + 64] if unfinished < len(text) else ""
            if len(self._held) > MAX_PIECE:
                self._held = text[unfinished : unfinished + 64]

    def _piece(self, text: str, delimiter: str) -> None:
        if "/*" in text:
            text = _COMMENT.sub(" ", text)
        text = text.strip()
        if delimiter == "{":
            self._push(text)
            return
        if self._ignored_depth:
            self._ignored_depth -= delimiter == "}"
            return
        if text.startswith("@"):
            self._statement(text)
        elif text:
            self._declaration(text)
        if delimiter == "}" and len(self._stack) > 1:
            self._pop()

    def _push(self, prelude: str) -> None:
        if self._ignored_depth or len(self._stack) >= MAX_DEPTH:
            self._ignored_depth += 1
            return
        parent = self._stack[-1]
        block = _Block(active=parent.active, prelude=parent.prelude, selectors=parent.selectors)
        if prelude.startswith("@"):
            name = re.split(r"[^a-z\-]", prelude[1:40].lower(), maxsplit=1)[0]
            if name == "media":
                query = prelude[len("@media") :]
                block.active = parent.active and matches(query, self._browser)
            elif name == "font-face":
                block.face = {}
            elif name not in _CONDITIONAL:
                block.active = False
        else:
            # A nested rule's own names narrow it; its parent's are taken as given.
            block.prelude, block.selectors = prelude, None
        if not prelude.lower().startswith(("@layer", "@charset")):
            self._imports = False
        self._stack.append(block)

    def _pop(self) -> None:
        block = self._stack.pop()
        if block.face is not None and block.active:
            self._faces.append(block.face)

    def _statement(self, text: str) -> None:
        word = text[:8].lower()
        if word.startswith("@import") and self._imports and len(self._stack) == 1:
            self._import(text)
        elif not word.startswith(("@charset", "@layer")):
            self._imports = False

    def _import(self, text: str) -> None:
        parsed = import_target(text[len("@import") :])
        if parsed is None:
            return
        target, media = parsed
        lazy = not (self._stack[0].active and matches(media, self._browser))
        url = resolve(self._base, target, encoding=self.encoding)
        self._findings.add(url, Kind.STYLE, Use.BLOCKING, lazy=lazy)

    def _declaration(self, text: str) -> None:
        block = self._stack[-1]
        name, colon, value = text.partition(":")
        if not colon:
            return
        name = name.strip().lower()
        if block.face is not None:
            if len(block.face) < 32:
                block.face[name] = value.strip()
            return
        may_name_font = name in ("font", "font-family") or name.startswith("--")
        if may_name_font and len(value) < 1000 and block.active:
            used = self._used(block)
            self._families.ask(_families(value), None if used else block.selectors)
        if not _NAMES_RESOURCE.search(value) or name.startswith(_OTHER_BROWSERS):
            return
        if not self._findings.may_parse():
            return
        for target in urls(value, self._browser):
            self._picture(name, target, block)

    def _picture(self, name: str, target: str, block: _Block) -> None:
        url = resolve(self._base, target, encoding=self.encoding)
        cors = name.removeprefix("-webkit-").startswith(_CORS_PROPERTIES)
        certain = block.active and self._used(block) and not name.startswith("--")
        found = self._findings.add(url, Kind.IMAGE, Use.BACKGROUND, lazy=not certain, cors=cors)
        if found and found.lazy and block.active and self._names and block.selectors:
            self._names.wait(Pending(found, selectors=block.selectors))

    def _used(self, block: _Block) -> bool:
        if not block.active:
            return False
        if block.prelude is None:
            return True
        if block.selectors is None:
            block.selectors = selector_names(block.prelude)
        if self._names is None:
            return bool(block.selectors)
        return self._names.uses(block.selectors)

    def _font(self, face: dict[str, str]) -> None:
        family = " ".join(face.get("font-family", "").strip("\"' ").lower().split())
        target = font_source(face.get("src", ""))
        if not target or not family:
            return
        url = resolve(self._base, target, encoding=self.encoding)
        latin = covers_latin(face.get("unicode-range", ""))
        used = family in self._families.families
        found = self._findings.add(url, Kind.FONT, Use.OTHER, lazy=not (latin and used), cors=True)
        if found and found.lazy and latin:
            self._families.wait(Pending(found, family=family))


class CssImport:
    """Bytes of one style sheet to finds. `feed` and `close` never raise."""

    def __init__(
        self,
        base_url: str,
        charset: str | None = None,
        *,
        content_type: str = "",
        names: Names | None = None,
        browser: Browser | None = None,
    ) -> None:
        """`charset`: of the document that links it. `names`: HtmlImport.names, to tell used rules
        from unused ones."""
        self._names = names
        self._browser = browser or Browser()
        self._findings = Findings(self._browser)
        self._decoder = Decoder(declared=from_content_type(content_type), fallback=charset)
        self._scanner = StyleScanner(base_url, self._findings, browser=self._browser, names=names)
        self._room = MAX_SHEET

    def feed(self, data: bytes) -> list[Found]:
        """Finds that these bytes complete; at most 64 KB at a time keeps the loop free."""
        data = data[: self._room]
        self._room -= len(data)
        self._scan(self._decoder.feed(data))
        return self._findings.take()

    def close(self) -> list[Found]:
        """The rest, and what has turned out to be in use elsewhere in the document."""
        self._scan(self._decoder.close())
        self._scanner.close()
        if self._names is not None:
            for found in self._names.settle():
                self._findings.add_again(found)
        return self._findings.take()

    def _scan(self, text: str) -> None:
        if text and not self._findings.full:
            self._scanner.encoding = self._decoder.encoding
            self._scanner.feed(text)


def _families(value: str) -> tuple[str, ...]:
    """Font families that a `font` or `font-family` may name, in lower case."""
    found: list[str] = []
    for part in value.split(","):
        words = part.replace("!important", "").replace('"', " ").replace("'", " ").split()
        # `font: 400 1rem/1.6 Two Words`: any tail may be the family.
        found += (" ".join(words[at:]).lower() for at in range(min(len(words), 8)))
    return tuple(found)

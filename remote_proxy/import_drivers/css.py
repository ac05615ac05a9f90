"""Style sheets to what they need: url(), image-set(), @import, @font-face.

A sheet may be megabytes and must not hold the event loop, so a scanner cuts it into preludes and
declarations as it arrives, and tinycss2 (css_values.py) parses only the values that name a
resource. Source: CSS Syntax 3 (tokens), Cascade 5 (@import), Fonts 4 (which src is fetched).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from remote_proxy.import_drivers.charset import Decoder, from_content_type
from remote_proxy.import_drivers.css_values import covers_latin, font_source, import_target, urls
from remote_proxy.import_drivers.found import BrowserTraits, Findings, Found, Names, Pending, Terms
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

_RESTS: Final = {
    "comment": r".*?(?:\*/|(?P<comment>\Z))",
    "double": r'(?:[^"\\\n]|\\.)*+(?:["\n]|(?P<double>\\?\Z))',
    "single": r"(?:[^'\\\n]|\\.)*+(?:['\n]|(?P<single>\\?\Z))",
    "url": r"(?:[^)\\]|\\.)*+(?:\)|(?P<url>\\?\Z))",
}
"""What follows the first characters of a token; the group of its name is where the text ends, with
what has to be read again together with what follows."""
_TOKEN: Final = re.compile(
    rf"/\*{_RESTS['comment']}|\"{_RESTS['double']}|'{_RESTS['single']}"
    rf"|\burl\(\s*+(?![\"']){_RESTS['url']}|[{{}};]",
    re.DOTALL | re.IGNORECASE,
)
_UNLESS: Final = re.compile(r"@supports\s*\(?\s*not\b", re.IGNORECASE)
"""What a sheet says to browsers that lack something; it may be this one."""
_REST: Final = {name: re.compile(rest, re.DOTALL) for name, rest in _RESTS.items()}
_BEGUN: Final = len("url")
"""Characters at the end of a text that may be the beginning of a token."""
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_DELIMITER: Final = re.compile(r"[{};]")
_NAMES_RESOURCE: Final = re.compile(r"url\(|image-set\(|src\(", re.IGNORECASE)
_CONDITIONAL: Final = ("supports", "layer", "container", "scope", "starting-style")
_PICTURED: Final = frozenset(
    (
        *("background", "background-image", "border-image", "border-image-source", "content"),
        *("cursor", "list-style", "list-style-image", "mask", "mask-image", "mask-border"),
        *("mask-border-source", "mask-box-image", "mask-box-image-source", "shape-outside"),
    )
)
"""Properties that show a picture, without `-webkit-`."""
_SVG: Final = frozenset(
    (
        *("filter", "backdrop-filter", "clip-path", "fill", "stroke", "offset-path"),
        *("marker", "marker-start", "marker-mid", "marker-end"),
    )
)
"""Properties that take an element of an SVG document, which must be of the page's origin."""
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
        browser: BrowserTraits,
        names: Names | None = None,
        encoding: str = "utf-8",
        inside_rule: bool = False,
        active: bool = True,
        sheet: str = "",
    ) -> None:
        """`names`: None: every rule counts as used. `inside_rule`: the text is a `style`
        attribute. `active`: False for a sheet of another medium. `sheet`: the sheet's URL, if it
        has one."""
        self.encoding = encoding
        self._base = base_url
        self._findings = findings
        self._terms = Terms(style=True, sheet=sheet)
        self._svg_terms = replace(self._terms, mode="same-origin")
        self._browser = browser
        self._names = names
        self._families = names or Names()
        self._held = ""
        """The piece that is not complete."""
        self._inside: tuple[str, int] | None = None
        """The token at its end that is not complete: which, where it begins."""
        self._read = 0
        """Characters of it that need not be read again."""
        self._stack = [_Block(active=active)]
        self._ignored_depth = 0
        self._imports = not inside_rule
        self._faces: list[dict[str, str]] = []

    def feed(self, text: str) -> None:
        held, self._held = self._held, ""
        held += text  # in place: nobody else has it
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
        """Hand out the pieces; what was read of the last one before is not read again."""
        start, at, self._read = 0, self._read, max(0, len(text) - _BEGUN)
        inside, self._inside = self._inside, None
        if inside is not None:
            rest = _REST[inside[0]].match(text, at)
            assert rest is not None
            self._read = at = rest.end()
            self._note(rest, text, inside[1])
        for token in _TOKEN.finditer(text, at):
            if token[0] in "{};":
                self._piece(text[start : token.start()], token[0])
                start = token.end()
            else:
                self._read = max(self._read, token.end())
                self._note(token, text, token.start())
        if final:
            self._held = text[start:]
        else:
            self._hold(text, start)

    def _note(self, token: re.Match[str], text: str, begin: int) -> None:
        """Whether the text ends within this token, and from where on it is to be read then."""
        if token.lastgroup is None:
            return
        self._inside = token.lastgroup, begin
        if token.lastgroup == "comment":
            self._read = max(begin + len("/*"), len(text) - 1)
        else:
            self._read = len(text) - len(token[token.lastgroup])

    def _hold(self, text: str, start: int) -> None:
        """Keep what is not complete, as much of it as makes sense."""
        begin = len(text)
        if self._inside is not None:
            kind, begin = self._inside
            if kind == "url" and text[begin + len("url(") :].isspace():
                # A quote may follow, and then this is none of the tokens above.
                text, self._inside, self._read = text[: begin + len("url(")], None, begin
        self._held = text[start:]
        if len(self._held) > MAX_PIECE:
            # The head of an unfinished token says what it is (`"data:`, `/*`); its body is dropped.
            self._held = text[start : begin + 64] if begin < len(text) else ""
            if len(self._held) > MAX_PIECE:
                start, self._held = begin, text[begin : begin + 64]
            self._read = start + len(self._held)
        self._read = max(0, self._read - start)
        if self._inside is not None:
            self._inside = self._inside[0], begin - start

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
            elif name not in _CONDITIONAL or _UNLESS.match(prelude):
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
        self._findings.add(url, Kind.STYLE, Use.BLOCKING, lazy=lazy, terms=self._terms)

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
        if not _NAMES_RESOURCE.search(value):
            return
        shown = name.removeprefix("-webkit-")
        if not (shown in _PICTURED or shown in _SVG or name.startswith("--")):
            return
        if not self._findings.may_parse():
            return
        for target in urls(value, self._browser):
            self._picture(name, target, block)

    def _picture(self, name: str, target: str, block: _Block) -> None:
        url = resolve(self._base, target, encoding=self.encoding)
        cors = name.removeprefix("-webkit-").startswith(_CORS_PROPERTIES)
        certain = block.active and self._used(block) and not name.startswith("--")
        terms = self._svg_terms if name.removeprefix("-webkit-") in _SVG else self._terms
        found = self._findings.add(
            url, Kind.IMAGE, Use.BACKGROUND, lazy=not certain, cors=cors, terms=terms
        )
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
        lazy = not (latin and used)
        found = self._findings.add(
            url, Kind.FONT, Use.OTHER, lazy=lazy, cors=True, terms=self._terms
        )
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
        browser: BrowserTraits | None = None,
    ) -> None:
        """`charset`: of the document that links it. `names`: HtmlImport.names, to tell used rules
        from unused ones."""
        self._names = names
        self._browser = browser or BrowserTraits()
        self._findings = Findings(self._browser)
        self._decoder = Decoder(declared=from_content_type(content_type), fallback=charset)
        self._scanner = StyleScanner(
            base_url, self._findings, browser=self._browser, names=names, sheet=base_url
        )
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

"""A text view made: both parts of an OpenDocument read once, and cut in the order of reading.

Element by element, so that it fills no memory; what would become too long is given up. Pure.

Source: ODF 1.3 part 3, 3.1 (document roots), 16.9 (master pages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from office.errors import Unreadable
from office.outline import DocumentKind
from office.text_view.records import BODIES, CONTENT, MAX_RECORDS, MAX_VIEW, STYLES, Record
from office.text_view.styles import PartStyles, attributes
from office.text_view.view_writer import Used, ViewWriter
from office.text_view.vocabulary import MAX_VALUE, qualified
from office.xml import walk

BLOCKS: Final = 2_000
"""Characters of a text from which the next block begins another record."""
_STYLES: Final = ("office:styles", "office:automatic-styles")
_PAGE: Final = "draw:page"
_MASTER: Final = "style:master-page"


def records_of(kind: DocumentKind, content: bytes, styles: bytes | None) -> list[Record]:
    """The records of the view. Raises Unreadable where there can be none."""
    if kind not in BODIES:
        raise Unreadable(f"a document of kind {kind.value!r} has no text view")
    masters: dict[str, _Master] = {}

    def master(written: str, used: Used, said: Mapping[str, str]) -> None:
        masters[said.get("style:name", "")] = _Master(said, written, used)

    pieces = _Pieces()
    looks, own = PartStyles("_m"), PartStyles("_")
    if styles is not None:
        walk(styles, STYLES, _Reader(looks, _MASTER, master, whole=True))
    walk(content, CONTENT, _Reader(own, BODIES[kind], pieces.add, whole=False))
    return _Records(looks, own, masters).of(pieces.found)


@dataclass(frozen=True, slots=True)
class _Master:
    """A master page: its attributes, what is on it."""

    said: Mapping[str, str]
    written: str
    used: Used


class _Pieces:
    """Pages; of a text, blocks that belong together."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Used]] = []

    def add(self, written: str, used: Used, said: Mapping[str, str]) -> None:
        paged = written.startswith(f"<{_PAGE}")
        if self.found and not paged and len(self.found[-1][0]) < BLOCKS:
            before, both = self.found[-1]
            both.add(used)
            self.found[-1] = before + written, both
        else:
            self.found.append((written, used))
        if len(self.found) > MAX_RECORDS:
            raise Unreadable("it has too many pages for a view")


class _Reader:
    """One part: its styles, and what is in the elements of one name, written."""

    def __init__(
        self,
        styles: PartStyles,
        body: str,
        piece: Callable[[str, Used, Mapping[str, str]], None],
        *,
        whole: bool,
    ) -> None:
        """`piece` is told of all that is in a `body` (`whole`), or of each element in it."""
        self._styles = styles
        self._body = body
        self._piece = piece
        self._whole = whole
        self._writer = ViewWriter(styles)
        self._within = ""
        self._said: Mapping[str, str] = {}
        self._size = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = qualified(tag)
        said = {known: value for key, value in attributes.items() if (known := qualified(key))}
        if self._within in _STYLES:
            self._styles.start(name, said, automatic=self._within == _STYLES[1])
        elif self._within:
            self._writer.start(name, said)
        elif name in _STYLES or name == self._body:
            self._within, self._said = name, said

    def data(self, text: str) -> None:
        if self._within == self._body:
            self._writer.data(text)

    def end(self, tag: str) -> None:
        name = qualified(tag)
        if not self._within:
            return
        if name == self._within and not self._writer.depth:
            if name == self._body and self._whole:
                self._take()
            self._within = ""
        elif self._within in _STYLES:
            self._styles.end(name)
        else:
            self._writer.end()
            if not self._whole and not self._writer.depth:
                self._take()

    def _take(self) -> None:
        written, used = self._writer.take()
        self._size += len(written)
        if self._size > MAX_VIEW:
            raise Unreadable("its text is too long for a view")
        if written or self._whole:
            self._piece(written, used, self._said)


class _Records:
    """Pieces with the styles that they use, each in the first that does."""

    def __init__(self, looks: PartStyles, own: PartStyles, masters: Mapping[str, _Master]) -> None:
        self._looks, self._own, self._masters = looks, own, masters
        self._said: set[object] = set()

    def of(self, pieces: list[tuple[str, Used]]) -> list[Record]:
        found = []
        for number, (body, used) in enumerate(pieces):
            if not number and not used.masters:
                used.masters.update(dict.fromkeys(self._masters))
            masters = [self._masters[name] for name in used.masters if self._new("master", name)
                       and name in self._masters]  # fmt: skip
            defaults = [] if number else [one.xml("") for one in self._looks.defaults]
            written = [self._written(one) for one in masters]
            named = [name for one in masters for name in one.used.named] + list(used.named)
            found.append(
                Record(
                    "".join([*defaults, *self._named(named)]),
                    "".join(layout for layout, _ in written),
                    "".join(master for _, master in written),
                    self._styles(self._own, used),
                    body,
                )
            )
        return found

    def _new(self, *key: object) -> bool:
        if key in self._said:
            return False
        self._said.add(key)
        return True

    def _written(self, master: _Master) -> tuple[str, str]:
        """What is said before a master page, and the page."""
        looks, said = self._looks, master.said
        head = [("style:name", said.get("style:name", "")[:MAX_VALUE])]
        found = []
        for attribute, family in (
            ("style:page-layout-name", "page-layout"),
            ("draw:style-name", "drawing-page"),
        ):
            style = looks.automatic(family, said.get(attribute, ""))
            if style is not None:
                head.append((attribute, looks.name(style)))
                found.append(style)
        master.used.automatic.update(dict.fromkeys(found))
        tag = f"<{_MASTER}{attributes(head)}"
        page = f"{tag}>{master.written}</{_MASTER}>" if master.written else f"{tag}/>"
        return self._styles(looks, master.used), page

    def _styles(self, of: PartStyles, used: Used) -> str:
        new = [style for style in used.automatic if self._new(of.prefix, style)]
        return "".join(style.xml(of.name(style)) for style in new)

    def _named(self, wanted: list[tuple[str, str]]) -> list[str]:
        found: list[str] = []
        for family, name in wanted:
            for one, style in self._looks.ancestors(family, name):
                if not self._new("named", family, one):
                    break
                found.append(style.xml(one))
        return found

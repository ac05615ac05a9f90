"""XML of documents, read element by element, so that it reaches nothing and fills no memory.

Pure. Source: lxml, "The target parser interface"; OPC (ECMA-376-2), 8.2.4 and 9.3 (how parts name
one another).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Final, Protocol
from urllib.parse import unquote

from lxml import etree

from office.errors import Unreadable

Attributes = Mapping[str, str]
Element = tuple[str, Attributes]
"""Name without its namespace, of which there are two for everything (ECMA-376 and ISO); attributes
with theirs."""
MAX_ELEMENTS: Final = 1_000_000
"""Of one part; a book of a thousand pages has 300,000."""
MAX_KEPT: Final = 50_000


def elements(data: bytes, name: str, keep: Callable[[str, Attributes], object]) -> list[Element]:
    """The elements that are to be kept, in order. Raises Unreadable where it is no XML."""
    target = _Target(name, keep)
    _parse(data, name, target)
    return target.kept


class XmlReader(Protocol):
    """Is told of elements and texts as they pass by; may raise Unreadable."""

    def start(self, tag: str, attributes: Attributes) -> None: ...
    def data(self, text: str) -> None: ...
    def end(self, tag: str) -> None: ...


def walk(data: bytes, name: str, reader: XmlReader) -> None:
    """Have all of it read. Raises Unreadable where it is no XML, or too much of it."""
    _parse(data, name, _Walk(name, reader))


def _parse(data: bytes, name: str, target: _Target | _Walk) -> None:
    parser = etree.XMLParser(
        target=target,  # type: ignore[arg-type]  # the stub names a class that lxml has not
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        load_dtd=False,
    )
    try:
        etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"{name!r} is no XML: {error}") from None


class _Walk:
    """Counts what passes by."""

    def __init__(self, name: str, reader: XmlReader) -> None:
        self.end = reader.end
        self.data = reader.data
        self._name = name
        self._reader = reader
        self._count = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise Unreadable(f"{self._name!r} has too many elements")
        self._reader.start(tag, attributes)

    def close(self) -> None:
        """All has been parsed."""


class _Target:
    """Is told of elements as they are parsed."""

    def __init__(self, name: str, keep: Callable[[str, Attributes], object]) -> None:
        self.kept: list[Element] = []
        self._name = name
        self._keep = keep
        self._count = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        self._count += 1
        local = tag.rpartition("}")[2]
        if self._keep(local, attributes):
            self.kept.append((local, dict(attributes)))
        if self._count > MAX_ELEMENTS or len(self.kept) > MAX_KEPT:
            raise Unreadable(f"{self._name!r} has too many elements")

    def close(self) -> None:
        """All has been parsed."""


def resolved(target: str, *, base: str) -> str:
    """The entry that a part in the folder `base` means; "" for one that leads outside."""
    target = unquote(target.partition("#")[0])
    path = target[1:] if target.startswith("/") else posixpath.join(base, target)
    path = posixpath.normpath(path)
    return "" if path == "." or path.startswith(("../", "/")) or path == ".." else path

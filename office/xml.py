"""XML of documents, parsed so that it can reach nothing and grow no further.

Pure. Source: lxml's parser options; OPC (ECMA-376-2), 8.2.4 and 9.3 (how parts name one another).
"""

from __future__ import annotations

import posixpath
from typing import Final
from urllib.parse import unquote

from lxml import etree

from office.errors import Unreadable

Element = etree._Element
MAX_NODES: Final = 2_000_000
"""Elements of one part."""


def parsed(data: bytes, name: str) -> Element:
    """The root. Raises Unreadable where it is no XML."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False
    )
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"{name!r} is no XML: {error}") from None


def local(tag: object) -> str:
    """A name without its namespace, of which there are two for everything (ECMA-376 and ISO)."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def resolved(target: str, *, base: str) -> str:
    """The entry that a part in the folder `base` means; "" for one that leads outside."""
    target = unquote(target.partition("#")[0])
    path = target[1:] if target.startswith("/") else posixpath.join(base, target)
    path = posixpath.normpath(path)
    return "" if path == "." or path.startswith(("../", "/")) or path == ".." else path

"""Parts of documents as trees, parsed so that they reach nothing and grow no further.

Trees, and not elements as they pass by (office/xml.py), since what is shown depends on what is
around it; how large a part may be is parts.py's to say. Pure. Source: lxml's parser options.
"""

from __future__ import annotations

from lxml import etree

from office.errors import Unreadable

Element = etree._Element


def parsed(data: bytes, name: str) -> Element:
    """The root. Raises Unreadable where it is no XML."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False
    )
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"{name!r} is no XML: {error}") from None


def recovered(data: bytes) -> Element | None:
    """What can be read of a text that breaks off; None: nothing."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, recover=True
    )
    try:
        return etree.fromstring(data, parser) if data else None
    except (etree.XMLSyntaxError, ValueError):
        return None


def local(tag: object) -> str:
    """A name without its namespace, of which there are two for everything (ECMA-376 and ISO)."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""

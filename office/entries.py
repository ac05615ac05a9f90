"""Tells a document's entries apart: texts in the order of pages, pictures, all else.

`read` is the one way in; ooxml.py and odf.py know the two families. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from office import odf, ooxml
from office.contents import check_ratio
from office.errors import Unreadable
from office.outline import Outline
from office.zip_directory import Directory

Content = Callable[[str], bytes]
"""The bytes of an entry by its name. What it raises passes through `read`."""


def wanted(directory: Directory) -> list[str]:
    """Names of entries that `read` is sure or likely to ask for."""
    return [entry.name for entry in directory.entries if _is_wanted(entry.name)]


def _is_wanted(name: str) -> bool:
    return name.endswith(".rels") or name in (*ooxml.MAIN, *odf.MAIN)


def read(directory: Directory, content: Content) -> Outline:
    """The document's outline. Raises Unreadable where it is none of ours, or damaged."""
    check_ratio(directory)
    names = {entry.name for entry in directory.entries}
    if ooxml.TYPES in names:
        return ooxml.read(directory, content)
    if odf.MIMETYPE in names:
        return odf.read(directory, content)
    raise Unreadable("it is a zip, but no document of Office")

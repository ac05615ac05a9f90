"""Finding one's way in the XML of documents, by names without their namespaces. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from office.preview.xml import Element, local


def children(element: Element | None, name: str) -> Iterator[Element]:
    """The children of that name."""
    if element is not None:
        for one in element:
            if local(one.tag) == name:
                yield one


def child(element: Element | None, *path: str) -> Element | None:
    """The first at the end of a path of names."""
    for name in path:
        element = next(children(element, name), None)
        if element is None:
            return None
    return element


def descendant(element: Element | None, name: str) -> Element | None:
    """The first of that name, wherever it is."""
    return next(descendants(element, name), None)


def descendants(element: Element | None, name: str) -> Iterator[Element]:
    if element is not None:
        for one in element.iter():
            if local(one.tag) == name:
                yield one


def attribute(element: Element | None, name: str) -> str:
    """By its name without a namespace; "" where there is none."""
    if element is None:
        return ""
    value = element.get(name)
    if value is not None:
        return str(value)
    found = (value for key, value in element.attrib.items() if local(key) == name)
    return str(next(found, ""))


def qualified(element: Element | None, prefix: str, name: str) -> str:
    """An attribute whose namespace ends with `prefix`: two of one element may share a name."""
    for key, value in element.attrib.items() if element is not None else ():
        space, _, found = str(key).rpartition("}")
        if found == name and space.rstrip("/").endswith(prefix):
            return str(value)
    return ""


def number(value: str, default: float = 0.0) -> float:
    """A finite one; else the default."""
    try:
        found = float(value)
    except ValueError:
        return default
    return found if math.isfinite(found) and abs(found) < 1e12 else default


def truth(value: str) -> bool:
    """ST_OnOff (ECMA-376-1, 22.9.2.7)."""
    return value in ("1", "true", "on")


def inside(element: Element | None) -> Iterator[Element]:
    """What is directly in it; nothing where it is not there."""
    if element is not None:
        yield from element

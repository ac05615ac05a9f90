"""Colours of a deck: plain ones, and those of its theme.

Pure. Source: ECMA-376-1, 20.1.2.3 (colours), 20.1.6.2 (colour schemes), 19.3.1.6 (colour maps).
"""

from __future__ import annotations

from typing import Final

from office.preview.markup import colour
from office.preview.tree import attribute, child, children, inside, number
from office.preview.xml import Element, local

_NAMES: Final = {
    "black": "#000000",
    "white": "#ffffff",
    "red": "#ff0000",
    "green": "#008000",
    "blue": "#0000ff",
    "yellow": "#ffff00",
    "gray": "#808080",
    "grey": "#808080",
}
_MAP: Final = {"tx1": "dk1", "bg1": "lt1", "tx2": "dk2", "bg2": "lt2"}
_PER_MILLE: Final = 100_000.0


class Theme:
    """The colours of one master."""

    def __init__(self, theme: Element | None, master: Element | None) -> None:
        """Either may not be here yet."""
        self._colours: dict[str, str] = {}
        scheme = child(theme, "themeElements", "clrScheme")
        for one in inside(scheme):
            inner = next(iter(one), None)
            value = attribute(inner, "lastClr") or attribute(inner, "val")
            self._colours[local(one.tag)] = colour(f"#{value}")
        mapped = child(master, "clrMap")
        given = mapped.attrib.items() if mapped is not None else ()
        self._map = {**_MAP, **{str(key): str(value) for key, value in given}}

    def of(self, holder: Element | None) -> str:
        """The colour in a fill, a background reference or the like; "" where it is not plain."""
        for one in inside(holder):
            found = self._one(one)
            if found:
                return found
        return ""

    def fill(self, properties: Element | None) -> str:
        """The fill of a shape or of text; of a gradient its first colour."""
        plain = self.of(child(properties, "solidFill"))
        return plain or self.of(child(properties, "gradFill", "gsLst", "gs"))

    def _one(self, one: Element) -> str:
        value = attribute(one, "val")
        match local(one.tag):
            case "srgbClr":
                found = colour(f"#{value}")
            case "sysClr":
                found = colour(f"#{attribute(one, 'lastClr')}")
            case "prstClr":
                found = _NAMES.get(value, "")
            case "schemeClr":
                found = self._colours.get(self._map.get(value, value), "")
            case _:
                found = ""
        return _changed(found, one) if found else ""


def _changed(value: str, one: Element) -> str:
    """lumMod and lumOff, by which a theme's colours are made lighter or darker."""
    factor = _share(one, "lumMod", 1.0)
    offset = _share(one, "lumOff", 0.0)
    if (factor, offset) == (1.0, 0.0):
        return value
    parts = [int(value[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    changed = [round(255 * min(max(part * factor + offset, 0.0), 1.0)) for part in parts]
    return "#" + "".join(f"{part:02x}" for part in changed)


def _share(one: Element, name: str, default: float) -> float:
    found = next(children(one, name), None)
    return number(attribute(found, "val")) / _PER_MILLE if found is not None else default


def is_light(value: str) -> bool:
    """Whether it can't be read on white (weights of ITU-R BT.709)."""
    red, green, blue = (int(value[at : at + 2], 16) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 190

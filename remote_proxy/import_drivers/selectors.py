"""Which names a selector asks for: enough to tell rules that a page uses from those it does not.

An approximation that errs towards "used": combinators, attributes and functional pseudo-classes
are passed over. A rule that needs the pointer or the keyboard is not used at load.
"""

from __future__ import annotations

import re
from typing import Final

MAX_SELECTORS: Final = 200
"""Of one rule; longer lists count as used."""

_BRACKETS: Final = re.compile(r"\[[^\[\]]*\]|\([^()]*\)")
_LATER: Final = re.compile(
    r"(?<!\\):(?:hover|focus|active|checked|disabled|visited|target|invalid|fullscreen|open|popover-open)"
    r"|::(?:selection|backdrop|-moz|-ms)|:-(?:moz|ms)-"
)
_PSEUDO: Final = re.compile(r"(?<!\\)::?[a-zA-Z\-]+")
_NAME: Final = re.compile(r"([.#]?)((?:[\w\-]|[^\x00-\x7f]|\\.)+)")


def selector_names(prelude: str) -> tuple[frozenset[str], ...]:
    """For each selector that can apply at load, the names that must all be there."""
    text = prelude
    for _ in range(4):
        text, replaced = _BRACKETS.subn("", text)
        if not replaced:
            break
    parts = text.split(",")
    if len(parts) > MAX_SELECTORS:
        return (frozenset(),)
    return tuple(_names(part) for part in parts if not _LATER.search(part))


def _names(selector: str) -> frozenset[str]:
    names = set()
    for mark, name in _NAME.findall(_PSEUDO.sub("", selector)):
        if not mark and not name[0].isalpha():
            continue
        plain = name.replace("\\", "")
        names.add(mark + plain if mark else plain.lower())
    return frozenset(names)

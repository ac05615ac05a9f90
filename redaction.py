"""Shortens URLs for logs and problems: where they lead is kept, what was asked there is not.

Queries hold search words, session keys and addresses of people; user information holds passwords.
Too much is cut rather than too little. Pure. Source: RFC 3986, section 3 (the parts of a URL).
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any, Final

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)(?:[^\s/?#]*@)?([^\s?#]*)(?:[?#]\S*)?")
_PLAIN: Final = (bool, int, float, type(None))


def without_queries(text: str) -> str:
    """The text, each URL in it without user information, query and fragment."""
    return _URL.sub(r"\1\2", text)


def hide_queries(_logger: object, _method: str, event: MutableMapping[str, Any]) -> Any:
    """A structlog processor: no value of a line has more of a URL than that."""
    for name, value in event.items():
        if not isinstance(value, _PLAIN):
            event[name] = without_queries(value if isinstance(value, str) else repr(value))
    return event

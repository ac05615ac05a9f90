"""Tags under a remote's pin: what tells paired devices' datagrams from strangers' before there are
keys. Who knows the pin can make them; they prove nothing else. Pure.
"""

from __future__ import annotations

import hmac
from typing import Final

from transport.spp.handshake.seal import Forged

SIZE: Final = 16
"""Bytes."""


def tagged(pin: bytes, body: bytes, *, extra: bytes = b"") -> bytes:
    """With its tag behind it; `extra` is tagged too, and not sent."""
    return body + _tag(pin, body + extra)


def untagged(pin: bytes, datagram: bytes, *, extra: bytes = b"") -> bytes:
    """Without. Raises Forged."""
    body, tag = datagram[:-SIZE], datagram[-SIZE:]
    if not hmac.compare_digest(_tag(pin, body + extra), tag):
        raise Forged
    return body


def _tag(pin: bytes, content: bytes) -> bytes:
    return hmac.digest(b"sluice spp hello" + pin, content, "sha256")[:SIZE]

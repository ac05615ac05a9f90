"""Components on their way in: bytes of the link become bytes of the component, paced by its reader.

An arrival outlives the session that brought its first bytes: what was asked is kept, and a digest
of what came, so that another session can ask for the rest (local_proxy/link/resumption.py).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final

from coding.delta import DeltaDecoder
from coding.dictionary import TextGathering
from local_proxy.link.components import Component, ComponentFailed
from transcoders.exact.recipe import MAX_BYTES
from transcoders.text import TextDecoder
from wire.credit import CreditWindows, ReceiveCredit
from wire.origin_request import OriginRequest
from wire.package import Held
from wire.skeleton import LEVELS, Level

MAX_UNREAD: Final = 1 << 20
"""Bytes of a component without levels that may wait unread before its sender is stopped."""
MAX_SHARED: Final = 4 << 20
"""Bytes of a promise without levels up to which it is kept for a second request."""
MAX_DECODED: Final = 1 << 40
"""Bytes that one coded text may decode to: memory is bounded by MAX_UNREAD, not by this."""
NEVER: Final = 1 << 62
"""Where a level ends that is not known yet: no component has so many bytes."""
SLICE: Final = 256
"""Bytes of coded text that are decoded at a time."""


@dataclass(eq=False, slots=True)
class Arrival:
    """One component on its way in."""

    component: Component
    request: OriginRequest
    held: Held | None = None
    """What is here already of a document that comes in parts."""
    level: str = ""
    """Of a picture that stopped at a coarser level: the one that it goes on to."""
    went_on: int = -1
    """Bytes that were here when it last went on."""
    headed: bool = False
    """The session that brings it has said its head."""
    in_parts: bool = False
    """It is a document that comes in parts, or one of these: another session asks for what is not
    here of the document, whatever part it belongs to."""
    unsettled: bool = False
    """That session has told of the first of its levels alone."""
    last: bool = False
    """All has come over the link."""
    came: int = 0
    """Bytes that came over it."""
    failure: ComponentFailed | None = None
    """No more will come; its reader is told behind what has."""
    without_dictionary: bool = False
    """It was asked for anew, to be coded by itself."""
    stale: bool = False
    """It is asked for anew: what comes before its next head is of no use."""
    gathering: TextGathering | None = None
    """Its text, to be kept."""
    digest: hashlib._Hash = field(default_factory=hashlib.sha256, repr=False)
    """Over all of the component's bytes so far."""
    _credit: ReceiveCredit = field(default_factory=ReceiveCredit)
    _uncredited: int = 0
    """Link bytes that came and were not yet counted as consumed."""
    _decoder: TextDecoder | DeltaDecoder | None = None
    _waiting: bytearray = field(default_factory=bytearray, repr=False)
    """Bytes as they came, which the reader is too far behind to be given. Bounded by credit."""

    @property
    def waiting(self) -> bool:
        """Whether bytes are here that the component does not have yet."""
        return bool(self._waiting)

    @property
    def cut_short(self) -> bool:
        """All has come, and it ends inside its coding."""
        return self.last and self._decoder is not None and not self._decoder.finished

    def decode(self, dictionary: bytes | None = None) -> None:
        """What comes is coded text; `dictionary`: against that one."""
        self._decoder = (
            TextDecoder(max_bytes=MAX_DECODED)
            if dictionary is None
            else DeltaDecoder(dictionary, max_bytes=MAX_DECODED)
        )

    def arrive(self, data: bytes, *, last: bool) -> None:
        """Bytes from the link. Raises PeerError beyond the credit given."""
        self._credit.arrive(len(data))
        self.came += len(data)
        self._waiting += data
        self.last = last

    def absorb(self) -> bool:
        """Bytes that came become the component's, not far ahead of its reader; whether any did.

        Coded text is taken in slices: a few bytes of it can stand for very many. Raises TextError.
        """
        at, waiting = 0, self._waiting
        if self._decoder is None:
            if waiting and self._hungry:
                at, self._waiting = self._take(waiting), bytearray()
        else:
            try:
                while at < len(waiting) and self._hungry:
                    at += self._take(bytes(waiting[at : at + SLICE]))
            except Exception:
                waiting.clear()
                raise
            del waiting[:at]
        self._uncredited += at
        return at > 0

    def credit(self, windows: CreditWindows | None = None) -> int:
        """Bytes more that the sender may be allowed now; 0: none, or not worth saying.

        Pictures are kept whole; of all else only so much may wait unread.
        """
        if not self._hungry:
            return 0
        more = self._credit.consume(self._uncredited, windows)
        self._uncredited = 0
        return more

    def begin_again(self) -> None:
        """Another session takes over: what it will send follows the component's bytes so far."""
        if self._decoder is None:
            while self._waiting:
                del self._waiting[: self._take(bytes(self._waiting))]
        self._waiting.clear()
        self._decoder = None
        self.headed = self.unsettled = self.last = False
        self._credit, self._uncredited = ReceiveCredit(), 0

    def go_on(self, level: str) -> None:
        """It ended at a coarser level than is wanted now: its finer ones are not known yet."""
        component, self.level = self.component, level
        self.went_on = component.received
        last = component.levels[-1]
        rest = Level(LEVELS[-1], last.end, NEVER, last.content_type)
        component.levels = (*component.levels, rest)
        component.unsettled, component.complete = True, False
        self.begin_again()

    @property
    def _hungry(self) -> bool:
        component = self.component
        if component.levels:  # kept whole; behind them comes a recipe
            return component.received < component.levels[-1].end + MAX_BYTES
        return component.unread < MAX_UNREAD

    def _take(self, data: bytes | bytearray) -> int:
        decoded = self._decoder.decode(bytes(data)) if self._decoder else bytes(data)
        self.component.data += decoded
        self.digest.update(decoded)
        if self.gathering is not None:
            self.gathering.add(decoded)
        return len(data)


def shared_too_long(component: Component) -> bool:
    """Whether its front may go once a reader has had it: nobody else is expected to want it."""
    return not component.promised or component.received > MAX_SHARED

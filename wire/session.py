"""One side of a session: who may say what when, and how header blocks are coded.

Sans-IO: `enqueue` and `next_control` on the way out, `receive` on the way in. The state machine
is the table TRANSITIONS. Header blocks are HPACK (RFC 7541): its state follows the order on the
wire, so blocks are encoded when they are sent, never before. What was said before is a byte or two.
Credentials that somebody might guess are never-indexed literals (RFC 7541, 7.1.3), and those of an
origin are found in the table for that origin alone: no other one's page can ask whether they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import count
from typing import Final

import hpack
import msgspec

from wire import abilities
from wire import messages as m
from wire.errors import LocalError, NoCommonVersion, PeerError
from wire.fields import Headers
from wire.frames import MAX_COMPONENT
from wire.packing import packed, unpacked

MAX_HEADER_BYTES: Final = 128 * 1024
"""Bytes of one decoded header block; a peer that sends more is in error."""
MAX_CONTROL_QUEUE: Final = 65536
"""Messages waiting to be sent; beyond it the session can't be served and closes."""
_SENSITIVE: Final = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie"})
_NO_GUESS: Final = {"cookie": 24, "authorization": 60}
"""Characters of a cookie's part, or of a token, from which on nobody guesses it: passwords are
shorter."""
_CRUMBS: Final = 64
"""Parts of one cookie at most: each counts as 32 bytes more (RFC 7541, 4.1)."""
_OF: Final = "\n"
"""Stands between the number of an origin and a credential that is in the table; in no field."""
_ORIGINS: Final = 4096
"""Whose numbers are remembered: more than have a place in the table."""


class Side(Enum):
    """Which end of the link we are."""

    LOCAL = "local"
    REMOTE = "remote"


class SessionState(Enum):
    """Where a session stands."""

    OPENING = "opening"
    """Our Hello is queued or sent; the peer's has not come."""
    OPEN = "open"
    CLOSING = "closing"
    """We said Goodbye; what still comes is read and dropped."""
    CLOSED = "closed"


class SessionStep(Enum):
    """What moves a session from state to state."""

    HELLO_RECEIVED = "hello received"
    GOODBYE_SENT = "goodbye sent"
    GOODBYE_RECEIVED = "goodbye received"
    LINK_LOST = "link lost"


TRANSITIONS: Final[dict[tuple[SessionState, SessionStep], SessionState]] = {
    (SessionState.OPENING, SessionStep.HELLO_RECEIVED): SessionState.OPEN,
    (SessionState.OPENING, SessionStep.GOODBYE_SENT): SessionState.CLOSING,
    (SessionState.OPENING, SessionStep.GOODBYE_RECEIVED): SessionState.CLOSED,
    (SessionState.OPENING, SessionStep.LINK_LOST): SessionState.CLOSED,
    (SessionState.OPEN, SessionStep.GOODBYE_SENT): SessionState.CLOSING,
    (SessionState.OPEN, SessionStep.GOODBYE_RECEIVED): SessionState.CLOSED,
    (SessionState.OPEN, SessionStep.LINK_LOST): SessionState.CLOSED,
    (SessionState.CLOSING, SessionStep.GOODBYE_RECEIVED): SessionState.CLOSED,
    (SessionState.CLOSING, SessionStep.HELLO_RECEIVED): SessionState.CLOSING,
    (SessionState.CLOSING, SessionStep.LINK_LOST): SessionState.CLOSED,
    (SessionState.CLOSED, SessionStep.LINK_LOST): SessionState.CLOSED,
}
"""Any other step is a protocol error of whoever caused it."""

COMMANDS: Final = (
    m.SetScheduler,
    m.SetWeight,
    m.SetQuantum,
    m.SetPlan,
    m.Raise,
    m.Hold,
    m.Fetch,
    m.Reserve,
    m.GiveWay,
)
"""What is commanded of the tree, and counted, so that a refusal can name it (Refused)."""
_BOTH: Final = (m.Hello, m.Credit, m.Reset, m.Ping, m.Pong, m.Goodbye)
FROM: Final[dict[Side, tuple[type[m.Message], ...]]] = {
    Side.LOCAL: (
        *_BOTH, m.Request, m.Cancel, m.CloseDocument, m.SetScheduler, m.SetWeight, m.SetQuantum,
        m.SetPlan, m.Fetch, m.Raise, m.Hold, m.Growing, m.LookAtTree, m.Reserve,
        m.GiveWay, m.AskedFor,
    ),
    Side.REMOTE: (
        *_BOTH, m.Head, m.Levels, m.Skeleton, m.Failed, m.Hint, m.Trailers, m.Script, m.Expired,
        m.TooSoon,
        m.Package, m.Notice, m.Decisions, m.Carries, m.Leaves, m.Contended,
        m.Refused, m.TreeDrawn, m.Guaranteed,
    ),
}  # fmt: skip
_WITH_HEADERS: Final = (m.Request, m.Head, m.Skeleton, m.Hint, m.Trailers)


class Session:
    """One side of one session over one connection."""

    def __init__(
        self,
        side: Side,
        *,
        agent: str,
        device: str = "",
        first_component: int | None = None,
        first_promise: int = 2,
        accepts: Iterable[str] = (),
        patience: int = 0,
        versions: Sequence[int] = m.VERSIONS,
    ) -> None:
        """`first_component`: go on counting where an earlier session of this side ended.

        `first_promise`: where the remote's counting goes on, said by the local side.
        `accepts`: codings of pictures that this side can undo. `patience`: as Hello says it.
        `versions`: of the protocol that this side speaks, the best first.
        """
        self.side = side
        self.state = SessionState.OPENING
        self.version: int | None = None
        """The version both speak, once known."""
        self.commands = 0
        """How many of COMMANDS the local side has said, as this side knows: the latest one's
        number."""
        self.peer: m.Hello | None = None
        self._peer_side = Side.REMOTE if side is Side.LOCAL else Side.LOCAL
        self._queue: deque[tuple[m.Message, Headers | None]] = deque()
        self._encoder = hpack.Encoder()
        self._decoder = hpack.Decoder(max_header_list_size=MAX_HEADER_BYTES)
        self._decoder.max_allowed_table_size = abilities.TABLE
        self._indexes = False
        """The peer keeps many fields (FIELDS)."""
        self._origins: dict[str, int] = {}
        self._numbers = count()
        """Of those whose credentials were said; none is given twice."""
        self._next_component = first_component or (1 if side is Side.LOCAL else 2)
        accepted = [abilities.PACKED, abilities.FIELDS, *accepts]
        self._versions = versions
        hello = m.Hello(list(versions), agent, device, first_promise, accepted, patience)
        self._queue.append((hello, None))

    def __repr__(self) -> str:
        return f"<Session {self.side.value} {self.state.value} queued={len(self._queue)}>"

    def new_component(self) -> int:
        """An id never used before: odd from the local side, even from the remote."""
        component = self._next_component
        self._next_component += 2
        return component

    @property
    def next_component(self) -> int:
        """The id that `new_component` will give next."""
        return self._next_component

    @property
    def queued(self) -> int:
        """Control messages waiting to be sent."""
        return len(self._queue)

    def enqueue(self, message: m.Message, headers: Iterable[tuple[str, str]] | None = None) -> None:
        """Queue a message; `headers` go into its header block when it is sent."""
        if not isinstance(message, FROM[self.side]):
            raise LocalError(f"{type(message).__name__} is not for the {self.side.value} side")
        if self.state in (SessionState.CLOSING, SessionState.CLOSED):
            return
        if len(self._queue) >= MAX_CONTROL_QUEUE:
            raise LocalError("too many control messages are waiting")
        self._queue.append((message, list(headers) if headers is not None else None))
        self.commands += isinstance(message, COMMANDS)
        if isinstance(message, m.Goodbye):
            self._step(SessionStep.GOODBYE_SENT)

    def next_control(self) -> bytes | None:
        """The next message, encoded now; None: nothing waits (or waits for the peer's Hello)."""
        if not self._queue:
            return None
        message, headers = self._queue[0]
        if self.state is SessionState.OPENING and not isinstance(message, m.Hello):
            return None
        self._queue.popleft()
        if headers is not None:
            block = self._encode_headers(headers, _asked(message))
            message = msgspec.structs.replace(message, headers=block)
        if self.peer is not None and abilities.PACKED in self.peer.accepts:
            message = packed(message)
        return m.encode(message)

    def receive(self, payload: bytes) -> tuple[m.Message, Headers]:
        """A message of the peer and its headers, if it has any. Raises PeerError."""
        message = m.decode(payload)
        if isinstance(message, m.Packed):
            message = unpacked(message)
        name = type(message).__name__
        if not isinstance(message, FROM[self._peer_side]):
            raise PeerError(f"{name} from the {self._peer_side.value} side")
        if isinstance(message, m.Hello):
            self._hello(message)
        elif self.state is SessionState.OPENING and not isinstance(message, m.Goodbye):
            raise PeerError(f"{name} before Hello")
        elif isinstance(message, m.Goodbye):
            self._step(SessionStep.GOODBYE_RECEIVED)
        self.commands += isinstance(message, COMMANDS)
        headers: Headers = []
        if isinstance(message, _WITH_HEADERS) and message.headers:
            headers = self._decode_headers(message.headers)
        return message, headers

    def link_lost(self) -> None:
        """The connection is gone; nothing more can be said."""
        self._step(SessionStep.LINK_LOST)
        self._queue.clear()

    def _hello(self, message: m.Hello) -> None:
        if self.peer is not None:
            raise PeerError("a second Hello")
        common = [version for version in self._versions if version in message.versions]
        if not message.versions:
            raise PeerError("a Hello of no protocol version")
        if not common:
            raise NoCommonVersion(ours=self._versions, theirs=message.versions)
        if not 2 <= message.first_promise <= MAX_COMPONENT or message.first_promise % 2:
            raise PeerError(f"promises can't begin at {message.first_promise}")
        if self.side is Side.REMOTE:
            self._next_component = max(self._next_component, message.first_promise)
        self.version, self.peer = common[0], message
        if abilities.FIELDS in message.accepts:
            self._indexes = True
            self._encoder.header_table_size = abilities.TABLE
        self._step(SessionStep.HELLO_RECEIVED)

    def _step(self, step: SessionStep) -> None:
        after = TRANSITIONS.get((self.state, step))
        if after is None:
            raise PeerError(f"{step.value} while {self.state.value}")
        self.state = after

    def _encode_headers(self, headers: Headers, url: str) -> bytes:
        said = self._to_say(headers, url) if self._indexes else _as_to_older(headers)
        fields = [
            (hpack.NeverIndexedHeaderTuple if literal else hpack.HeaderTuple)(
                name.encode("latin-1", "replace"), value.encode("latin-1", "replace")
            )
            for name, value, literal in said
        ]
        # Huffman codes make rare bytes up to four times longer: a large block must still fit.
        huffman = sum(len(name) + len(value) for name, value in headers) <= m.MAX_MESSAGE // 8
        return bytes(self._encoder.encode(fields, huffman=huffman))

    def _decode_headers(self, block: bytes) -> Headers:
        try:
            fields = self._decoder.decode(block, raw=True)
            headers = [(str(n, "latin-1"), str(v, "latin-1")) for n, v in fields]
        except hpack.HPACKError as error:
            raise PeerError(f"malformed header block: {error}") from error
        return _joined(headers) if self._indexes else headers

    def _to_say(self, headers: Headers, url: str) -> Iterator[tuple[str, str, bool]]:
        """Fields as they are said, and whether they stay out of the table. A cookie is in its
        parts: one that changes leaves the others as they were."""
        for name, value in headers:
            least = _NO_GUESS.get(name)
            if least is None:
                yield name, value, name in _SENSITIVE
                continue
            parts = value.split("; ", _CRUMBS - 1) if name == "cookie" else [value]
            for part in parts:
                literal = len(part) < least
                bare = literal and _OF not in part
                yield name, part if bare else f"{self._number(url)}{_OF}{part}", literal

    def _number(self, url: str) -> int:
        origin = "/".join(url.split("/", 3)[:3])
        known = self._origins.get(origin)
        if known is None:
            if len(self._origins) >= _ORIGINS:
                self._origins.clear()
            known = self._origins[origin] = next(self._numbers)
        return known


def _asked(message: m.Message) -> str:
    """Whom the fields are for, whose credentials they may have."""
    if isinstance(message, m.Request):
        return message.url
    return message.parts[0].url if isinstance(message, m.Skeleton) and message.parts else ""


def _as_to_older(headers: Headers) -> Iterator[tuple[str, str, bool]]:
    """All of a cookie, never in the table."""
    for name, value in headers:
        yield name, value, name in _SENSITIVE


def _joined(headers: Headers) -> Headers:
    """The fields as they were before `_to_say`, a cookie where the first of its parts is."""
    joined: Headers = []
    parts: list[str] = []
    place = 0
    for name, said in headers:
        value = said.partition(_OF)[2] if name in _NO_GUESS and _OF in said else said
        if name != "cookie":
            joined.append((name, value))
            continue
        if not parts:
            place = len(joined)
        parts.append(value)
    if parts:
        joined.insert(place, ("cookie", "; ".join(parts)))
    return joined

"""Control messages: msgspec structs in MessagePack, validated where they arrive.

Each message is a tagged array, so a name costs one byte and field names cost nothing. Header
blocks are HPACK (RFC 7541), encoded at send time by the session because the code is stateful.

Component ids: the local proxy numbers its requests with odd ids, the remote numbers what it
promises with even ones. Both count upwards and never reuse one within a session.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, Final

import msgspec

from malformed import MALFORMED
from wire.applications import Application
from wire.continuation import Continuation, Kept
from wire.errors import PeerError
from wire.package import Slice
from wire.skeleton import Level, Part
from wire.tree_row import TreeRow

VERSIONS: Final = (1,)
"""Protocol versions this code speaks, best first."""
MAX_MESSAGE: Final = 0xFFFF
"""Bytes of one encoded message: it must fit a CONTROL frame."""
MAX_URL: Final = 8192
"""Bytes; longer ones are answered 414 by the local proxy."""
UNATTRIBUTED: Final = 0
"""The document of requests that no page is known to have made: downloads, plain clients."""
MAX_SECONDS: Final = 1e6
"""More is told as so many."""
MAX_REFUSAL: Final = 200
"""Characters of the reason why a command is refused."""
BACKGROUND: Final = 1 << 24
"""The document of what a browser fetches for itself. No component has such an id (frames.py)."""


class Treatment(IntEnum):
    """What may be done to a document's components."""

    ADAPTED = 0
    ORIGINAL = 1
    """They are sent as the origin has them; codings that lose nothing are undone on the way."""
    TEXT_ONLY = 2
    """Pictures, sound, film and fonts do not come unasked."""


class Message(msgspec.Struct, frozen=True, array_like=True):
    """Base of all control messages."""


# -- both ways -------------------------------------------------------------------------------


class Hello(Message, tag=1, frozen=True):
    """First message of each side. The highest common version holds; none: the link closes."""

    versions: list[int]
    agent: str = ""
    device: str = ""
    """Names the device to the remote; one hierarchy per device."""
    first_promise: int = 2
    """The id from which the remote numbers what it promises: earlier ones are taken."""
    accepts: list[str] = []
    """What of PACKED, ARITHMETIC, SKETCH, EXACT, RECIPES, SCANS it can undo, and whether it takes
    GROWING, NOTICES, DECISIONS, BANDWIDTH, REFUSALS, APPLICATIONS, STOPPED, GOES_ON."""
    patience: int = 0
    """Seconds for which the sender tries to get a lost link back; 0: it does not say."""


class Credit(Message, tag=2, frozen=True):
    """The receiver of a component can take `bytes` more of it than it said before."""

    component: int
    bytes: int


class Reset(Message, tag=3, frozen=True):
    """The sender of a component gives it up: what came so far is all there is, and incomplete."""

    component: int
    reason: str = ""


class Ping(Message, tag=4, frozen=True):
    """Answered by Pong with the same token."""

    token: int


class Pong(Message, tag=5, frozen=True):
    token: int


class Goodbye(Message, tag=6, frozen=True):
    """The sender closes the session on purpose; `reason` is for people."""

    reason: str = ""


# -- local to remote -------------------------------------------------------------------------


class Request(Message, tag=16, frozen=True):
    """Fetch this for a browser. `component` carries the response down, the request's body up."""

    component: int
    document: int
    """The document it belongs to; equal to `component` when it is itself a document."""
    method: str
    url: str
    headers: bytes
    """HPACK block."""
    has_body: bool = False
    levels: bool = False
    """The local proxy can show this picture coarse before it is fine."""
    resume: Continuation | None = None
    """The rest of what an earlier session was bringing; it keeps its id."""
    tls: bool = False
    """Of a CONNECT: the remote makes TLS with the server and verifies it; the tunnel carries what
    is inside."""
    treatment: Treatment = Treatment.ADAPTED
    """Of a document, or of what its promise was: it holds for all that is promised of it."""
    takes: int = 0
    """Takes: Hint and Trailers come only where they were asked for."""
    kept: Kept | None = None
    """Of a document."""
    application: Application = Application.BROWSER
    """Whose node it goes under; a document's parts are asked for as the document was."""
    dictionaries: bytes = b""
    """Names, one behind the other, of texts that the device has, against which this one may be
    coded, and of a document all its parts (coding.dictionary.NAME). Only for who accepts it
    (DICTIONARIES)."""


class Cancel(Message, tag=17, frozen=True):
    """Nobody wants this component any more: stop sending it, forget it."""

    component: int


class CloseDocument(Message, tag=18, frozen=True):
    """The document's window is gone: all its components are cancelled, its node leaves."""

    document: int


class SetScheduler(Message, tag=19, frozen=True):
    """Install or re-parameterise the scheduler of a node, named by its path from the root."""

    path: list[str]
    name: str
    params: dict[str, Any] = {}


class SetWeight(Message, tag=20, frozen=True):
    """A node's share among its siblings (only weighted schedulers read it)."""

    path: list[str]
    weight: float


class SetQuantum(Message, tag=21, frozen=True):
    """Bytes per quantum; 0: fit it to the link. Path of a node, or empty for all."""

    path: list[str]
    quantum: int


class SetPlan(Message, tag=22, frozen=True):
    """Standing rules: what is fetched, up to which level, in which order
    (policies/api/__init__.py)."""

    rules: list[dict[str, Any]]


class Raise(Message, tag=23, frozen=True):
    """Move a component ahead of its siblings (pointer on a picture), or back with `urgency` 0."""

    component: int
    urgency: int


class Hold(Message, tag=24, frozen=True):
    """Defer a component (`on`) or resume it: disabled or enabled in the tree by the policy."""

    component: int
    on: bool


class Fetch(Message, tag=25, frozen=True):
    """Send a component up to this level whatever the plan says; `urgency` as in Raise."""

    component: int
    level: str
    urgency: int = 0
    timer: float = 0.0
    """Seconds in which the level is wanted; answered by Expired if that turns out impossible."""
    peers: bool = False
    """It must not break the timers of its own urgency alone; else those of none."""
    goes_on: bool = False
    """It is wanted late as well: it is never held, no Expired is said, and what of it can be in
    time goes before what has no timer. Only for who accepts it (GOES_ON)."""


class Growing(Message, tag=26, frozen=True):
    """No driver runs in this document: each of its pictures is one response, in which nothing can
    take a sketch's place. Wanted are the first scans of all before any is at its medium level."""

    document: int


class LookAtTree(Message, tag=27, frozen=True):
    """Somebody looks at the tree: answered by TreeDrawn, unless the last one was just now. Only for
    who accepts it (TREE)."""


class Reserve(Message, tag=28, frozen=True):
    """Guarantee a node this rate, in the place of the one that it has. Only for who accepts it
    (RESERVES)."""

    path: list[str]
    rate: float
    """Bytes/second; 0: none any more."""
    delay: float = 0.0
    """Seconds that it may be behind that rate before it goes before texts as well."""


class GiveWay(Message, tag=29, frozen=True):
    """What a node sends gives way to other programs of the device's line, as long as nothing else
    is to be sent; or no longer. Only for who accepts it (GIVES_WAY)."""

    path: list[str]
    on: bool = True


class AskedFor(Message, tag=30, frozen=True):
    """A browser waits for a component of which nothing is here: among its like it goes next, behind
    those that were waited for before. Only for who accepts it (ASKED_FOR)."""

    component: int


# -- remote to local -------------------------------------------------------------------------


class Head(Message, tag=32, frozen=True):
    """The response of a component begins: final status and headers, before any of its bytes."""

    component: int
    status: int
    headers: bytes
    """HPACK block; hop-by-hop fields and what `coding` undid are removed."""
    length: int = -1
    """Bytes the component will have after `coding` is undone; -1: not known yet."""
    coding: str = ""
    """How the component's bytes are coded on the link: "", "br", or "zstd" with a dictionary."""
    final_url: str = ""
    dictionary: bytes | None = None
    """SHA-256 of the text that they are coded against: one of those that were named."""


class Levels(Message, tag=33, frozen=True):
    """The component's fidelity levels, coarse to fine; precedes its first byte.

    Where only the first is made so far it is said alone, and all of them once more when they are
    known; no byte behind the first comes before that.
    """

    component: int
    levels: list[Level]
    length: int
    """Bytes of the levels; 0: not known yet. What of the component follows them is a recipe."""
    coding: str = ""
    """How the levels but for versions and sketches are coded on the link: "", or what the other
    accepts."""
    identical: bool = False
    """The last level is the origin's bytes."""


class Skeleton(Message, tag=34, frozen=True):
    """Components of a document, in order. `promised`: they come unasked; else Takes.PLACE asked."""

    document: int
    parts: list[Part]
    promised: bool
    headers: bytes = b""
    """HPACK block of the request headers that these prefetches share."""


class Failed(Message, tag=35, frozen=True):
    """No response could be had: `status` is what the browser shows (502, 504, 413 ...)."""

    component: int
    status: int
    reason: str
    retry: int = 0
    """Seconds after which asking again makes sense; 0: not known."""


class Hint(Message, tag=36, frozen=True):
    """An interim response of the origin (RFC 9110, 15.2), before the component's head."""

    component: int
    status: int
    headers: bytes
    """HPACK block."""


class Trailers(Message, tag=37, frozen=True):
    """Fields behind the component's body (RFC 9110, 6.5); precedes the last of its bytes."""

    component: int
    headers: bytes
    """HPACK block."""


class Script(Message, tag=50, frozen=True):
    """What a script can do that a page's markup names, as soon as it is known. Only for who asked
    (Takes.SCRIPTS)."""

    component: int
    reads_pixels: bool
    """It names what reads the pixels of pictures (web/script_names.py)."""


class Expired(Message, tag=39, frozen=True):
    """The component can't reach the level of its Fetch in time: it is held until a Hold, a Fetch or
    a Cancel says what becomes of it. Only where a Fetch had a timer."""

    component: int
    level: str = ""
    """The finest level that could be there by then; "": none."""
    within: float = 0.0
    """Seconds in which the level that is wanted can be there; 0: not known."""
    refused: bool = False
    """It was said at once: the Fetch has changed nothing, and nothing is held."""


class TooSoon(Message, tag=46, frozen=True):
    """The pictures of a document can't all be there by the time that a rule gives them, at what the
    link carries: they come as soon as they can, coarse."""

    document: int
    earliest: Annotated[float, msgspec.Meta(ge=0, le=MAX_SECONDS)]
    """Seconds from when the document was asked for, in which its texts and all pictures, coarse,
    can be there."""


class Package(Message, tag=40, frozen=True):
    """The document comes in parts, whose components have the even ids from `first` on and need no
    Head, unless they are coded. Its own component carries the file's directory, which lies at the
    end of the file; behind the last part comes a component with the SHA-256 of the file. All comes
    unasked. A long list is in several messages."""

    document: int
    length: int
    """Bytes of the file."""
    directory: int
    """Offset, bytes, of the directory."""
    kind: str
    """What it is (office.outline.DocumentKind)."""
    pages: int
    first: int
    slices: list[Slice]
    more: bool = False
    """Another message goes on with this list."""
    goes_on: bool = False
    """What the request said is here (Continuation.held) is of the same file, and not sent again."""


class Notice(Message, tag=41, frozen=True):
    """What people may want to know: what was refused and why. Only for who accepts it (NOTICES)."""

    text: str


class Decisions(Message, tag=42, frozen=True):
    """How many pictures are adapted or left alone, and why. Only for who accepts it (DECISIONS)."""

    counts: dict[str, int]
    """By reason, in few letters: remote_proxy/jobs/economy.py names them. Others may come."""


class Carries(Message, tag=43, frozen=True):
    """What the link carries towards whoever is told, as its sender has measured it. Only for who
    accepts it (BANDWIDTH)."""

    rate: int
    """Bytes/second."""
    sure: int
    """Percent: 0 a guess, 100 measured while the link was busy."""


class Leaves(Message, tag=48, frozen=True):
    """What others leave of the link towards whoever is told, its own share included. Only for who
    accepts it (AVAILABLE)."""

    rate: int
    """Bytes/second."""
    sure: int
    """Percent: 50 where it is at least or at most so much, 100 where it is."""


class Contended(Message, tag=49, frozen=True):
    """Others keep the queue of the line towards whoever is told full, so it is shared with them; or
    no longer. Only for who accepts it (CONTENDED)."""

    others: bool


class Refused(Message, tag=44, frozen=True):
    """One of session.COMMANDS can't be carried out and has changed nothing. Only for who accepts it
    (REFUSALS)."""

    number: int
    """Which: both ends count these commands of a session as they are said, from 1."""
    reason: str
    """For people; at most MAX_REFUSAL characters."""


class TreeDrawn(Message, tag=45, frozen=True):
    """The transmission tree as it is: each node before its children."""

    rows: list[TreeRow]


class Guaranteed(Message, tag=47, frozen=True):
    """What has become of a node's guaranteed rate, without being asked: a film has one from now on,
    or can't have it, or the link carries less than was promised. Only for who accepts it
    (RESERVES)."""

    path: list[str]
    rate: float
    """Bytes/second; 0: none is wanted any more."""
    held: bool


class Packed(Message, tag=38, frozen=True):
    """A skeleton or a package, deflated; only for who accepts it (PACKED). See wire/packing.py."""

    data: bytes
    """Without its header block."""
    headers: bytes = b""
    """HPACK block of the skeleton."""


_Any = (
    Hello | Credit | Reset | Ping | Pong | Goodbye | Request | Cancel | CloseDocument
    | SetScheduler | SetWeight | SetQuantum | SetPlan | Raise | Hold | Fetch | Growing | Head
    | Levels | Skeleton | Failed | Hint | Trailers | Script | Packed | Expired | TooSoon
    | Package | Notice | Decisions | Carries | Leaves | Contended | Refused | LookAtTree | TreeDrawn
    | Reserve | GiveWay | AskedFor
    | Guaranteed
)  # fmt: skip
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Any)


def encode(message: Message) -> bytes:
    """The message in MessagePack; must fit MAX_MESSAGE."""
    return _encoder.encode(message)


def decode(payload: bytes) -> Message:
    """The message in a CONTROL frame. Raises PeerError if it isn't one."""
    try:
        message: Message = _decoder.decode(payload)
        return message
    except MALFORMED as error:
        raise PeerError(f"malformed control message: {error}") from error

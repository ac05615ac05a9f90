"""The content of the status page: one immutable snapshot, which is also /status.json's form.

Whoever composes the local proxy fills it in; the page knows nothing but this. Bytes, seconds and
bytes/second throughout. Fields may be added; a reader must not mind those it does not know.
"""

from __future__ import annotations

import msgspec


class ShownEstimate(msgspec.Struct, frozen=True):
    """One direction of the link."""

    rate: float
    """Bytes/second."""
    age: float
    """Seconds since it was measured."""
    confidence: float
    """0 (a guess) to 1."""
    source: str = ""


class ShownTransport(msgspec.Struct, frozen=True, kw_only=True):
    """What the TCP connection that carries the link says of the way to the remote proxy."""

    rtt: float
    """Seconds, smoothed."""
    rttvar: float
    min_rtt: float
    segments: int
    """Data segments sent on this connection."""
    retransmitted: int
    """Those of them that were sent again."""
    delivered: ShownEstimate | None = None
    """What the remote has acknowledged: uploads, where there are any."""


class ShownPath(msgspec.Struct, frozen=True, kw_only=True):
    """One of several paths that carry the link together."""

    name: str
    """Of the interface."""
    carried: int
    """Bytes that came over it."""
    rate: float
    """Bytes/second that it has delivered lately; 0: not known."""
    round_trip: float
    """Seconds."""
    answers: bool
    quickest: bool
    """Small and urgent bytes take it."""
    spare: bool = False
    """It carries nothing while another one answers."""


class ShownBudget(msgspec.Struct, frozen=True, kw_only=True):
    """What may cross a metered interface this month, or the link today."""

    name: str
    """Of the interface."""
    duty: str
    """use; spare: it is ahead of its time, and waits for when no other answers; none: all spent."""
    spent: int
    size: int
    until: str
    """The day on which it begins again (ISO 8601)."""
    day: bool = False
    """It is the day's, of the whole link."""


class LinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The connection to the remote proxy."""

    connected: bool
    seconds: float
    """How long it has been so."""
    remote: str
    """Address of the remote proxy."""
    reason: str = ""
    """Why it is down."""
    down: ShownEstimate | None = None
    up: ShownEstimate | None = None
    available: ShownEstimate | None = None
    """What others leave of it downwards, our own share included; None: it is not measured."""
    shared: list[str] = []
    """Ways, down or up, in which other programs of the line fill its queue."""
    received: int = 0
    """Bytes since the start, with headers; the session's, over all its connections."""
    sent: int = 0
    delay: float | None = None
    """Seconds from sending a byte to hearing that it arrived; latest and lowest."""
    min_delay: float | None = None
    transport: str = ""
    """What carries it: tcp, udp, paths; "" while nothing does."""
    instead: str = ""
    """Why it is tcp where udp was asked for."""
    tcp: ShownTransport | None = None
    """None: UDP carries it, or nothing does."""
    paths: list[ShownPath] = []
    """Those that carry it together, where there are several."""
    budgets: list[ShownBudget] = []
    """Of metered interfaces."""


class ComponentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A component of an open document."""

    id: int
    url: str
    kind: str
    received: int
    length: int | None
    level: str
    """The finest level that is here; "" before any."""
    complete: bool
    held: bool = False
    """A policy leaves it as it is."""
    rate: float = 0.0
    """Bytes/second at which it is played, or that a policy asked for; 0: none."""
    guaranteed: bool = False
    """It has them guaranteed; else the link carries too little."""


class DocumentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An open document."""

    id: int
    url: str
    application: str
    front: bool
    title: str = ""
    received: int = 0
    """Bytes of all its components."""
    weight: float = 1.0
    scheduler: str = ""
    within: float | None = None
    """Seconds in which its pictures are wanted; None: when they are there."""
    earliest: float | None = None
    """Seconds in which they can be there, coarse, where fewer were wanted; else None."""
    components: list[ComponentStatus] = []
    more: int = 0
    """Components beyond those listed."""


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the transmission hierarchy, as last reported by the remote proxy."""

    name: str
    state: str
    """ready, waiting or disabled."""
    scheduler: str = ""
    kind: str = ""
    weight: float = 1.0
    backlog: int = 0
    """Bytes that wait."""
    held_by: str = ""
    """Who disables it."""
    children: list[NodeStatus] = []
    more: int = 0


class ShownSavings(msgspec.Struct, frozen=True, kw_only=True):
    """What adaptation and compression have saved since the start."""

    origin_bytes: int = 0
    """Bytes that origins sent for what was delivered."""
    link_bytes: int = 0
    """Bytes that it took on the link."""


class PicturesStatus(msgspec.Struct, frozen=True):
    """Pictures of this session that fared alike. One can count twice: what was begun may turn out
    not to be worth while."""

    why: str
    """In one word, for programs."""
    count: int
    text: str
    """How they fared, and why, for people."""


class PolicyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A policy, in the order in which they react."""

    name: str
    on: bool
    why_off: str = ""
    reactions: int = 0
    commands: int = 0
    refused: int = 0
    slowest: float = 0.0
    rules: list[str] = []
    """What of the plan in force is its own, in order; a later one wins."""
    more_rules: int = 0
    """That are not listed."""


class Problem(msgspec.Struct, frozen=True):
    """Something that went wrong lately."""

    age: float
    text: str


class HistoryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes received by document over time, in equal buckets. 0 stands for all other documents."""

    bucket: float
    """Seconds of one bucket."""
    first: int
    """Number of the first bucket listed; they count from the start of the proxy."""
    buckets: int = 0
    """How many are listed; the last is still filling."""
    series: dict[int, list[int]] = {}
    """Bytes in each bucket, by document."""
    labels: dict[int, str] = {}


class ShownTexts(msgspec.Struct, frozen=True):
    """What is kept of texts, so that pages cross as what has changed in them."""

    count: int = 0
    bytes: int = 0
    """Packed."""
    most: int = 0
    """What they may take; 0: none are kept."""
    spared: int = 0
    """Bytes of texts since the start that did not cross, because they were here."""


class StatusSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    version: str
    uptime: float
    link: LinkStatus
    history: HistoryStatus
    paths: HistoryStatus | None = None
    """What came over each path, by its number; None: there never was more than one."""
    savings: ShownSavings = ShownSavings()
    texts: ShownTexts = ShownTexts()
    pictures: list[PicturesStatus] = []
    documents: list[DocumentStatus] = []
    tree: NodeStatus | None = None
    """As the remote proxy has drawn it; None: it has not yet."""
    tree_age: float = 0.0
    """Seconds since then."""
    policies: list[PolicyStatus] = []
    problems: list[Problem] = []

"""One component's way out: what is said of it, its leaf in the tree, and how it ends.

Knows messages, the tree and the outbox. Must not know where the bytes come from, or what was done
to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import structlog

from remote_proxy.jobs.job import Job
from remote_proxy.origin.client import OriginResponse
from remote_proxy.origin.response_fields import fits, told
from remote_proxy.reach.failures import Failure, OriginError
from scheduling.commands import Obedience
from scheduling.tree import Tree
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Introduction, Outgoing
from wire import messages as m
from wire.fields import Headers
from wire.skeleton import Kind

TEXTS: Final = frozenset((Kind.TEXT, Kind.STYLE, Kind.SCRIPT))
MAX_REASON: Final = 2000
"""Characters of a failure's reason: what was asked for may be in it, and it must fit a frame."""
_log = structlog.get_logger("sluice.remote")


class LinkPort(Protocol):
    """What a component needs of its session to be sent."""

    tree: Tree
    outbox: TreeOutbox
    obedience: Obedience

    def say(self, message: m.Message, headers: Headers | None = None) -> None: ...


class WayOut:
    """Says a component's head, opens its leaf, and tells the local proxy how it ended."""

    def __init__(self, job: Job, link: LinkPort) -> None:
        self._job = job
        self._link = link
        self.document = job.document
        self.application = job.request.application
        """Both name the node that it goes under."""
        self.outgoing: Outgoing | None = None
        """Its bytes; None: it has not been opened."""
        self._preface: list[Introduction] = []

    def head(
        self,
        response: OriginResponse,
        headers: Headers,
        *,
        length: int | None,
        coding: str = "",
        dictionary: bytes | None = None,
    ) -> None:
        """The response's head, with these fields; `length`: bytes of the body, None: unknown.
        `dictionary`: the digest of what it is coded against, None: nothing.

        Raises OriginError where it is too large.
        """
        headers = told(headers)
        if not fits(headers):
            raise OriginError(Failure.PROTOCOL, "the response's header is too large")
        length = -1 if length is None else length
        self.introduce(
            m.Head(
                *(self._job.component, response.status, b""),
                length=length,
                coding=coding,
                dictionary=dictionary,
            ),
            headers,
        )

    def hint(self, status: int, headers: Headers) -> None:
        """An interim answer of the origin: said at once."""
        headers = told(headers)
        if fits(headers):
            self._link.say(m.Hint(self._job.component, status, b""), headers)

    def trail(self, response: OriginResponse) -> None:
        """What the origin said behind the body."""
        if fields := response.trailers():
            self._link.say(m.Trailers(self._job.component, b""), fields)

    def introduce(self, message: m.Message, headers: Headers | None = None) -> None:
        """Say it: at once where a browser waits for it or it is text, else when its turn comes."""
        if self._job.promised and self._job.kind not in TEXTS and not self._job.withheld:
            self._preface.append((message, headers))
        else:
            self._link.say(message, headers)

    def open(self, kind: Kind) -> Outgoing:
        """Enter the tree (a promised component has been there since its promise)."""
        job, obedience = self._job, self._link.obedience
        obedience.entered(job, kind)
        order = obedience.place(job, kind)
        leaf = self._link.tree.leaf(
            *(self.document, job.component),
            kind=kind.value,
            order=order,
            application=self.application,
        )
        self.outgoing = self._link.outbox.open(job.component, leaf, preface=self._preface)
        return self.outgoing

    def open_tunnel(self) -> Outgoing:
        """Enter the tree as a tunnel, which is open at once."""
        component = self._job.component
        self._link.say(m.Head(component, 200, b""), [])
        self.outgoing = self._link.outbox.open(component, self._link.tree.tunnel(component))
        return self.outgoing

    def mark(self, levels: Sequence[int], steps: Sequence[int], *, ends: Mapping[str, int]) -> None:
        """Offsets, bytes, at which the picture is worth more than before (Tree.set_marks)."""
        component = self._job.component
        self._link.tree.set_marks(self.document, component, levels, steps, ends=ends)

    def fail(self, status: int, reason: str, *, retry: int = 0) -> None:
        """Tell the local proxy; what has begun is sent as far as it came, and ends in a reset, so
        that nobody takes it for whole.

        A promise of which nothing has left is taken back: its browser asks anew, perhaps with more
        luck.
        """
        component, reason = self._job.component, reason[:MAX_REASON]
        _log.info("a fetch failed", url=self._job.request.url, reason=reason)
        outgoing = self.outgoing
        if outgoing is not None and (outgoing.taken or not self._job.promised):
            outgoing.cut(m.Reset(component, reason))
            return
        self.leave()
        if outgoing is None:
            self._link.say(m.Failed(component, status, reason, retry))
        else:
            self._link.say(m.Reset(component, reason))

    def leave(self) -> None:
        """It leaves the tree, sent or not."""
        self._link.outbox.drop(self._job.component)
        self._link.tree.forget(self._job.component)

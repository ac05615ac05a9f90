"""Acts on what the remote proxy says, each message in its own way.

Of components the demultiplexer is told, of the rest the session's listener; what is said of the
link, the tree and pictures is kept here for whoever asks. Must not know: frames, requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import structlog

from local_proxy.link.demultiplexer import Demultiplexer, promised
from local_proxy.link.echoes import Echoes
from local_proxy.link.resumption import Memory
from local_proxy.link.tree_looks import TreeLooks
from local_proxy.link.uploads import Uploads
from monitor.announcements import ToldBandwidth
from transport.link.interface import LinkError
from wire import messages as m
from wire.fields import Headers

if TYPE_CHECKING:
    from local_proxy.link.session import LinkListener, LocalSession

MAX_REASON: Final = 500
"""Characters of a goodbye's reason that people are shown."""
_log = structlog.get_logger("sluice.local")


class RemoteWords:
    """Keeps what was said in one session."""

    def __init__(
        self,
        session: LocalSession,
        listener: LinkListener,
        *,
        arrivals: Demultiplexer,
        memory: Memory,
        uploads: Uploads,
    ) -> None:
        self._session = session
        self._listener = listener
        self._arrivals = arrivals
        self._memory = memory
        self._uploads = uploads
        self.bandwidth, self.available = ToldBandwidth(), ToldBandwidth("imtcp")
        """What the link carries towards this device, and what others leave of that."""
        self.tree = TreeLooks()
        """What the remote says of the tree, to who looks at it."""
        self.shared = False
        """Others keep the queue of the line towards this device full."""
        self.echoes = Echoes()
        """Answers of pings that somebody waits for."""
        self.decisions: Mapping[str, int] = {}
        """How many pictures were adapted or left alone, by the remote's reason."""
        self._handlers: dict[type[m.Message], Callable[[m.Message, Headers], None]] = {
            m.Hello: self._on_hello,
            m.Skeleton: self._on_skeleton,
            m.Package: self._on_package,
            m.Levels: self._on_levels,
            m.Head: self._on_head,
            m.Hint: self._on_hint,
            m.Trailers: self._on_trailers,
            m.Script: self._on_script,
            m.Failed: self._on_failed,
            m.Expired: self._on_expired,
            m.TooSoon: self._on_too_soon,
            m.Guaranteed: self._on_guaranteed,
            m.Reset: self._on_reset,
            m.Credit: self._on_credit,
            m.Refused: self._on_refused,
            m.Notice: self._on_notice,
            m.Decisions: self._on_decisions,
            m.Carries: self._on_rate,
            m.Leaves: self._on_rate,
            m.Contended: self._on_shared,
            m.TreeDrawn: self._on_tree,
            m.Ping: self._on_ping,
            m.Pong: self._on_pong,
            m.Goodbye: self._on_goodbye,
        }

    def hear(self, message: m.Message, headers: Headers) -> None:
        """One message. Raises WireError where the protocol is broken."""
        self._handlers[type(message)](message, headers)

    def _on_hello(self, message: m.Message, _: Headers) -> None:
        self._listener.session_opened(self._session)

    def _on_skeleton(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Skeleton)
        if message.promised and message.document in self._memory.closed:
            for part in message.parts:  # it was under way when the document closed
                self._session.say(m.Cancel(part.component))
            return
        if not message.promised:
            self._listener.placed(message.document, self._arrivals.place(message.parts))
            return
        components = [promised(message.document, part) for part in message.parts]
        asked = self._memory.asked(message.document)
        for component in components:
            component.rationed = asked.treatment is m.Treatment.ADAPTED
        self._arrivals.promise(components, headers, asked)
        self._memory.promised(message.document, components)
        self._listener.skeleton_grew(message.document, components, headers, True)

    def _on_package(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Package)
        components = self._arrivals.package(message)
        if components:
            self._memory.promised(message.document, components)
            self._listener.skeleton_grew(message.document, components, [], False)

    def _on_levels(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Levels)
        self._arrivals.levels(message)

    def _on_head(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Head)
        self._arrivals.head(message, headers)

    def _on_hint(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Hint)
        self._arrivals.hint(message, headers)

    def _on_trailers(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Trailers)
        self._arrivals.trailers(message, headers)

    def _on_script(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Script)
        self._arrivals.script(message)

    def _on_failed(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Failed)
        retry = max(0, message.retry)
        self._arrivals.end(message.component, message.status, message.reason, retry=retry)

    def _on_expired(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Expired)
        self._listener.expired(message)

    def _on_too_soon(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.TooSoon)
        self._listener.too_soon(message.document, message.earliest)

    def _on_guaranteed(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Guaranteed)
        self._listener.guaranteed(message.path, message.rate, held=message.held)

    def _on_reset(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Reset)
        self._arrivals.end(message.component, 502, message.reason)

    def _on_credit(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Credit)
        self._uploads.grant(message.component, message.bytes)

    def _on_refused(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Refused)
        self._listener.refused(message.number, message.reason[: m.MAX_REFUSAL])

    def _on_notice(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Notice)
        self._listener.noticed(message.text)

    def _on_decisions(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Decisions)
        self.decisions = message.counts

    def _on_rate(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Carries | m.Leaves)
        told = self.bandwidth if isinstance(message, m.Carries) else self.available
        now = asyncio.get_running_loop().time()
        told.hear(float(max(1, message.rate)), min(max(0, message.sure), 100) / 100, now)

    def _on_shared(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Contended)
        self.shared = message.others

    def _on_tree(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.TreeDrawn)
        now = asyncio.get_running_loop().time()
        self.tree.drawn(message.rows, size=len(m.encode(message)), now=now)

    def _on_ping(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Ping)
        self._session.say(m.Pong(message.token))

    def _on_pong(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Pong)
        self.echoes.came(message.token)

    def _on_goodbye(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Goodbye)
        _log.info("the remote proxy said goodbye", reason=message.reason)
        reason = message.reason[:MAX_REASON]
        self._session.end(LinkError(f"the remote proxy says: {reason}") if reason else None)

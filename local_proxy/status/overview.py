"""Puts the status page's snapshot together, and feeds the measured bandwidth to policies."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from local_proxy.kept.store import Sum
from local_proxy.link.components import Component
from local_proxy.link.uplink import Uplink
from local_proxy.policy.runtime import PolicyRuntime
from local_proxy.status import summary
from local_proxy.status.history import BandwidthHistory
from local_proxy.status.link_facts import LinkFacts
from local_proxy.status.path_history import PathHistory
from local_proxy.status.snapshot import (
    LinkStatus,
    Problem,
    ShownBudget,
    ShownEstimate,
    ShownPath,
    ShownSavings,
    ShownTexts,
    StatusSnapshot,
)
from monitor.estimate import BandwidthEstimate
from redaction import without_queries
from transport.link.interface import LinkStatistics
from version import VERSION
from wire.fields import header
from wire.messages import BACKGROUND, UNATTRIBUTED

PROBLEMS: Final = 20
"""Faults remembered."""
_UNSHOWN: Final = {
    BACKGROUND: "what browsers fetch for themselves",
    UNATTRIBUTED: "downloads, and what no page has asked for",
}
"""How the chart calls what is no document that anybody sees."""
RENEW: Final = 0.25
"""Seconds between two looks at the link's estimate, while anything happens."""


class Overview:
    """Counts over all sessions of one local proxy."""

    def __init__(
        self,
        uplink: Uplink,
        runtime: PolicyRuntime,
        *,
        saved: Callable[[Component, Sum], None],
        why_not_udp: Callable[[], str] = lambda: "",
        budgets: Callable[[], list[ShownBudget]] = list,
        texts: Callable[[], ShownTexts] = ShownTexts,
    ) -> None:
        """`saved`: told of each component that has come whole. `why_not_udp`: why TCP carries what
        UDP should; empty: it does not. `budgets`: of metered interfaces. `texts`: what is kept of
        earlier visits."""
        self._texts = texts
        self._why_not_udp = why_not_udp
        self._budgets = budgets
        self._saved = saved
        self._uplink = uplink
        self._runtime = runtime
        self._start = self._now()
        self.history = BandwidthHistory(start=self._start)
        self._facts = LinkFacts()
        self._paths = PathHistory(start=self._start)
        self._origin_bytes = 0
        self._link_bytes = 0
        """Both of what is complete, so that they can be compared."""
        self._before = (0, 0)
        """Link bytes received and sent by sessions that have ended."""
        self._crossed_before = 0
        """Bytes of all their packets."""
        self._problems: deque[tuple[float, str]] = deque(maxlen=PROBLEMS)
        self._titles: dict[int, str] = {}
        """Of documents that are open."""

    def carried(self, component: Component, amount: int) -> None:
        """Bytes of a component came over the link; `amount` 0: something else about it changed."""
        if amount:
            self.history.record(component.document, amount, now=self._now())
            component.carried += amount
            if component.document in _UNSHOWN:
                self.history.label(component.document, _UNSHOWN[component.document])
        if component.complete:
            size = origin_size(component)
            self._origin_bytes += size
            self._link_bytes += component.carried
            requests = int(component.brings is None)  # a document in parts was asked for once
            pictures = int(_is_picture(component))
            self._saved(component, Sum(size, component.carried, requests, pictures))
        if component.failure is not None and component.failure.status != 499:
            self.problem(f"{component.url}: {component.failure.reason}")

    def opened(self, document: int, url: str) -> None:
        """A document, for the chart's legend."""
        self.history.record(document, 0, now=self._now())
        self.history.label(document, url)

    def titled(self, document: int, title: str) -> None:
        """What an open document calls itself; of any other, it is not kept."""
        words = " ".join(title.split())
        if words and document in self._runtime.view.documents:
            self._titles[document] = words
            self.history.label(document, words)

    def closed(self, document: int) -> None:
        """It is open no more."""
        self._titles.pop(document, None)

    def problem(self, text: str) -> None:
        """Something went wrong that people may want to know."""
        self._problems.append((self._now(), without_queries(text)))

    def crossed(self) -> int:
        """Bytes over the line since the start, both ways, with the headers of all packets; without
        them where the link does not count these."""
        session = self._uplink.session
        now = _crossed(session.link.statistics()) if session is not None else 0
        return self._crossed_before + now

    def session_ended(self, statistics: LinkStatistics) -> None:
        """Keep the counts of a link that is gone."""
        self._crossed_before += _crossed(statistics)
        received, sent = self._before
        self._before = (received + statistics.received, sent + statistics.sent)

    async def watch_bandwidth(self) -> None:
        """Tell policies what the link can do; until cancelled."""
        told: tuple[float, float | None] | None = None
        watch = self._uplink.activity.watch()
        while True:
            await watch.news(pause=RENEW)
            session = self._uplink.session
            self._look()
            estimate = session.bandwidth(self._now()) if session is not None else None
            if session is None or estimate is None:
                continue
            left = session.available(self._now())
            news = estimate.at, None if left is None else left.at
            if news != told:
                told = news
                self._runtime.measured(
                    estimate.rate,
                    confidence=estimate.confidence,
                    available=None if left is None else left.rate,
                )

    def snapshot(self) -> StatusSnapshot:
        """All that the status page shows. The tree is the remote's: it is asked for one, and the
        next snapshot has it."""
        now = self._now()
        view = self._runtime.view
        link, session = self._link(now), self._uplink.session
        if session is not None:
            session.look_at_tree(now)
        return StatusSnapshot(
            version=VERSION,
            uptime=now - self._start,
            link=link,
            history=self.history.status(now=now),
            paths=self._paths.status(now=now),
            savings=ShownSavings(origin_bytes=self._origin_bytes, link_bytes=self._link_bytes),
            texts=self._texts(),
            pictures=summary.pictures(session.words.decisions) if session is not None else [],
            documents=summary.documents(view, self._titles),
            tree=summary.tree(session.words.tree.rows) if session is not None else None,
            tree_age=now - session.words.tree.drawn_at
            if session and session.words.tree.rows
            else 0.0,
            policies=summary.policies(self._runtime.statistics()),
            problems=[Problem(now - at, text) for at, text in reversed(self._problems)],
        )

    def _link(self, now: float) -> LinkStatus:
        state = self._uplink.state()
        session = self._uplink.session
        received, sent = self._before
        status = LinkStatus(
            connected=state.connected,
            seconds=now - state.since,
            remote=state.remote,
            reason=state.reason,
            received=received,
            sent=sent,
            budgets=self._budgets(),
        )
        if session is None:
            return status
        link = session.link.statistics()
        self._facts.look(link.facts, now=now)
        self._paths.look(link.paths, now=now)
        return LinkStatus(
            connected=state.connected,
            seconds=now - state.since,
            remote=state.remote,
            reason=state.reason,
            down=_estimate(session.bandwidth(now), now),
            up=_estimate(link.outgoing, now),
            available=_estimate(session.available(now), now),
            shared=[way for way, on in (("down", session.words.shared), ("up", link.shared)) if on],
            received=received + link.received,
            sent=sent + link.sent,
            delay=link.delay,
            min_delay=link.min_delay,
            transport=link.transport,
            instead=self._why_not_udp() if link.transport == "tcp" else "",
            tcp=self._facts.shown(now=now),
            paths=[msgspec.convert(one, ShownPath, from_attributes=True) for one in link.paths],
            budgets=status.budgets,
        )

    def _look(self) -> None:
        """Sees what TCP says of the link, and what each path has carried."""
        session = self._uplink.session
        link = session.link.statistics() if session is not None else None
        self._facts.look(link.facts if link is not None else None, now=self._now())
        self._paths.look(link.paths if link is not None else (), now=self._now())

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def origin_size(component: Component) -> int:
    """Bytes the origin's body had: what it announced, else what came, decoded."""
    if component.brings is not None:
        return component.brings
    if component.head is not None:
        announced = header(component.head.headers, "content-length")
        if announced.isdecimal():
            return int(announced)
    return component.received


def _is_picture(component: Component) -> bool:
    head = component.head
    return head is not None and header(head.headers, "content-type").startswith("image/")


def _estimate(estimate: BandwidthEstimate | None, now: float) -> ShownEstimate | None:
    if estimate is None:
        return None
    return ShownEstimate(estimate.rate, now - estimate.at, estimate.confidence, estimate.source)


def _crossed(statistics: LinkStatistics) -> int:
    return statistics.crossed or statistics.received + statistics.sent

"""Turns what policies see, and how they fare, into the lists of the status page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from local_proxy.policy.runtime import PolicyStatistics
from local_proxy.status.snapshot import (
    ComponentStatus,
    DocumentStatus,
    NodeStatus,
    PicturesStatus,
    PolicyStatus,
)
from policies.api.plan import described
from policies.api.view import SessionView
from wire.tree_row import STATES, TreeRow

MAX_COMPONENTS: Final = 200
"""Listed of one document."""
MAX_DOCUMENTS: Final = 50
"""The ones opened last."""
MAX_RULES: Final = 50
"""Listed of one policy."""
PICTURES: Final[Mapping[str, str]] = {
    "slow": "coarse first: they would be waited for",
    "unmeasured": "coarse first: the link was not measured yet",
    "wanted": "coarse first: a policy wants it on any link",
    "soon": "left as they are: here as soon untouched",
    "whole": "whole behind the coarse version: steps between would save nothing",
    "alone": "left as they are: where they stand, nothing could take the place of a coarse version",
    "late": "sent as they are: the work would have ended later than the link",
}
"""What the remote proxy's reasons mean."""


def documents(view: SessionView, titles: Mapping[int, str]) -> list[DocumentStatus]:
    """Open documents, the newest first. `titles`: what some of them call themselves."""
    listed = []
    for document in list(view.documents.values())[: -MAX_DOCUMENTS - 1 : -1]:
        parts = list(view.parts(document.id))
        listed.append(
            DocumentStatus(
                id=document.id,
                url=document.url,
                title=titles.get(document.id, ""),
                application=document.application,
                front=document.id == view.front,
                received=sum(part.received for part in parts),
                weight=view.weights.get(document.path, 1.0),
                scheduler=view.schedulers.get(document.path, ""),
                within=document.within,
                earliest=document.earliest,
                components=[
                    ComponentStatus(
                        id=part.id,
                        url=part.url,
                        kind=part.kind,
                        received=part.received,
                        length=part.length,
                        level=part.level,
                        complete=part.complete,
                        held=part.id in view.deferred and not part.complete,
                        rate=part.rate,
                        guaranteed=part.guaranteed,
                    )
                    for part in parts[:MAX_COMPONENTS]
                ],
                more=max(len(parts) - MAX_COMPONENTS, 0),
            )
        )
    return listed


def tree(rows: Sequence[TreeRow]) -> NodeStatus | None:
    """The transmission hierarchy, as the remote proxy has drawn it; None: it has not yet.

    Rows come from a peer: one whose depth can't be hangs below the one before it, or the root.
    """
    if not rows:
        return None
    above = [_node(rows[0])]
    for row in rows[1:]:
        node = _node(row)
        del above[max(1, row.depth) :]
        above[-1].children.append(node)
        above.append(node)
    return above[0]


def _node(row: TreeRow) -> NodeStatus:
    return NodeStatus(
        name=row.name,
        state=STATES[row.state] if 0 <= row.state < len(STATES) else "unknown",
        scheduler="" if row.leaf else row.what,
        kind=row.what if row.leaf else "",
        weight=row.weight,
        backlog=row.backlog,
        held_by=row.who,
        children=[],
        more=row.more,
    )


def pictures(counts: Mapping[str, int]) -> list[PicturesStatus]:
    """What was decided about a session's pictures; what nobody here knows is left out."""
    return [
        PicturesStatus(why, count, text)
        for why, text in PICTURES.items()
        if (count := counts.get(why, 0))
    ]


def policies(statistics: Iterable[PolicyStatistics]) -> list[PolicyStatus]:
    """One line each."""
    return [
        PolicyStatus(
            name=policy.name,
            on=policy.on,
            why_off=policy.why_off,
            reactions=policy.reactions,
            commands=policy.commands,
            refused=policy.refused,
            slowest=policy.slowest,
            rules=[described(rule) for rule in policy.rules[:MAX_RULES]],
            more_rules=max(len(policy.rules) - MAX_RULES, 0),
        )
        for policy in statistics
    ]

"""Which nodes give way to other programs of the device's line (policies.api.commands.GiveWay).

A line is shared with others while anything is to be sent that does not give way: beside somebody's
download a link has the share of one more TCP then, and else what is left (transport/contention/).
"""

from __future__ import annotations

from typing import Final

from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from scheduling.standing_rules import Pattern, StandingRules

_DOCUMENT: Final = 2
"""Names of a document's path: below it none is asked, for a component goes with its document."""


class GivingWay:
    """The nodes of one tree that do."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self.rules: StandingRules[bool] = StandingRules("nodes that give way")

    @property
    def alone(self) -> bool:
        """Whether all that may be sent now gives way; not, if nothing is there to be sent."""
        root = self._hierarchy.root
        return root.ready and not self._hurries(root, ())

    def _hurries(self, node: Node, path: Pattern) -> bool:
        if not node.ready or self.rules.enter(path):
            return False
        if len(path) == _DOCUMENT or node.scheduler is None:
            return True
        return any(self._hurries(child, (*path, name)) for name, child in node.children.items())

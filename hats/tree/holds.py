"""Who disables a node and who enables it, and which of their words count (HATS, section 3.2.2).

    by command, in an ancestor's name    disable   enable     withdraw
    by the strategy of a scheduler       hold      overrule   release

"Once a node has been disabled, it can only be re-enabled by one of its ancestors that is at least
as high in the hierarchy as the scheduler that disabled it." So `enable` and `overrule` take the
force of every hold that a scheduler at that height or below puts, those to come included: else
the lower strategy would hold the node again before the next quantum. A hold without force is
remembered, and has force again once nobody who enables the node is as high as its scheduler: when

- who enabled takes it back (`withdraw`, `release`, or a scheduler that leaves office), or
- a command at that height or above disables the node.

Commands answer to commands alone: `enable` ends those of its height and below, a later `disable`
counts again, and no strategy lifts one. Costs grow with the words about one node, never with the
tree. It must not know what follows from a change: that is readiness.py's.
"""

from __future__ import annotations

from hats.tree.node import Node
from hats.tree.scheduler import Scheduler

Speaker = Node | Scheduler
"""An ancestor in whose name a policy commands, or the scheduler of one."""


def height(speaker: Speaker) -> int:
    """The depth of the speaker's node: the smaller, the higher."""
    return speaker.depth if isinstance(speaker, Node) else speaker.node.depth


def disabled(node: Node, by: Node) -> tuple[Speaker, ...]:
    """Note a command to disable the node; returns who disables it now."""
    node.enablers = tuple(one for one in node.enablers if height(one) < by.depth)
    return _in_force(node, (*_asking(node, besides=by), by))


def enabled(node: Node, by: Node) -> tuple[Speaker, ...]:
    """Note a command to enable the node; returns who disables it all the same: nobody, if `by` is
    at least as high as all who do."""
    node.enablers = (*(one for one in node.enablers if one is not by), by)
    asking = tuple(
        one for one in _asking(node) if isinstance(one, Scheduler) or one.depth < by.depth
    )
    return _in_force(node, asking)


def withdrawn(node: Node, by: Speaker) -> tuple[Speaker, ...]:
    """Forget what `by` has said of the node; returns who disables it now."""
    node.enablers = tuple(one for one in node.enablers if one is not by)
    return _in_force(node, _asking(node, besides=by))


def held(node: Node, by: Scheduler) -> tuple[Speaker, ...]:
    """Note that a strategy disables the node; returns who disables it now."""
    node.enablers = tuple(one for one in node.enablers if one is not by)
    return _in_force(node, (*_asking(node, besides=by), by))


def overruled(node: Node, by: Scheduler) -> tuple[Speaker, ...]:
    """Note that a strategy wants the node to go whatever those below say; returns who disables it
    now."""
    node.enablers = (*(one for one in node.enablers if one is not by), by)
    return _in_force(node, _asking(node, besides=by))


def _asking(node: Node, *, besides: Speaker | None = None) -> tuple[Speaker, ...]:
    return tuple(one for one in (*node.holds, *node.overruled) if one is not besides)


def _in_force(node: Node, asking: tuple[Speaker, ...]) -> tuple[Speaker, ...]:
    """Sorts who asks for the node to be disabled into those that count and those overruled."""
    if not node.enablers:
        node.overruled = ()
        return asking
    highest = min(height(one) for one in node.enablers)
    idle = tuple(one for one in asking if isinstance(one, Scheduler) and height(one) >= highest)
    node.overruled = idle
    return tuple(one for one in asking if one not in idle)

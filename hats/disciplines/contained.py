"""ContainedScheduler: lets a plug-in's scheduler choose, and goes on without it when it fails.

A scheduler runs between two quanta of a device's link, so what it does wrong would stop the link.
Every call is made through the plug-in's switch (plugins/switch.py); one that raises, takes too
long, selects a child that is not ready or never stops asking to settle is replaced at this node by
the initial discipline, with all that was ready still ready. What it had held back is let go before
the next quantum. One that never returns can't be helped: docs/plugins.md says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler, Scheduler
from plugins.switch import Nonsense, PluginSwitch

if TYPE_CHECKING:
    from hats.tree.hierarchy import Hierarchy

MAX_SETTLES: Final = 1000
"""Times that it may settle between two quanta; each is an answer to events, and few are."""


class ContainedScheduler(DynamicScheduler):
    """Answers as the plug-in does for as long as that goes well, as WF2Q+ from then on."""

    __slots__ = ("_attached", "_name", "_noisy", "_plugin", "_readied", "_settles", "_switch")

    def __init__(self, plugin: Scheduler, name: str, switch: PluginSwitch) -> None:
        """`name`: as policies call it."""
        super().__init__(WF2QPlus())
        self._plugin: Scheduler | None = plugin
        """None: it has failed here."""
        self._noisy: Scheduler | None = None
        """It has failed, and what it has said of nodes still counts."""
        self._name = name
        self._switch = switch
        self._attached: dict[Node, None] = {}
        self._readied: dict[Node, None] = {}
        """What it has been told, in order: whoever follows is told the same."""
        self._settles = 0

    @property
    def name(self) -> str:  # type: ignore[override]  # of each plug-in its own
        """What policies call it; the initial discipline's once it has failed."""
        return self._name if self._plugin is not None else self.inner.name

    # -- office ------------------------------------------------------------------------------

    def bind(self, tree: Hierarchy, node: Node) -> None:
        super().bind(tree, node)

        def take_office(plugin: Scheduler) -> None:
            plugin.serve_in(self)
            plugin.bind(tree, node)

        self._told(take_office)

    def unbind(self) -> None:
        self._told(lambda plugin: plugin.unbind())
        self._noisy = self._plugin or self._noisy
        self._quiet()

    # -- as a scheduler of its children ------------------------------------------------------

    def attach(self, child: Node) -> None:
        self._attached[child] = None
        if not self._told(lambda plugin: plugin.attach(child)):
            self.inner.attach(child)

    def detach(self, child: Node) -> None:
        self._attached.pop(child, None)
        if not self._told(lambda plugin: plugin.detach(child)):
            self.inner.detach(child)

    def ready(self, child: Node) -> None:
        self._readied[child] = None
        if not self._told(lambda plugin: plugin.ready(child)):
            self.inner.ready(child)

    def waiting(self, child: Node) -> None:
        self._readied.pop(child, None)
        if not self._told(lambda plugin: plugin.waiting(child)):
            self.inner.waiting(child)

    def select(self) -> Node:
        self._settles = 0
        chosen: list[Node] = []
        self._told(lambda plugin: chosen.append(self._checked(plugin.select())))
        return self.inner.select() if self._plugin is None else chosen[0]

    def charge(self, child: Node, length: int) -> None:
        if not self._told(lambda plugin: plugin.charge(child, length)):
            self.inner.charge(child, length)

    def changed(self, child: Node) -> None:
        if not self._told(lambda plugin: plugin.changed(child)):
            self.inner.changed(child)

    # -- as an observer of the leaves below --------------------------------------------------

    def leaf_changed(self, leaf: Node) -> None:
        self._observed(lambda plugin: plugin.leaf_changed(leaf))

    def leaf_left(self, leaf: Node) -> None:
        self._observed(lambda plugin: plugin.leaf_left(leaf))

    def bandwidth_changed(self, rate: float) -> None:
        self._observed(lambda plugin: plugin.bandwidth_changed(rate))

    def settle(self) -> None:
        self._settles += 1
        if self._settles > MAX_SETTLES:
            self._told(_endless)
        self._observed(lambda plugin: plugin.settle())
        self._quiet()

    # -- inside ------------------------------------------------------------------------------

    def _told(self, job: Callable[[Scheduler], object]) -> bool:
        """Ask the plug-in, or put its follower in its place, who then knows all that it was told.
        False: the follower is there already and is to be told."""
        plugin = self._plugin
        if plugin is None:
            return False
        try:
            self._switch.call(lambda: job(plugin))
        except Exception:
            self._fall_back(plugin)
        return True

    def _observed(self, job: Callable[[DynamicScheduler], object]) -> None:
        if isinstance(self._plugin, DynamicScheduler):
            self._told(lambda plugin: job(cast(DynamicScheduler, plugin)))

    def _checked(self, chosen: Node) -> Node:
        if chosen not in self._readied:
            raise Nonsense(f"it selected {chosen!r:.100}, which is not ready")
        return chosen

    def _fall_back(self, plugin: Scheduler) -> None:
        if self._plugin is None:
            return  # it failed in a call that it made itself
        self._plugin, self._noisy = None, plugin
        for child in self._attached:
            self.inner.attach(child)
        for child in self._readied:
            self.inner.ready(child)
        self.tree.unsettled(self)

    def _quiet(self) -> None:
        noisy, self._noisy = self._noisy, None
        if noisy is not None:
            self.tree.silence(self.node, noisy)


def _endless(plugin: Scheduler) -> None:
    raise Nonsense("it never stops settling")

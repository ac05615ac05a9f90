"""TextFirst: no picture moves while any text of any document has data (HATS, section 3.2.2).

The paper's algorithm, for a scheduler that sits at the root:

    (1) find the nodes with text and those with image data in the subtree   `bind`, events
    (2) if there is text, disable all nodes with image data                 `settle`
    (3) listen for the completion of text                                   `leaf_changed`
    (4) once all text has been transmitted, re-enable the images            `settle`
    (5) restart when text is added                                          `leaf_changed`

Text that only waits for a slow origin holds nobody back (stages.py says why). What the nodes
are served in apart from that is the inner scheduler's choice.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Final

from hats.disciplines.stages import Rank, Stage
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler, Scheduler

if TYPE_CHECKING:
    from hats.tree.hierarchy import Hierarchy

TEXT: Final = ("text", "style", "script", "tunnel")
"""Kinds without which a page can't be read, as a default; and tunnels in which two ends talk."""

_TEXT_RANK: Final = (0,)
_HELD_RANK: Final = (1,)


class TextFirst(DynamicScheduler):
    """Text first across the whole subtree, `inner` (WF2Q+ by default) for the rest."""

    __slots__ = ("_held_back", "_stage", "_text")
    name: ClassVar[str] = "text_first"

    def __init__(
        self,
        inner: Scheduler | None = None,
        *,
        text: Collection[str] = TEXT,
        held_back: Collection[str] | None = None,
    ) -> None:
        """`held_back`: the kinds that wait for text; None: all that are not text."""
        super().__init__(WF2QPlus() if inner is None else inner)
        self._text = frozenset(text)
        self._held_back = None if held_back is None else frozenset(held_back)
        self._stage: Stage | None = None

    def bind(self, tree: Hierarchy, node: Node) -> None:
        super().bind(tree, node)
        self._stage = Stage(tree, self)

    def unbind(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()

    def leaf_changed(self, leaf: Node) -> None:
        rank = self._rank(leaf.kind)
        if rank is not None and self._stage is not None:
            self._stage.update(leaf, rank)

    def leaf_left(self, leaf: Node) -> None:
        if self._stage is not None:
            self._stage.drop(leaf)

    def settle(self) -> None:
        if self._stage is not None:
            self._stage.settle()

    def _rank(self, kind: str) -> Rank | None:
        if kind in self._text:
            return _TEXT_RANK
        if self._held_back is None or kind in self._held_back:
            return _HELD_RANK
        return None

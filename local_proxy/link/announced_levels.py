"""Checks what the remote says of a picture's fidelity levels.

The first may be told alone, while the others are still being made (wire.messages.Levels). Until
those are known a stand-in takes their place: whoever waits for the picture's last level waits on.

Must not know: sessions, browsers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from local_proxy.link.arrival import NEVER
from local_proxy.link.components import Component
from wire import abilities
from wire import messages as m
from wire.errors import PeerError
from wire.skeleton import LEVELS, Level


@dataclass(frozen=True, slots=True)
class Told:
    """One message, checked."""

    levels: tuple[Level, ...]
    coding: str
    unsettled: bool
    identical: bool = False

    @classmethod
    def of(cls, message: m.Levels, *, accepts: Collection[str]) -> Self:
        """`accepts`: codings that whoever shows pictures undoes. Raises PeerError."""
        id_, length, levels = message.component, message.length, tuple(message.levels)
        if any(not 0 <= level.start <= level.end <= (length or NEVER) for level in levels):
            raise PeerError(f"levels of component {id_} do not fit its length")
        if abilities.SKETCH not in accepts and any(level.sketch for level in levels):
            raise PeerError(f"component {id_}: nobody accepts a sketch")
        if message.coding and message.coding not in accepts:
            raise PeerError(f"component {id_}: unknown coding {message.coding!r}")
        if message.identical and (message.coding or not levels or levels[-1].sketch):
            raise PeerError(f"component {id_}: the origin's bytes in a form that they have not")
        if length:
            return cls(levels, message.coding, unsettled=False, identical=message.identical)
        if len(levels) != 1 or levels[0].start or message.coding:
            raise PeerError(f"component {id_}: not one first level")
        rest = Level(LEVELS[-1], levels[0].end, NEVER, levels[0].content_type)
        return cls((*levels, rest), "", unsettled=True)

    def fit(self, component: Component) -> bool:
        """Whether they can be those of the component that is here in part."""
        if component.unsettled or (self.unsettled and component.levels):
            return self.levels[:1] == component.levels[:1]
        if not component.received:
            return True
        known = component.levels, component.coding, component.identical
        return (self.levels, self.coding, self.identical) == known

    def settle(self, component: Component) -> None:
        """Makes them the component's from now on. What was known of all is not forgotten."""
        if self.unsettled and component.levels and not component.unsettled:
            return
        component.levels, component.coding = self.levels, self.coding
        component.unsettled, component.identical = self.unsettled, self.identical

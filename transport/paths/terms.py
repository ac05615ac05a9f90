"""On what terms each interface carries a path: as what, how much, by which congestion control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol

from transport.multipath.duty import Duty, Fixed, Meter
from transport.paths.budget import MonthlyBudget, byte_size
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.bottleneck import BottleneckBased
from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.new_reno import NewReno
from transport.spp.core.settings import SppSettings
from transport.udp.connection import DEVICE

LEAST: Final = 1500
"""Bytes of a budget that are as good as nothing: a packet and what answers it."""
SPARE, METERED = "spare", "metered"
"""Roles; anything else is used."""
USUAL, BACKGROUND = "bottleneck", "background"
"""Names of congestion controls: one that has its share of a line beside others, and one that takes
what they leave."""
CONTROLS: Final[Mapping[str, Callable[[int], Congestion]]] = {
    USUAL: lambda segment: BottleneckBased(segment=segment),
    BACKGROUND: lambda segment: BottleneckBased(segment=segment, competes=False),
    "newreno": lambda segment: NewReno(segment=segment),
}
"""By name, for packets of so many bytes."""
_SELDOM: Final = replace(DEVICE, keep_alive=600.0)
"""Where silence costs money: less than a megabyte a month. What a NAT has forgotten by then the
next request opens anew."""


class Crossing(Protocol):
    """What counts its bytes."""

    @property
    def crossed(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PathTerms:
    """Says how one interface is used."""

    role: str = ""
    budget: MonthlyBudget | None = None
    control: str = USUAL
    now: Callable[[], datetime] = datetime.now

    @property
    def settings(self) -> SppSettings:
        """How its connections behave."""
        return DEVICE if self.budget is None else _SELDOM

    @property
    def spent(self) -> bool:
        """Nothing may cross this month any more."""
        budget = self.budget
        return budget is not None and budget.duty(self.now(), owed=LEAST) is Duty.NONE

    def count(self, crossed: int) -> None:
        """So many bytes have crossed before there was a connection."""
        if self.budget is not None:
            self.budget.add(crossed, self.now())

    def congestion(self) -> Congestion:
        """For what comes over it."""
        return CONTROLS[self.control](RcpSettings().packet)

    def meter(self, link: Crossing) -> Meter:
        """Watches a connection over it."""
        if self.budget is None:
            return Fixed(Duty.SPARE if self.role == SPARE else Duty.USE)
        return Metered(link, self.budget, self.now)


@dataclass(slots=True)
class Metered:
    """Adds what crosses one connection to its interface's budget."""

    link: Crossing
    budget: MonthlyBudget
    now: Callable[[], datetime]
    counted: int = 0

    def duty(self, owed: int) -> Duty:
        crossed, now = self.link.crossed, self.now()
        self.budget.add(crossed - self.counted, now)
        self.counted = crossed
        return self.budget.duty(now, owed=owed + LEAST)

    def left(self) -> int:
        return self.budget.left(self.now())


@dataclass(frozen=True, slots=True)
class AllTerms:
    """Says how each interface is used, as a person has set it."""

    roles: Mapping[str, str] = field(default_factory=dict)
    budgets: Mapping[str, MonthlyBudget] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)
    usual: str = USUAL
    """The control of interfaces that are not named."""
    now: Callable[[], datetime] = datetime.now

    def of(self, name: str) -> PathTerms:
        """Says how the interface with that name is used."""
        control = self.controls.get(name, self.usual)
        return PathTerms(self.roles.get(name, ""), self.budgets.get(name), control, self.now)


def all_terms(
    roles: Mapping[str, str],
    budgets: Mapping[str, str],
    controls: Mapping[str, str],
    *,
    usual: str = USUAL,
) -> AllTerms:
    """As settings have them, with budgets such as "2 GB", and the control of interfaces that have
    none of their own. Raises ValueError."""
    sizes = {name: MonthlyBudget(byte_size(text)) for name, text in budgets.items()}
    return AllTerms(roles, sizes, controls, usual)

"""Counts what an attack tried and what of it got through, and says where the attacked are."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from bench.origins.site import Address
from transport.tcp.security import ClientSecurity

EXAMPLES: Final = 5
"""What got through that is told, of each attack."""


@dataclass
class AttackTally:
    """What one attack came to."""

    name: str
    tries: int = 0
    through: int = 0
    examples: list[str] = field(default_factory=list)
    left_out: str = ""
    """Why it was not tried; empty: it was."""

    def tried(self, count: int = 1) -> None:
        """So many more attempts, whatever comes of them."""
        self.tries += count

    def got(self, what: str) -> None:
        """One got through: `what` says which and how."""
        self.through += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(what)

    def as_json(self) -> dict[str, object]:
        """A row of a report."""
        row: dict[str, object] = {"attack": self.name, "tries": self.tries, "through": self.through}
        if self.examples:
            row["examples"] = self.examples
        return row | ({"left_out": self.left_out} if self.left_out else {})


@dataclass(frozen=True, slots=True)
class Targets:
    """Where the attacked are."""

    remote: Address
    """The remote proxy's port, TCP and UDP."""
    local: Address
    """The local proxy of the person who reads meanwhile."""
    hostile_local: Address
    """The local proxy of the hostile device, which is paired as well."""
    hostile: ClientSecurity
    """The hostile device's identity, for what no local proxy would say."""
    forbidden: Address
    """A server that nobody may reach through the remote proxy."""
    reached: Callable[[], int]
    """How often that server was reached."""


Attack = Callable[[Targets, AttackTally], Coroutine[Any, Any, None]]
"""Goes on until it is cancelled; an attack that ends by itself has failed."""

"""Says how many round trips lie between two measurements (ImTCP, IV-C.4 and IV-E.4).

Where a line is congested, packets that are spaced meet others' bursts and are lost more often, so
that who measures all the time gets less than its share; after 20 round trips it does not. Where it
is not, results are worth having and cost nobody anything. The paper leaves the change from one to
the other to the future: here losses tell, for they are what the share is lost by. Pure.
"""

from __future__ import annotations

from typing import Final

CONGESTED: Final = 20.0
"""Round trips between measurements on a congested line, the paper's figure."""


class AdaptivePause:
    """Long for some measurements after each loss, none else."""

    def __init__(self, *, congested: float = CONGESTED, after: int = 3) -> None:
        """`after`: measurements after a loss for which the pause is long."""
        self._congested, self._after = congested, after
        self._left = 0

    def lost(self) -> None:
        """A packet was lost."""
        self._left = self._after

    def __call__(self) -> float:
        """Round trips from a result to the next measurement."""
        if not self._left:
            return 0.0
        self._left -= 1
        return self._congested

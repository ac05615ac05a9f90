"""Shows what has crossed metered interfaces this month, and when the next one begins. Pure."""

from __future__ import annotations

from local_proxy.status.snapshot import ShownBudget
from transport.paths.budget import renewed
from transport.paths.terms import AllTerms


def shown_budgets(terms: AllTerms) -> list[ShownBudget]:
    """Shows all metered interfaces, whether they are there or not."""
    now = terms.now()
    return [
        ShownBudget(
            name=name,
            duty=budget.duty(now).value,
            spent=budget.spent,
            size=budget.size,
            until=renewed(now).date().isoformat(),
        )
        for name, budget in terms.budgets.items()
    ]

"""Shows what has crossed of budgets, a day's or a metered interface's, and when they begin again.

Pure."""

from __future__ import annotations

from local_proxy.sites.day_budget import DayBudget
from local_proxy.status.snapshot import ShownBudget
from transport.paths.budget import renewed
from transport.paths.terms import AllTerms


def shown_day(budget: DayBudget | None) -> list[ShownBudget]:
    """Shows what has crossed today, where that is limited."""
    if budget is None:
        return []
    duty = "none" if budget.gone else "use"
    return [
        ShownBudget(
            name="today",
            duty=duty,
            spent=budget.spent,
            size=budget.size,
            until=budget.until.isoformat(),
            day=True,
        )
    ]


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

"""The scenarios there are, room by room.

Each room of bench/scenarios/ lists its own in an `entries` module; a scenario's module is imported
only when it runs (bench/runner.py). How to add one: docs/benches.md.
"""

from __future__ import annotations

from typing import Final

from bench.scenarios.atp import entries as atp
from bench.scenarios.bandwidth import entries as bandwidth
from bench.scenarios.deadline import entries as deadline
from bench.scenarios.entry import Scenario
from bench.scenarios.faults import entries as faults
from bench.scenarios.hats import entries as hats
from bench.scenarios.imtcp import entries as imtcp
from bench.scenarios.links import entries as links
from bench.scenarios.machine import entries as machine
from bench.scenarios.monitor import entries as monitor
from bench.scenarios.office import entries as office
from bench.scenarios.pages import entries as pages
from bench.scenarios.rcp import entries as rcp

SCENARIOS: Final = (
    *pages.ENTRIES,
    *office.ENTRIES,
    *links.ENTRIES,
    *bandwidth.ENTRIES,
    *deadline.ENTRIES,
    *hats.ENTRIES,
    *atp.ENTRIES,
    *monitor.ENTRIES,
    *imtcp.ENTRIES,
    *rcp.ENTRIES,
    *faults.ENTRIES,
    *machine.ENTRIES,
)


def scenario(name: str) -> Scenario:
    """One entry. Raises ValueError that lists the names there are."""
    found = next((entry for entry in SCENARIOS if entry.name == name), None)
    if found is None:
        names = ", ".join(entry.name for entry in SCENARIOS)
        raise ValueError(f"no scenario {name!r}; there are {names}")
    return found

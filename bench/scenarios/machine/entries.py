"""Lists the scenarios that take a machine of their own."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "fresh-machine",
        "that a bare Debian 12 installs, pairs, boots, upgrades and loses Sluice by README's lines",
        "bench.scenarios.machine.fresh_machine",
        takes=330,
        quick_takes=240,
        quick={"parts": ("walk",)},
        slow=True,
    ),
)

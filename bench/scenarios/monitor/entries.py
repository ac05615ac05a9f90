"""Lists the scenarios of what monitoring costs and models miss."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "monitor-models",
        "how far models of TCP are from what 200 connections get, each over a random path",
        "bench.scenarios.monitor.model_error",
        takes=1060,
        quick_takes=95,
        quick={"runs": 20, "seconds": 30.0},
        slow=True,
    ),
    Scenario(
        "monitor",
        "what sensors of bandwidth cost a sample, and how timely they are (Bolliger and Gross)",
        "bench.scenarios.monitor.monitor",
        takes=1700,
        quick_takes=55,
        quick={"runs": 1, "counts": (5, 40), "intervals": (0.05, 0.5), "seconds": 1.5},
        slow=True,
    ),
)

"""Lists the scenarios of times by which pictures are wanted."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "deadline",
        "what a time limit costs and gives where estimates are wrong, or late (Bolliger and Gross)",
        "bench.scenarios.deadline.deadline",
        takes=170,
        quick_takes=8,
        quick={"runs": 2, "volatilities": ("low", "medium"), "errors": (), "delays": (0.5,)},
        virtual=True,
    ),
    Scenario(
        "deadline-pages",
        "whether a page's pictures are there in time in Chromium, how fine, and with fixed levels",
        "bench.scenarios.deadline.deadline_pages",
        takes=600,
        quick_takes=40,
        quick={"runs": 1, "cases": (("384k", 5.0),), "levels": ("low",)},
        slow=True,
    ),
)

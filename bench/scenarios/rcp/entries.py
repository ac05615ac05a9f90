"""Lists the scenarios of the RCP paper."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "rcp-friendly",
        "whether RCP leaves TCP its share, and bears a way back that loses (RCP, figure 4)",
        "bench.scenarios.rcp.rcp_friendly",
        takes=600,
        quick_takes=3,
        quick={"runs": 3, "seconds": 20.0, "proportions": (0, 10), "bursts": (0, 100)},
        virtual=True,
    ),
    Scenario(
        "rcp-wireless",
        "what losses of a wireless hop cost, with and without notice of them (RCP, figure 5a)",
        "bench.scenarios.rcp.rcp_wireless",
        takes=200,
        quick_takes=1,
        quick={"runs": 1, "seconds": 30.0, "losses": (0.01, 0.05)},
        virtual=True,
    ),
    Scenario(
        "rcp-sleep",
        "what sleeping through bad states of the channel saves and costs (RCP, figure 5c)",
        "bench.scenarios.rcp.rcp_sleep",
        takes=120,
        quick_takes=1,
        quick={"runs": 1, "seconds": 60.0, "bad": (1.0,)},
        virtual=True,
    ),
    Scenario(
        "r2cp-paths",
        "what two unequal paths carry together, and how full the buffer gets (R2CP, figure 9)",
        "bench.scenarios.rcp.r2cp_paths",
        takes=160,
        quick_takes=5,
        quick={"seconds": 18.0, "rates": (), "trips": (0.21,)},
        virtual=True,
    ),
    Scenario(
        "r2cp-handoff",
        "whether a download notices that it goes on over another network (R2CP, figure 8)",
        "bench.scenarios.rcp.r2cp_handoff",
        takes=8,
        quick_takes=1,
        quick={
            "seconds": 18.0,
            "at": 6.0,
            "handoffs": ("8a: without", "8b: to another server", "8c: both"),
        },
        virtual=True,
    ),
    Scenario(
        "r2cp-pulled-out",
        "what a download notices of a path that goes, over the pair's own connection",
        "bench.scenarios.rcp.r2cp_pulled_out",
        takes=260,
        quick_takes=1,
        quick={"runs": 1, "size": 300_000},
        virtual=True,
    ),
    Scenario(
        "r2cp-page",
        "a page in Chromium over two paths at once and over each alone (as root)",
        "bench.scenarios.rcp.r2cp_page",
        takes=400,
        quick_takes=90,
        quick={"runs": 1, "pairs": ("384k + satellite",)},
        slow=True,
    ),
)

"""Lists the scenarios of the ImTCP paper."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "imtcp-measure",
        "how well streams of data packets tell available bandwidth (ImTCP, figures 5 and 6)",
        "bench.scenarios.imtcp.imtcp_measure",
        takes=150,
        quick_takes=3,
        quick={"lines": ("20M",), "seconds": 110.0, "runs": 1},
        virtual=True,
    ),
    Scenario(
        "imtcp-pair",
        "what the remote's end of a link over UDP finds that others leave, and what that costs",
        "bench.scenarios.imtcp.imtcp_pair",
        takes=500,
        quick_takes=3,
        quick={"lines": ("384k",), "shares": (0.4,), "seconds": 25.0},
        slow=True,
        virtual=True,
    ),
    Scenario(
        "imtcp-flow",
        "a connection that measures while it sends, beside UDP that steps (ImTCP, figures 11-13)",
        "bench.scenarios.imtcp.imtcp_flow",
        takes=400,
        quick_takes=3,
        quick={"lines": ("1.6M",), "seconds": 110.0},
        slow=True,
        virtual=True,
    ),
    Scenario(
        "imtcp-background",
        "a transfer that nobody in front notices, beside Reno and LEDBAT (ImTCP, figure 22)",
        "bench.scenarios.imtcp.imtcp_background",
        takes=70,
        quick_takes=7,
        quick={"seconds": 70.0, "kinds": ("ImTCP",)},
        slow=True,
        virtual=True,
    ),
    Scenario(
        "imtcp-full-speed",
        "windows that grow by what is available: 500 Mbit/s, and air that loses (figures 26, 28)",
        "bench.scenarios.imtcp.imtcp_full_speed",
        takes=600,
        quick_takes=4,
        quick={"seconds": 40.0, "runs": 2, "losses": (0.01, 0.05), "fast": False},
        slow=True,
        virtual=True,
    ),
    Scenario(
        "imtcp-share",
        "how connections that measure share a line, and with Reno's (ImTCP, figures 18 and 20)",
        "bench.scenarios.imtcp.imtcp_share",
        takes=600,
        quick_takes=60,
        full={"runs": 2, "counts": (4, 10, 40)},
        quick={"seconds": 60.0, "runs": 1, "counts": (2, 10), "pauses": ("0", "20", "adaptive")},
        slow=True,
        virtual=True,
    ),
    Scenario(
        "imtcp-web",
        "a transfer beside 220 readers of web pages (ImTCP, figures 15, 16, 23 and 24)",
        "bench.scenarios.imtcp.imtcp_web",
        takes=600,
        quick_takes=40,
        quick={"runs": 2, "seconds": 60.0},
        slow=True,
        virtual=True,
    ),
)

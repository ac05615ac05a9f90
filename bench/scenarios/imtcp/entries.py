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
)

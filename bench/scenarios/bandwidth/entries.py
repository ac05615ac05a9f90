"""Lists the scenarios of what is heard of a link."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "bandwidth-heard",
        "what policies hear of a link: while people read, after rests and fades; modal in trouble",
        "bench.scenarios.bandwidth.bandwidth_heard",
        takes=600,
        quick_takes=20,
        quick={
            "seconds": 30.0,
            "links": ("384k", "lossy", "wlan"),
            "rests": (60.0,),
            "rises": ("384k", "wlan"),
            "draws": 3,
            "runs": 40,
        },
        virtual=True,
    ),
)

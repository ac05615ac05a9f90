"""Lists the scenarios of the ATP paper and NAI."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "atp-bandwidth",
        "how NAI's estimates follow a link that fades, and which messages get through (figure 4)",
        "bench.scenarios.atp.atp_bandwidth",
        takes=4,
        quick_takes=4,
        virtual=True,
    ),
    Scenario(
        "atp-bulk",
        "how soon, and how well, NAI fills a link with messages of 1 KB to 1 MB",
        "bench.scenarios.atp.atp_bulk",
        takes=7,
        quick_takes=7,
        virtual=True,
    ),
    Scenario(
        "atp-workloads",
        "which messages ATP, NAI-TCP and NAI-MTCP deliver in time over a fading link (figure 7)",
        "bench.scenarios.atp.atp_workloads",
        takes=170,
        quick_takes=12,
        quick={"runs": 1, "workloads": ("prioritised", "filesystem")},
        virtual=True,
    ),
    Scenario(
        "atp-adaptation",
        "callbacks and priorities against bandwidth notifications, over a WLAN (table 1, figure 6)",
        "bench.scenarios.atp.atp_adaptation",
        takes=17,
        quick_takes=5,
        quick={"scale": 0.2},
        virtual=True,
    ),
    Scenario(
        "atp-timeline",
        "what enters and what arrives while a link fades, event by event (figure 5)",
        "bench.scenarios.atp.atp_timeline",
        takes=1,
        quick_takes=1,
        virtual=True,
    ),
    Scenario(
        "atp-datagrams",
        "100,000 messages over a link that loses, delays and repeats: virtual time and kernel UDP",
        "bench.scenarios.atp.atp_datagrams",
        takes=60,
        quick_takes=8,
        quick={"scale": 0.1},
    ),
)

"""Lists the scenarios of attacks, faults and crowds."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "capacity",
        "what a remote and its devices cost: processor time by part, memory, wake-ups; a crowd",
        "bench.scenarios.faults.capacity",
        takes=420,
        quick_takes=60,
        quick={"size": 50_000_000, "runs": 1, "parts": ("bulk", "pages"), "links": ("20M",)},
        slow=True,
    ),
    Scenario(
        "websocket",
        "how much later a WebSocket's echo is beside a transfer that fills the link, over real TCP",
        "bench.scenarios.faults.websocket",
        takes=240,
        quick_takes=95,
        quick={"profile_name": "384k"},
    ),
    Scenario(
        "hostile",
        "what attacks from every side get, and how long a page takes that is loaded beside them",
        "bench.scenarios.faults.hostile",
        takes=720,
        quick_takes=60,
        quick={"seconds": 20.0, "quiet_loads": 2},
    ),
    Scenario(
        "faults",
        "that cuts, silences, restarts and new addresses cost pages and downloads a pause, no more",
        "bench.scenarios.faults.faults",
        takes=660,
        quick_takes=95,
        quick={"runs": 8, "long_silence": 15.0},
    ),
    Scenario(
        "fleet",
        "that fifty devices of two remotes lose nothing when parts of the fleet are killed",
        "bench.scenarios.faults.fleet",
        takes=240,
        quick_takes=60,
        quick={"size": 6, "scale": 0.3},
        slow=True,
    ),
    Scenario(
        "shared-cache",
        "that the remote's shared cache keeps to HTTP's rules, by http-tests' cache-tests",
        "bench.scenarios.faults.shared_cache",
        takes=100,
        quick_takes=100,
        slow=True,
    ),
    Scenario(
        "bulk",
        "that neither proxy holds a gigabyte whose reader rests",
        "bench.scenarios.faults.bulk",
        takes=300,
        quick_takes=22,
        quick={"size": 50_000_000},
    ),
)

"""Lists the scenarios of links, their gates and what shares them."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import Scenario

ENTRIES: Final = (
    Scenario(
        "reallocation",
        "how soon a switch counts: an urgent quantum, in virtual time and over TCP; new shares",
        "bench.scenarios.links.reallocation",
        takes=620,
        quick_takes=45,
        quick={"real": ("384k",), "seconds": 8.0, "queues": ()},
    ),
    Scenario(
        "utilisation",
        "how much of the link two loading pages use, what frames cost, idle gaps; over real TCP",
        "bench.scenarios.links.utilisation",
        takes=240,
        quick_takes=62,
        quick={"profile": "384k"},
    ),
    Scenario(
        "recordings",
        "every frame of twenty page loads, as digests: whether two trees behave alike",
        "bench.scenarios.links.recordings",
        takes=13,
        quick_takes=4,
        quick={"scale": 0.25},
        virtual=True,
    ),
    Scenario(
        "priority",
        "the part of it in virtual time: a quantum of high priority behind a backlog",
        "bench.scenarios.links.priority",
        takes=20,
        quick_takes=2,
        quick={"scale": 0.25},
        virtual=True,
    ),
    Scenario(
        "tcp-contention",
        "how unequally three kernel TCP flows share a link, one pausing (ATP, figure 2)",
        "bench.scenarios.links.tcp_contention",
        takes=122,
        quick_takes=22,
        quick={"seconds": 20.0},
    ),
    Scenario(
        "beside-tcp",
        "what share of a line a link has beside others' downloads, and its queue afterwards",
        "bench.scenarios.links.beside_tcp",
        takes=260,
        quick_takes=8,
        quick={"lines": ("5M",), "others": (1,), "seconds": 30.0},
        slow=True,
        virtual=True,
    ),
    Scenario(
        "gate",
        "how late an urgent kilobyte is behind a bulk transfer, over real TCP",
        "bench.scenarios.links.gate",
        takes=200,
        quick_takes=14,
        quick={"seconds": 8.0, "profiles": ("isdn-dsl-tunnel",)},
    ),
    Scenario(
        "random-bytes",
        "that noise at every port costs nothing but logged errors: memory, a page after it",
        "bench.scenarios.links.random_bytes",
        takes=75,
        quick_takes=18,
        quick={"seconds": 8.0},
    ),
    Scenario(
        "links",
        "that emulated links are what their profiles say: rate, delay, loss, queue",
        "bench.scenarios.links.links",
        takes=80,
        quick_takes=15,
        quick={"backend": "relay"},
    ),
    Scenario(
        "netem",
        "that the kernel's own tc netem, in user-mode Linux, gives the same figures as our relay",
        "bench.scenarios.links.netem",
        takes=400,
        quick_takes=200,
        quick={"runs": 1},
        slow=True,
    ),
)

"""The scenarios there are: what each shows, how long it takes, and what makes it quick.

A table and nothing else: a scenario's module is imported only when it runs (bench/runner.py). How
to add one: docs/benches.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ARTICLE: Final = Path(__file__).resolve().parent.parent / "demo" / "site" / "article"
"""The lighter page of the sample site."""
DATA: Final = "tests/data"
"""Documents and pictures of the tests, from the sources' root."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One entry of the list."""

    name: str
    shows: str
    module: str
    """Its `run` takes those of the command line's options that it names."""
    takes: float
    """Seconds, about, on two processors, as `full` has it."""
    quick_takes: float
    quick: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `run` that make it quick."""
    full: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `run` when all scenarios run: as many runs as a comparison needs."""
    virtual: bool = False
    """It runs in virtual time and gives the same figures on every machine, every time."""
    needs: str = ""
    """A folder of the sources that it reads and that no wheel has; empty: none."""
    slow: bool = False
    """Even what is quick of it takes too long for a quick look at all."""


SCENARIOS: Final = (
    Scenario(
        "page-load",
        "when text and pictures of a page are there, directly, through Sluice, and by --peers all",
        "bench.scenarios.pages.page_load",
        takes=480,
        quick_takes=80,
        full={"runs": 5},
    ),
    Scenario(
        "never-worse",
        "that on no link, 56k to 100M, a page comes later through Sluice than without it",
        "bench.scenarios.pages.never_worse",
        takes=2400,
        quick_takes=60,
        quick={"runs": 2, "links": ("20M",)},
        slow=True,
    ),
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
        "browse",
        "pages one after another in one browser, caches warm, under several policies",
        "bench.scenarios.pages.browse",
        takes=180,
        quick_takes=68,
        quick={"profile_name": "1.6M", "policies": ("default",)},
    ),
    Scenario(
        "office",
        "when a document can be read in LibreOffice while it comes, and a plain download",
        "bench.scenarios.office.office",
        needs=DATA,
        takes=90,
        quick_takes=12,
        quick={"profile_name": "384k", "samples": ("deck_pictures.pptx",)},
    ),
    Scenario(
        "office-jump",
        "how soon a slide's picture comes once a reader jumps to it, also in LibreOffice",
        "bench.scenarios.office.office_jump",
        needs=DATA,
        takes=45,
        quick_takes=2,
        quick={"real": False},
    ),
    Scenario(
        "office-preview",
        "how soon an office document behind a link can be read in Chromium, while it comes",
        "bench.scenarios.office.office_preview",
        needs=DATA,
        takes=10,
        quick_takes=7,
    ),
    Scenario(
        "two-documents",
        "how soon a page opened over a loading one gets its text; who has the link after a switch",
        "bench.scenarios.pages.two_documents",
        takes=300,
        quick_takes=55,
        full={"runs": 5},
    ),
    Scenario(
        "identical",
        "that every page ends up as it does without a proxy, pixels and console",
        "bench.scenarios.pages.identical",
        takes=60,
        quick_takes=28,
        quick={"page": ARTICLE},
    ),
    Scenario(
        "reallocation",
        "how soon a switch counts: an urgent quantum, in virtual time and over TCP; new shares",
        "bench.scenarios.links.reallocation",
        takes=620,
        quick_takes=45,
        quick={"real": ("384k",), "seconds": 8.0, "queues": ()},
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
        "utilisation",
        "how much of the link two loading pages use, what frames cost, idle gaps; over real TCP",
        "bench.scenarios.links.utilisation",
        takes=240,
        quick_takes=62,
        quick={"profile": "384k"},
    ),
    Scenario(
        "hats-text-first",
        "text of all documents before pictures of any (HATS, figure 5)",
        "bench.scenarios.hats.hats_text_first",
        takes=10,
        quick_takes=10,
        virtual=True,
    ),
    Scenario(
        "hats-deck",
        "the same with a real presentation in parts beside a page; another one by --page",
        "bench.scenarios.hats.hats_deck",
        needs=DATA,
        takes=4,
        quick_takes=4,
        virtual=True,
    ),
    Scenario(
        "hats-low-fidelity-first",
        "all pictures of all pages coarse before any is fine (HATS, figure 6)",
        "bench.scenarios.hats.hats_low_fidelity_first",
        takes=5,
        quick_takes=5,
        virtual=True,
    ),
    Scenario(
        "hats-documents",
        "the same two for pages and presentations whose sizes are their own, not the paper's",
        "bench.scenarios.hats.hats_documents",
        needs=DATA,
        takes=60,
        quick_takes=6,
        quick={"pages": ("article",), "presentations": ("deck_pictures.pptx",)},
        virtual=True,
    ),
    Scenario(
        "hats-focus",
        "four fifths of the link for the page in front (HATS, figure 7)",
        "bench.scenarios.hats.hats_focus",
        takes=5,
        quick_takes=5,
        virtual=True,
    ),
    Scenario(
        "hats-overhead",
        "what the proxies cost a page without adaptation, over real TCP (HATS, figure 8)",
        "bench.scenarios.hats.hats_overhead",
        takes=1500,
        quick_takes=15,
        quick={"profile": "384k", "size": 193_000},
    ),
    Scenario(
        "data-overhead",
        "bytes beside the payload: frames, skeleton, heads, reports, TLS (HATS, 4.2)",
        "bench.scenarios.hats.data_overhead",
        takes=8,
        quick_takes=8,
        virtual=True,
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
        "start",
        "how soon the first answer of a session is there, and one after a minute of rest",
        "bench.scenarios.pages.start",
        takes=3,
        quick_takes=3,
        virtual=True,
    ),
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
            "runs": 40,
        },
        virtual=True,
    ),
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
    Scenario(
        "scheduler",
        "what picking the next bytes costs in processor time, and that the tree stays sound",
        "bench.scenarios.hats.scheduler",
        takes=90,
        quick_takes=3,
        quick={"operations": 50_000, "rounds": 3},
    ),
    Scenario(
        "atp-bandwidth",
        "how NAI's estimates follow a link that fades, and which messages get through (figure 4)",
        "bench.scenarios.atp.atp_bandwidth",
        takes=4,
        quick_takes=4,
        virtual=True,
    ),
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
        quick_takes=2,
        quick={"runs": 2, "seconds": 30.0, "losses": (0.01, 0.05)},
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
    Scenario(
        "tcp-contention",
        "how unequally three kernel TCP flows share a link, one pausing (ATP, figure 2)",
        "bench.scenarios.links.tcp_contention",
        takes=122,
        quick_takes=22,
        quick={"seconds": 20.0},
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
        "monitor-models",
        "how far models of TCP are from what 200 connections get, each over a random path",
        "bench.scenarios.monitor.model_error",
        takes=1060,
        quick_takes=95,
        quick={"runs": 20, "seconds": 30.0},
        slow=True,
    ),
    Scenario(
        "transcode",
        "what pictures cost at each level, in bytes and processor time, and what sketches show",
        "bench.scenarios.pages.transcode",
        needs=DATA,
        takes=40,
        quick_takes=5,
        quick={"repeat": 1},
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
        "random-bytes",
        "that noise at every port costs nothing but logged errors: memory, a page after it",
        "bench.scenarios.links.random_bytes",
        takes=75,
        quick_takes=18,
        quick={"seconds": 8.0},
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
    Scenario(
        "links",
        "that emulated links are what their profiles say: rate, delay, loss, queue",
        "bench.scenarios.links.links",
        takes=80,
        quick_takes=15,
        quick={"backend": "relay"},
    ),
    Scenario(
        "bulk",
        "that neither proxy holds a gigabyte whose reader rests",
        "bench.scenarios.faults.bulk",
        takes=300,
        quick_takes=22,
        quick={"size": 50_000_000},
    ),
    Scenario(
        "beside",
        "that a page in Chromium is no later beside a download or an upload",
        "bench.scenarios.pages.beside",
        takes=780,
        quick_takes=95,
        quick={"runs": 1, "profile_name": "1.6M"},
    ),
    Scenario(
        "polar",
        "that a page comes whole, once, over a link of 1 s round trips with loss and outages",
        "bench.scenarios.pages.polar",
        takes=600,
        quick_takes=130,
        quick={"page": ARTICLE},
        slow=True,
    ),
)


def scenario(name: str) -> Scenario:
    """One entry. Raises ValueError that lists the names there are."""
    found = next((entry for entry in SCENARIOS if entry.name == name), None)
    if found is None:
        names = ", ".join(entry.name for entry in SCENARIOS)
        raise ValueError(f"no scenario {name!r}; there are {names}")
    return found

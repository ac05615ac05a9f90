"""Lists the scenarios of the HATS papers and their scheduler."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import DATA, Scenario

ENTRIES: Final = (
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
        "scheduler",
        "what picking the next bytes costs in processor time, and that the tree stays sound",
        "bench.scenarios.hats.scheduler",
        takes=90,
        quick_takes=3,
        quick={"operations": 50_000, "rounds": 3},
    ),
)

"""Lists the scenarios of pages in browsers."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import ARTICLE, DATA, Scenario

ENTRIES: Final = (
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
        "browse",
        "pages one after another in one browser, caches warm, under several policies",
        "bench.scenarios.pages.browse",
        takes=180,
        quick_takes=68,
        quick={"profile_name": "1.6M", "policies": ("default",)},
    ),
    Scenario(
        "second-visit",
        "what a page costs that is opened again, changed, and one of a site that is read already",
        "bench.scenarios.pages.second_visit",
        takes=450,
        quick_takes=150,
        quick={"runs": 1},
        slow=True,
    ),
    Scenario(
        "saver",
        "bytes, time and likeness of a page's pictures with the switch `saver`, beside ziproxy",
        "bench.scenarios.pages.saver",
        takes=120,
        quick_takes=40,
        quick={"runs": 1},
        slow=True,
    ),
    Scenario(
        "media",
        "that sound and a film play without a stall while pages load, and what they cost these",
        "bench.scenarios.pages.media",
        takes=900,
        quick_takes=300,
        quick={"runs": 1},
        slow=True,
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
        "start",
        "how soon the first answer of a session is there, and one after a minute of rest",
        "bench.scenarios.pages.start",
        takes=3,
        quick_takes=3,
        virtual=True,
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

"""Lists the scenarios of office documents."""

from __future__ import annotations

from typing import Final

from bench.scenarios.entry import DATA, Scenario

ENTRIES: Final = (
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
)

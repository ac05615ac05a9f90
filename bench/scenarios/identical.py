"""Whether a page ends up through the proxies as it does without: every pixel, every complaint.

Two direct loads first: what differs between those (an animation) can't be compared. Then each
other peer, over a link as good as none: pictures one by one, the page as a whole, and what the
console has to say.
"""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PIL import Image

from bench.cdp import Tab
from bench.origin import Address, spawn
from bench.page_load import DECODED, PICTURES, WIDTH, Endpoint, Watch, opened
from bench.peers import DirectPeer, Peer, peers
from bench.profiles import profile
from bench.report import Check
from bench.scenarios.page_load import SITE
from bench.visual import Box, mean_difference

GOAL: Final = 1.0
"""Mean difference, of 255."""
SETTLE: Final = 3.0
"""Seconds after the load event: refinement in place, decoding, drawing."""
LOOK: Final = 0.7
"""Seconds between two looks that must see the same; a busy machine refines late."""
LOOKS: Final = (3, 6)
"""At least, so that what moves by itself is seen to move, and at most."""


@dataclass(frozen=True, slots=True)
class End:
    """What a page ended up as."""

    looks: tuple[Image.Image, ...]
    """A while apart, the last one last: what differs among them moves by itself."""
    boxes: tuple[Box, ...]
    complaints: Counter[str]
    """Console errors, failed loads and uncaught exceptions, addresses made comparable."""

    @property
    def image(self) -> Image.Image:
        """The last look."""
        return self.looks[-1]


async def run(
    *, page: Path | None = None, peer_names: Sequence[str] = ("sluice",)
) -> dict[str, Any]:
    """The scenario. `page`: a folder of page folders, or one page folder."""
    root = page or SITE
    folders = _pages(root) or [root]
    found: list[dict[str, Any]] = []
    async with spawn(root) as origin:
        for folder in folders:
            name = "" if folder == root else f"{folder.name}/"
            for peer in peers([name for name in peer_names if name != "direct"]):
                found.append(await _compare(peer, origin, f"{name}index.html"))
                print(_line(found[-1]))
    return {"runs": found, "checks": checks(found)}


def _pages(root: Path) -> list[Path]:
    return sorted(index.parent for index in root.glob("*/index.html"))


def _line(run: dict[str, Any]) -> str:
    return (
        f"{run['page']:<24} {run['peer']:<10} page {run['page_difference']:.3f}/255, worst of "
        f"{run['pictures']} pictures {run['picture_difference']:.3f}/255, "
        f"height {'same' if run['same_size'] else 'DIFFERS'}, "
        f"console {'same' if not run['complaints'] else run['complaints']}"
    )


async def _compare(peer: Peer, origin: Address, page: str) -> dict[str, Any]:
    fast = profile("fast")
    async with DirectPeer().start(origin, fast) as endpoint:
        reference, again = await end_of(endpoint, page), await end_of(endpoint, page)
    async with peer.start(origin, fast) as endpoint:
        through = await end_of(endpoint, page)
    return {"peer": peer.name, "page": page, **differences(reference, again, through)}


def differences(reference: End, again: End, through: End) -> dict[str, Any]:
    """Figures of one comparison; `again` is the reference once more."""
    same_size = reference.image.size == through.image.size
    still = [
        box
        for box in reference.boxes
        if all(
            mean_difference(box.cut(reference.image), box.cut(look)) < GOAL
            for look in (*reference.looks, *again.looks)
        )
    ]
    apart = [mean_difference(box.cut(reference.image), box.cut(through.image)) for box in still]
    unlike = (reference.complaints - through.complaints) + (
        through.complaints - reference.complaints
    )
    return {
        "same_size": same_size,
        "page_difference": mean_difference(reference.image, through.image) if same_size else 255.0,
        "pictures": len(still),
        "moving_pictures": len(reference.boxes) - len(still),
        "picture_difference": max(apart, default=0.0),
        "complaints": sorted(unlike),
    }


def checks(runs: Sequence[dict[str, Any]]) -> dict[str, Check]:
    found = {}
    for run in runs:
        about = f"{run['page']}, {run['peer']}"
        worst = round(max(run["page_difference"], run["picture_difference"]), 3)
        found[f"{about}: pixels"] = Check(worst, "of 255", f"below {GOAL}", worst < GOAL)
        count = len(run["complaints"])
        found[f"{about}: console"] = Check(count, "differences", "0", count == 0)
    return found


async def end_of(endpoint: Endpoint, page: str) -> End:
    """Load a page and wait until nothing changes any more."""
    async with opened(endpoint) as browser:
        tab = await browser.new_tab()
        complaints = await _listen(tab, endpoint.base)
        watch = await Watch.on(tab, text_length=0)
        await tab.viewport(width=WIDTH, height=1000)
        await watch.navigate(endpoint.base + page)
        await watch.until("load", limit=60)
        height = int(await tab.evaluate("document.documentElement.scrollHeight"))
        await tab.viewport(width=WIDTH, height=height)  # Brings lazy pictures into view.
        await asyncio.sleep(SETTLE)
        await tab.evaluate(DECODED)
        boxes = [
            Box(round(x), round(y), round(x + w), round(y + h))
            for x, y, w, h in await tab.evaluate(PICTURES)
        ]
        looks = await _looks(tab)
    images = tuple(Image.open(io.BytesIO(look)).convert("RGB") for look in looks)
    return End(images, tuple(boxes), Counter(complaints))


async def _looks(tab: Tab) -> list[bytes]:
    """Screenshots, until two in a row see the same."""
    least, most = LOOKS
    looks = [await tab.screenshot()]
    while len(looks) < least or (looks[-1] != looks[-2] and len(looks) < most):
        await asyncio.sleep(LOOK)
        looks.append(await tab.screenshot())
    return looks


async def _listen(tab: Tab, base: str) -> list[str]:
    """A list that fills with the page's complaints."""
    complaints: list[str] = []

    def entry(params: dict[str, Any]) -> None:
        said = params["entry"]
        if said["level"] == "error":
            complaints.append(f"{said['text']} {said.get('url', '').replace(base, '/')}".strip())

    def called(params: dict[str, Any]) -> None:
        if params["type"] == "error":
            words = (str(value.get("value", value.get("description"))) for value in params["args"])
            complaints.append("console: " + " ".join(words))

    def thrown(params: dict[str, Any]) -> None:
        complaints.append("uncaught: " + params["exceptionDetails"]["text"])

    tab.on("Log.entryAdded", entry)
    tab.on("Runtime.consoleAPICalled", called)
    tab.on("Runtime.exceptionThrown", thrown)
    await tab.call("Log.enable")
    return complaints

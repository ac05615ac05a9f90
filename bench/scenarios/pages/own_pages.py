"""Pictures our own status page as its user sees it: on a phone and a laptop, light and dark.

Two pages of the site load over a slow link meanwhile, through a pair of processes, so all that it
shows is true. The page must not be wider than its window. `--plot NAME.png` writes
NAME-390-light.png and so on.
"""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any, Final

from PIL import Image

from bench.browsers.cdp import Tab
from bench.origins.site import spawn
from bench.pages.page_load import opened
from bench.pairs.peers import SluicePeer
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import profile
from emulation.worlds.world import AUTO, emulate

WIDTHS: Final = {390: 2, 1280: 1}
"""CSS pixels of a phone's and a laptop's window, and device pixels of each."""
SCHEMES: Final = ("light", "dark")
FIRST, SECOND = "article", "news"
EARLIER: Final = 12.0
"""Seconds for the first page; so the chart has something to tell."""
MEANWHILE: Final = 3.0
"""Seconds of the second one until the first picture is taken."""
COLOURS: Final = 128
"""Of a picture: it is flat, and a third as large so."""
_HEIGHT: Final = "document.documentElement.scrollHeight"
_WIDTH: Final = "document.documentElement.scrollWidth"
_SHOWN: Final = "document.querySelectorAll('#documents .document').length"


async def run(
    *, profile_name: str = "384k", backend: str = AUTO, plot: Path | None = None
) -> dict[str, Any]:
    """The scenario. `plot`: where pictures go; None: nowhere. Raises OSError."""
    widths: dict[str, int] = {}
    async with (
        emulate(profile(profile_name), backend=backend) as world,
        spawn(SITE, host=world.far) as origin,
        SluicePeer().over(world, origin) as access,
        opened(access) as browser,
    ):
        tab, own = await browser.new_tab(), await browser.new_tab()
        await tab.bring_to_front()
        await tab.call("Page.navigate", url=f"{access.base}{FIRST}/index.html")
        await asyncio.sleep(EARLIER)
        other = await browser.new_tab()
        await other.call("Page.navigate", url=f"{access.base}{SECOND}/index.html")
        await own.call("Page.navigate", url="http://sluice.local/")
        await asyncio.sleep(MEANWHILE)
        for width, scale in WIDTHS.items():
            for scheme in SCHEMES:
                name = f"{width}-{scheme}"
                widths[name] = await _settle(own, width, scale, scheme)
                if plot is not None:
                    _write(await own.screenshot(), plot.with_name(f"{plot.stem}-{name}.png"))
        shown = int(await own.evaluate(_SHOWN))
    return {
        "backend": world.backend,
        "widths": widths,
        "checks": {
            f"{name}: as wide as its window": Check(
                wide,
                "pixels",
                f"at most {name.partition('-')[0]}",
                wide <= int(name.partition("-")[0]),
            )
            for name, wide in widths.items()
        }
        | {"pages that it shows": Check(shown, "pages", "2", shown == 2)},
    }


async def _settle(tab: Tab, width: int, scale: int, scheme: str) -> int:
    """How wide the page is then."""
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    await tab.bring_to_front()
    await tab.call("Emulation.setEmulatedMedia", features=media)
    await tab.viewport(width=width, height=900, scale=scale)
    await asyncio.sleep(0.5)
    await tab.viewport(width=width, height=int(await tab.evaluate(_HEIGHT)), scale=scale)
    await asyncio.sleep(0.7)  # one more event of its stream, and a frame
    return int(await tab.evaluate(_WIDTH))


def _write(png: bytes, path: Path) -> None:
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    flat = picture.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    flat.save(path, optimize=True)
    print(f"{path}: {picture.width} x {picture.height}, {path.stat().st_size} bytes")

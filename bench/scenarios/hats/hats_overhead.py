"""Measures what the proxies cost a page that they do nothing for (HATS, 4.2, figure 8).

No adaptation: every byte as the origin sent it, documents whole and in order. Pages from 64 to
773 KB over three links, by the same scripted HTTP/1.1 client with six connections: directly,
through the pair with the paper's quantum of 256 bytes, and with ours, fitted to the link. Kernel
TCP through the relay, which asks for a round trip per connection but knows no slow start: that
flatters the direct load. The three load at the same time but for their beginnings, each over a link
and an origin of its own.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from bench.origins import scripted, site
from bench.origins.endpoint import PageAccess
from bench.origins.synthetic import page
from bench.pairs.peers import DirectPeer, Peer, SluicePeer
from bench.reports.report import Check
from bench.scenarios.links.utilisation import FixedQuantum
from emulation.lines.profiles import Profile
from emulation.lines.profiles import profile as named

LINKS: Final = ("56k", "128k", "384k")
SIZES: Final = (64_000, 128_000, 256_000, 512_000, 773_000)
"""Bytes of pages; the paper's were between the first and the last."""
PAPER: Final = 11.17
"""Percent more time than without proxies, the mean over the paper's pages and links."""
PAPER_WITHOUT: Final = 7.75
"""The same of Puppeteer without HATS."""
GOAL: Final = 0.0
QUANTUM: Final = 256
_APART: Final = 2.0
"""Seconds between the beginnings of the loads, which need the processor most."""
_TEXT: Final = 0.15
"""Share of a page that is HTML."""


class PaperQuantum(FixedQuantum):
    """The paper's quantum, as a policy that the local proxy's command line can name."""

    name = "paper_quantum"

    def __init__(self) -> None:
        super().__init__(QUANTUM)


class OverheadLoad(NamedTuple):
    """What became of one page."""

    seconds: float
    """Until its last byte was with the client."""
    bytes_down: int
    """Over the link, until then."""


def peers() -> list[Peer]:
    """The direct load first."""
    own_quantum = ("--policy", f"{__name__}:{PaperQuantum.__name__}")
    return [
        DirectPeer(),
        SluicePeer(
            name=f"quantum {QUANTUM}", policy="original", local=own_quantum, security="none"
        ),
        SluicePeer(name="quantum fitted", policy="original", security="none"),
    ]


def write(folder: Path, size: int) -> None:
    """A page of `size` bytes as files."""
    url = "http://page.test/"
    text = int(size * _TEXT)
    for name, file in page(url, text=text, large=size - text, seed=size).files.items():
        path = folder / (name.removeprefix(url) or "index.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)


async def measure(link: Profile, size: int) -> dict[str, OverheadLoad]:
    """One load by each peer. Raises OSError."""
    with TemporaryDirectory(prefix="page-") as folder:
        await asyncio.to_thread(write, Path(folder), size)
        async with AsyncExitStack() as stack:
            ways = []
            for peer in peers():
                address = await stack.enter_async_context(site.spawn(Path(folder)))
                ways.append(await stack.enter_async_context(peer.start(address, link)))
            loads = await asyncio.gather(
                *(_later(number * _APART, way) for number, way in enumerate(ways))
            )
            return {
                peer.name: OverheadLoad(
                    round(max(one.done for one in load), 3), way.statistics().bytes_down
                )
                for peer, load, way in zip(peers(), loads, ways, strict=True)
            }


async def run(
    *, profile: str | None = None, runs: int = 1, size: int | None = None, plot: Path | None = None
) -> dict[str, Any]:
    """All links and sizes, or one link or size; medians over `runs`. `plot`: figure 8."""
    rows: list[dict[str, Any]] = []
    names = [peer.name for peer in peers()]
    print(f"{'link':<6}{'page':>8}{'direct':>9}" + "".join(f"{name:>26}" for name in names[1:]))
    for link in [named(profile)] if profile else [named(name) for name in LINKS]:
        for large in [size] if size else SIZES:
            loads = [await measure(link, large) for _ in range(runs)]
            times = {
                name: statistics.median(load[name].seconds for load in loads) for name in names
            }
            rows.append(
                {
                    "profile": link.name,
                    "size": large,
                    "seconds": times,
                    "all": [{name: load._asdict() for name, load in one.items()} for one in loads],
                }
            )
            print(_line(rows[-1]), flush=True)
    if plot is not None:
        draw(rows, plot)
    checks = {}
    for name in names[1:]:
        mean = round(statistics.mean(overhead(row["seconds"], name) for row in rows), 2)
        print(f"{name}: {mean:+.2f} % (paper {PAPER:+} %, without HATS {PAPER_WITHOUT:+} %)")
        checks[f"{name}, mean over pages and links"] = Check(
            mean, "% later than direct", f"<= {GOAL:g}", mean <= GOAL
        )
        worst = round(max(overhead(row["seconds"], name) for row in rows), 2)
        checks[f"{name}, the worst page"] = Check(
            worst, "% later than direct", f"<= {GOAL:g}", worst <= GOAL
        )
    return {"runs": rows, "checks": checks}


async def _later(seconds: float, way: PageAccess) -> list[scripted.LoadedResource]:
    await asyncio.sleep(seconds)
    return await scripted.fetch_page(way, "", navigates=True)


def overhead(seconds: Mapping[str, float], name: str) -> float:
    """Percent more time than the direct load takes."""
    return 100 * (seconds[name] / seconds["direct"] - 1)


def _line(row: Mapping[str, Any]) -> str:
    seconds = row["seconds"]
    cells = "".join(
        f"{time:>16.2f} s{overhead(seconds, name):>+7.1f}%"
        for name, time in seconds.items()
        if name != "direct"
    )
    return f"{row['profile']:<6}{row['size'] // 1000:>5} KB{seconds['direct']:>7.2f} s{cells}"


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Overhead by size, a panel a peer, a line a link. Raises ValueError without matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # only who draws needs it
    except ModuleNotFoundError as error:
        raise ValueError("--plot needs matplotlib: pip install 'sluice-proxy[bench]'") from error
    names = [name for name in rows[0]["seconds"] if name != "direct"]
    figure = Figure(figsize=(9, 3), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        for link in dict.fromkeys(row["profile"] for row in rows):
            own = [row for row in rows if row["profile"] == link]
            panel.plot(
                [row["size"] / 1000 for row in own],
                [overhead(row["seconds"], name) for row in own],
                marker="o",
                label=link,
            )
        panel.axhline(PAPER, color="grey", linestyle=":", label="paper, mean")
        panel.axhline(0, color="black", linewidth=0.8)
        panel.set_title(name, loc="left", fontsize=10)
        panel.set_xlabel("KB")
    panels[0].set_ylabel("% later than direct")
    panels[0].legend(fontsize=8)
    figure.savefig(file, dpi=90)

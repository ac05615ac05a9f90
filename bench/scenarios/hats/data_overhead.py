"""Counts the bytes that cross the link besides a page's own, in virtual time (HATS, 4.2).

Downwards: headers of frames, skeletons, heads of responses, other control messages, and what
records of TLS would add (reckoned: virtual time knows no TLS). Upwards: requests and other control
messages, and the receiver's reports. Shares are of the payload: components as they cross the link,
texts coded and pictures with their levels.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage, page, page_of, prepared
from bench.pairs.pair import CONTROL, Tap, memory_pair
from bench.reports.report import Check
from bench.scenarios.links.utilisation import OVERHEAD, FixedQuantum
from emulation.lines.profiles import profile as named
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from policies.api import Policy
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from transport.link.quantum import PROTECTED_FRAMES
from transport.tcp.tls import RECORD_OVERHEAD
from wire.messages import Head, Levels, Packed, Skeleton, decode
from wire.packing import unpacked

LINK: Final = "384k"
SIZES: Final = (64_000, 256_000, 773_000)
"""Bytes of synthetic pages."""
DEMO: Final = Path(__file__).parents[3] / "demo" / "site"
PAPER_HEADERS: Final = 4.45
"""Percent that headers added, at 256 bytes a quantum."""
PAPER: Final = (4.6, 4.8)
"""Percent that all of it added: headers, skeleton, control."""
_TEXT: Final = 0.15
"""Share of a synthetic page that is HTML."""
_DOWN: Final = ("frames", "skeleton", "heads", "control", "tls")
_UP: Final = ("messages_up", "reports_up")


def pages(*, scale: float = 1.0) -> dict[str, SyntheticPage]:
    """The demo's pages, and synthetic ones, `scale` times as large."""
    demo = ("article", "news")[: max(1, round(2 * scale))]
    found = {name: page_of(DEMO / name, f"http://{name}.test/") for name in demo}
    for size in SIZES:
        large = int(size * scale)
        text = int(large * _TEXT)
        url = f"http://page-{size}.test/"
        found[f"{size // 1000} KB"] = page(url, text=text, large=large - text, seed=size)
    return found


async def _load(one: SyntheticPage, made: Prepared, policies: Sequence[Policy]) -> dict[str, int]:
    link = named(LINK)
    model = LinkModel(rate_up=link.rate_up, rate_down=link.rate_down, delay=link.delay)
    async with memory_pair(model, Services(Shelf([one]), made), policies) as pair:
        seen, said = len(pair.tap.arrivals), pair.tap.said
        received, sent = pair.tap.received, pair.tap.sent
        heard = len(pair.tap.heard)
        await pair.complete(await pair.load(one.url))
        received, sent = pair.tap.received - received, pair.tap.sent - sent
        bytes_of = _by_kind(pair.tap, seen, heard)
        said_now = pair.tap.said - said
    inside = sum(bytes_of.values())
    return {
        **bytes_of,
        "frames": received - inside,
        "tls": -(-(len(pair.tap.arrivals) - seen) // PROTECTED_FRAMES) * RECORD_OVERHEAD,
        "messages_up": said_now,
        "reports_up": sent - said_now,
    }


def _by_kind(tap: Tap, seen: int, heard: int) -> dict[str, int]:
    """Bytes inside the frames that came down, from those on that are numbered so."""
    bytes_of = Counter(payload=0, skeleton=0, heads=0, control=0)
    for arrival in tap.arrivals[seen:]:
        if arrival.component != CONTROL:
            bytes_of["payload"] += arrival.size
    for message in tap.heard[heard:]:
        bytes_of[_kind(message)] += len(message)
    return dict(bytes_of)


def _kind(encoded: bytes) -> str:
    message = decode(encoded)
    if isinstance(message, Packed):  # its bytes count as they crossed the link
        message = unpacked(message)
    if isinstance(message, Skeleton):
        return "skeleton"
    return "heads" if isinstance(message, Head | Levels) else "control"


def run(*, scale: float = 1.0) -> dict[str, Any]:
    """Every page with every quantum."""
    known = pages(scale=scale)
    made = prepared(list(known.values()))
    runs, checks = [], dict[str, Check]()
    columns = [*_DOWN, *_UP]
    print(f"{'quantum':<9}{'page':<9}{'payload':>9}" + "".join(f"{one:>13}" for one in columns))
    for quantum in (*OVERHEAD, 0):
        policies: list[Policy] = [Default(), *([FixedQuantum(quantum)] if quantum else [])]
        name = str(quantum or "fitted")
        shares = []
        for page_name, one in known.items():
            found = run_virtually(_load(one, made, policies))
            percent = {key: round(100 * found[key] / found["payload"], 2) for key in columns}
            runs.append({"quantum": name, "page": page_name, "bytes": found, "percent": percent})
            shares.append(percent)
            cells = "".join(f"{percent[key]:>11.2f} %" for key in columns)
            print(f"{name:<9}{page_name:<9}{found['payload']:>9}{cells}")
        frames = round(statistics.mean(share["frames"] for share in shares), 2)
        total = round(sum(statistics.mean(s[key] for s in shares) for key in _DOWN[:-1]), 2)
        most = OVERHEAD.get(quantum, max(OVERHEAD.values()))
        checks[f"quantum {name}: frames add"] = Check(
            frames, "% of the payload", f"<= {most:g}", frames <= most
        )
        if quantum == min(OVERHEAD):
            print(_compared(frames, total))
    return {"runs": runs, "checks": checks}


def _compared(frames: float, total: float) -> str:
    paper = statistics.mean(PAPER)
    return "\n".join(
        f"{what:<40}paper {theirs:>5.2f} %  ours {ours:>5.2f} %  ratio {ours / theirs:.2f}"
        for what, theirs, ours in (
            ("headers of frames at 256 bytes, mean", PAPER_HEADERS, frames),
            ("with skeleton, heads and control", paper, total),
        )
    )

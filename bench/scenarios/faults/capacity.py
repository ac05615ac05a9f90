"""Measures what the pair costs its machines: processor time, memory and wake-ups, by part.

    bulk      a gigabyte, over TCP and over UDP
    download  how much of a fast link one gets, of what it gets directly
    pages     a page on a slow and on a fast link; the same page for another device
    stores    what it costs to keep answers for others, in memory and in a Valkey
    processes how many more pages two processes serve than one
    evenly    a hundred devices that begin a page each within a minute
    at once   the same, all in one moment
    idle      fifty devices that do nothing

Processor time is told beside that of a fixed piece of work (bench/pairs/processor_time.py), so that
figures of two machines, or of two hours, can be compared. Knows the parts, not how they work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.capacity import bulk, crowd, download, idle, pages, processes
from bench.pairs.valkey_server import SERVER
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import profile
from emulation.worlds.cables import NoBackend

SLOW: Final = "384k"
FAST: Final = "20M"
BROAD: Final = "100M"
PARTS: Final = (
    *("bulk", "download", "pages", "stores", "processes"),
    *("evenly", "at once", "idle"),
)
MINUTE: Final = 60.0
GOALS: Final[Mapping[str, tuple[str, float]]] = {
    "remote_s_gb tcp": ("s/GB", 4.8),
    "remote_s_gb udp": ("s/GB", 25.0),
    "remote 384k": ("s", 0.25),
    "remote 20M": ("s", 0.15),
    "second / first 384k": ("", 0.3),
    "with a store in memory / without": ("", 1.1),
    "with a store in Valkey / without": ("", 1.1),
    "text_p90 / alone evenly": ("", 2.0),
    "text_p90 / alone at once": ("", 6.0),
    "local_wake_ups_s": ("/s", 0.2),
    "remote_wake_ups_s": ("/s", 1.0),
    "kb_a_device": ("kB", 150.0),
}
"""At most. Processor seconds are those of a core that does the fixed work as REFERENCE has it."""
LEAST: Final = 0.9
"""Of what a download gets directly."""
MORE: Final = 1.5
"""Pages a second of two processes, of one's."""
REFERENCE: Final = 0.124
"""Seconds a gigabyte of the fixed work takes where the goals were set (two shared cores)."""


async def run(
    *,
    page: Path | None = None,
    devices: int = 100,
    idle_devices: int = 50,
    runs: int = 3,
    size: int = bulk.SIZE,
    parts: Sequence[str] = PARTS,
    links: Sequence[str] = (SLOW, FAST),
) -> dict[str, Any]:
    """Runs the scenario."""
    folder = page or SITE / "news"
    rows: list[dict[str, Any]] = []

    def tell(row: dict[str, Any]) -> None:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
        rows.append(row)

    if "bulk" in parts:
        for transport in ("tcp", "atp-udp"):
            tell(await bulk.run(transport, size=size))
    if "download" in parts:
        try:
            tell(await download.run(profile(BROAD), runs=runs))
        except NoBackend as error:
            print(f"download: left out: {error}")
    if "pages" in parts:
        for name in links:
            tell(await pages.run(folder, profile(name), runs=runs))
    if "stores" in parts and SERVER is not None:
        tell(await pages.stores(folder, profile(SLOW), runs=runs))
    if "processes" in parts:
        tell(await processes.run(folder, runs=runs))
    for name, spread in (("evenly", MINUTE), ("at once", 0.0)):
        if name in parts:
            tell(await crowd.run(folder, profile(SLOW), devices=devices, spread=spread, name=name))
    if "idle" in parts:
        tell(await idle.run(devices=idle_devices))
    return {"runs": rows, "checks": judge(rows)}


def judge(rows: Sequence[Mapping[str, Any]]) -> dict[str, Check]:
    """Each figure against its goal."""
    found: dict[str, float] = {}
    checks: dict[str, Check] = {}
    for row in rows:
        match row["part"]:
            case "bulk":
                way = "udp" if "udp" in row["transport"] else "tcp"
                found[f"remote_s_gb {way}"] = (
                    row["remote_s_gb"] * REFERENCE / row["fixed_work_s_gb"]
                )
            case "download":
                for way in ("tcp", "atp-udp"):
                    part = row[f"{way}_of_direct"]
                    checks[f"download over {row['link']}, {way}"] = Check(
                        part, "of direct", f"at least {LEAST:g}", part >= LEAST
                    )
            case "pages":
                cost = row["first_remote"] * REFERENCE / row["fixed_work_s_gb"]
                found[f"remote {row['link']}"] = cost
                if row["link"] == SLOW:
                    found[f"second / first {SLOW}"] = row["second_remote"] / row["first_remote"]
            case "stores":
                for where, name in (("memory", "memory"), ("Valkey", "valkey")):
                    cost = row[f"remote_{name}"] / row["remote_none"]
                    found[f"with a store in {where} / without"] = cost
            case "processes":
                more = row["two_of_one"]
                checks["pages a second of two processes"] = Check(
                    more, "of one's", f"at least {MORE:g}", more >= MORE
                )
            case "idle":
                found |= {name: row[name] for name in GOALS if name in row}
            case name:
                found[f"text_p90 / alone {name}"] = row["text_p90_s"] / row["alone_text_s"]
                checks[f"pages that failed, {name}"] = Check(
                    row["failed"], f"of {row['devices']}", "0", row["failed"] == 0
                )
    for name, value in found.items():
        unit, goal = GOALS[name]
        checks[name] = Check(round(value, 3), unit, f"at most {goal:g}", value <= goal)
    return checks

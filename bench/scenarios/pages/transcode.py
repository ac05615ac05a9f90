"""How fast pictures get their fidelity levels, and how small the coarse one is.

    python -m bench.scenarios.pages.transcode [--workers N] [--repeat N] [--without-jpegtran]
        [PATH ...]
    python -m bench transcode [--page FOLDER]

Without files: those that the tests use, and the demo's. All are asked for at once, as a page would.
Then, one by one, what a sketch shows and weighs beside the low level that it
replaces (bench/pages/lows.py).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.pages.lows import CODED, PLAIN, SKETCH, LowSample, compared, lows
from transcoders.make.makers import MAX_WAITING
from transcoders.make.registry import Picture, Transcoders

ROOT: Final = Path(__file__).parents[3]
PICTURES: Final = (ROOT / "tests" / "data" / "transcoders", ROOT / "demo" / "site")
_TYPES: Final = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
LOW_GOAL: Final = 0.12
"""Share of the bytes, median: 13 photos of 38 KB then paint in 1.3 s at 384 kbit/s."""
SKETCH_GOAL: Final = 0.4
"""Of the bytes of the low levels that sketches replace."""
SKETCH_MS: Final = 100
"""Processor time that a sketch may cost both ends; a quiet machine takes a quarter of it."""


def find(paths: Sequence[Path]) -> list[Path]:
    """The picture files named, or inside the folders named."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [each for each in inside if each.suffix.lower() in _TYPES]
    return found


def run(
    paths: Sequence[Path] = PICTURES,
    *,
    page: Path | None = None,
    workers: int = 2,
    repeat: int = 5,
    jpegtran: str | None = shutil.which("jpegtran"),
) -> dict[str, Any]:
    """Transcode the pictures `repeat` times; throughput and shares as a report.

    `page`: a folder, in place of `paths`.
    """
    paths = paths if page is None else (page,)
    pictures = [(path.name, _TYPES[path.suffix.lower()], path.read_bytes()) for path in find(paths)]
    if not pictures:
        raise ValueError(f"no pictures in {', '.join(map(str, paths))}")
    began, cpu_began = time.perf_counter(), _cpu_seconds()
    results = asyncio.run(_transcode(pictures * repeat, workers=workers, jpegtran=jpegtran))
    seconds, cpu_seconds = time.perf_counter() - began, _cpu_seconds() - cpu_began
    pixels = sum(picture.width * picture.height for picture in results if picture is not None)
    sketches = compared(asyncio.run(_lows(pictures, jpegtran=jpegtran)))
    shares = _shares(pictures, results)
    return {
        "scenario": "transcode",
        "workers": workers,
        "repeat": repeat,
        "jpegtran": jpegtran,
        "images_per_s": len(results) / seconds,
        "cpu_ms_per_megapixel": cpu_seconds * 1e9 / pixels if pixels else None,
        **shares,
        "more": {"sketches": sketches},
        "checks": {**shares["checks"], **_sketch_checks(sketches)},
    }


async def _lows(
    pictures: Sequence[tuple[str, str, bytes]], *, jpegtran: str | None
) -> list[dict[str, LowSample]]:
    found = [await lows(data, kind, jpegtran=jpegtran) for _, kind, data in pictures]
    return [one for one in found if one]


def _sketch_checks(sketches: dict[str, Any]) -> dict[str, Any]:
    """Against the low levels that the same device would get without sketches."""
    if not sketches["sketches"]:
        return {}
    low = sketches["low"]
    plain, before, now = low[PLAIN], low[CODED], low[SKETCH]
    share = now["bytes_sum"] / before["bytes_sum"]
    checks = {
        "sketches' bytes": {
            "value": round(share, 3),
            "unit": f"of those low levels' (median {now['bytes']:.0f}, {before['bytes']:.0f} bytes;"
            f" {now['share']:.3f}, {before['share']:.3f} of the file)",
            "goal": f"<= {SKETCH_GOAL}",
            "ok": share <= SKETCH_GOAL,
        },
    }
    for name, words in (("ssim", "median"), ("ssim_p10", "10th percentile")):
        checks[f"sketches' SSIM, {words}"] = {
            "value": round(now[name], 3),
            "unit": f"(Huffman-coded prefixes {plain[name]:.3f})",
            "goal": f">= {before[name]:.3f}, the low levels' before",
            "ok": now[name] >= before[name],
        }
    took = now["encode_ms"] + now["enlarge_ms"]
    checks["sketches' time"] = {
        "value": round(took, 1),
        "unit": f"ms, median ({now['encode_ms']:.1f} to make, {now['enlarge_ms']:.1f} to enlarge)",
        "goal": f"<= {SKETCH_MS}",
        "ok": took <= SKETCH_MS,
    }
    return checks


def _cpu_seconds() -> float:
    """Processor time of this process and its ended children: steadier than the clock's."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def _transcode(
    pictures: list[tuple[str, str, bytes]], *, workers: int, jpegtran: str | None
) -> list[Picture | None]:
    transcoders = Transcoders(workers=workers, jpegtran=jpegtran)
    room = asyncio.Semaphore(MAX_WAITING)  # no more than may wait, so that none is turned away

    async def one(content_type: str, data: bytes) -> Picture | None:
        async with room:
            return await transcoders.picture(data, content_type)

    try:
        return await asyncio.gather(*(one(kind, data) for _, kind, data in pictures))
    finally:
        await transcoders.close()


def _shares(
    pictures: list[tuple[str, str, bytes]], results: list[Picture | None]
) -> dict[str, Any]:
    """What the levels weigh; `results` repeats the pictures' order."""
    once = list(zip(pictures, results, strict=False))
    made = [(name, len(data), picture) for (name, _, data), picture in once if picture is not None]
    shares = sorted((p.levels[0].end - p.levels[0].start) / size for _, size, p in made)
    growth = sum(len(p.data) for _, _, p in made) / max(1, sum(size for _, size, _ in made))
    median = statistics.median(shares) if shares else None
    return {
        "pictures": len(pictures),
        "left_alone": sum(picture is None for _, picture in once),
        "bytes_out_per_byte_in": growth,
        "low_share": {
            "median": median,
            "p10": _quantile(shares, 0.1),
            "p90": _quantile(shares, 0.9),
        },
        "runs": [
            {
                "picture": name,
                "bytes": size,
                "lossless": picture.lossless,
                "identical": picture.identical,
                "levels": {
                    level.name: (level.end - level.start) / size for level in picture.levels
                },
            }
            for name, size, picture in made
        ],
        "checks": _checks(median, [picture for _, _, picture in made]),
    }


def _checks(median: float | None, made: Sequence[Picture]) -> dict[str, Any]:
    return {
        "low_share_median": {
            "value": median,
            "unit": "of the original's bytes",
            "goal": f"<= {LOW_GOAL}",
            "ok": median is not None and median <= LOW_GOAL,
        },
        "lossless": {
            "value": sum(picture.lossless for picture in made),
            "unit": "pictures whose last level has the origin's pixels",
            "goal": f"= {len(made)}",
            "ok": all(picture.lossless for picture in made),
        },
    }


def _quantile(ordered: list[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report as JSON; 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.scenarios.pages.transcode")
    parser.add_argument("paths", nargs="*", type=Path, default=PICTURES, metavar="PATH")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--without-jpegtran", action="store_true")
    given = parser.parse_args(arguments)
    tool = None if given.without_jpegtran else shutil.which("jpegtran")
    report = run(given.paths, workers=given.workers, repeat=given.repeat, jpegtran=tool)
    print(json.dumps(report, indent=2))
    return 0 if all(check["ok"] for check in report["checks"].values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())

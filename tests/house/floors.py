"""Branch coverage of the pure rooms, each by the unit suites of its own top level.

    python -m tests.house.floors

Runs those suites under coverage, says for each pure room of rooms.toml how much of it they reach,
and fails below FLOOR. What a room's suites reach of it by way of another room's does not count for
less: they run together, in as many processes as there are processors.

Tests marked `long` it leaves out; all others of these suites `pytest --without-floors` does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.house.test_rooms import ROOT, TABLE
from tests.house.test_suites import TESTS, modules_imported

FLOOR: Final = 90.0
"""Percent of lines and branches together."""
PURE: Final = sorted(room for room, said in TABLE.items() if said.get("pure"))
PARTS: Final = 4
"""For each processor: whoever is done with a quick one goes on with the next."""
SLOW: Final = (
    *("chromium", "firefox", "libreoffice", "previews_programs"),
    *(
        "virtual",
        "any_link",
        "gate_silence",
        "test_multipath.py",
        "test_r2cp_engine",
        "test_quantum",
    ),
)
"""In names of suites that start a program, or simulate minutes of a link, which takes twice as long
under coverage: all rooms are above their floors without them."""


def suites() -> Iterator[Path]:
    """The test files that import something of a pure room of their own top level."""
    for file in sorted(TESTS.rglob("test_*.py")):
        top = file.relative_to(TESTS).parts[0]
        if any(word in file.name for word in SLOW):
            continue
        rooms = {name.rpartition(".")[0] for name in modules_imported(file)}
        if any(room.split(".")[0] == top and room in PURE for room in rooms):
            yield file


def reached(files: dict[str, Any], room: str) -> float:
    """Percent of a room's lines and branches, without those of the rooms inside it."""
    folder = Path(*room.split("."))
    summaries = [one["summary"] for name, one in files.items() if Path(name).parent == folder]
    all_of_it = sum(one["num_statements"] + one["num_branches"] for one in summaries)
    covered = sum(one["covered_lines"] + one["covered_branches"] for one in summaries)
    return 100.0 * covered / all_of_it if all_of_it else 100.0


def coverage(*words: str) -> None:
    """Runs a command of coverage. Raises CalledProcessError."""
    subprocess.run([sys.executable, "-m", "coverage", *words], cwd=ROOT, check=True)


def tested(files: list[Path], data: Path) -> bool:
    """Whether these suites pass, under coverage; what they say where they don't."""
    folders = ",".join(sorted({str(Path(*room.split("."))) for room in PURE}))
    command = [sys.executable, "-m", "coverage", "run", f"--data-file={data}", "--branch"]
    command += [f"--source={folders}", "-m", "pytest", "-q", "-m", "not alone and not long", "-p"]
    command += ["no:cacheprovider", *map(str, files)]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    said = done.stdout.rstrip().splitlines()
    print(*(said if done.returncode else said[-1:]), sep="\n", flush=True)
    return not done.returncode


def main() -> int:
    """The exit code: 1 where a room is below its floor, or a test fails."""
    with TemporaryDirectory(prefix="sluice-coverage-") as name:
        data, report = Path(name, "data"), Path(name, "report.json")
        processors = os.cpu_count() or 1
        parts = [Path(name, f"data.{number}") for number in range(PARTS * processors)]
        files = sorted(suites(), key=lambda file: -file.stat().st_size)
        with ThreadPoolExecutor(processors) as pool:
            shares = [files[number :: len(parts)] for number in range(len(parts))]
            if not all(pool.map(tested, shares, parts)):
                return 1
        coverage("combine", "-q", f"--data-file={data}", *map(str, parts))
        coverage("json", "-q", f"--data-file={data}", "-o", str(report), "--fail-under=0")
        measured = json.loads(report.read_text())["files"]
    low = 0
    for room in PURE:
        percent = reached(measured, room)
        low += percent < FLOOR
        print(f"{percent:6.1f} %  {room}{'' if percent >= FLOOR else '   below its floor'}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())

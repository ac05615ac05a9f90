"""The figures in virtual time are the same in every process, whatever its hash seed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIZES = {
    "atp-workloads": "--runs 1 --scale 0.05",
    "atp-timeline": "",
    "deadline": "--quick --runs 1",
    "bandwidth-heard": "--quick --runs 1 --profile lossy",
    "hats-documents": "--quick",
}


def bench(scenario: str, folder: Path, *, hash_seed: int) -> subprocess.Popen[bytes]:
    """Begins a run of the scenario in a process of its own, which writes out.json."""
    folder.mkdir()
    sizes = SIZES.get(scenario, "--scale 0.1").split()
    # What is small need not reach its goals.
    return subprocess.Popen(
        [sys.executable, "-m", "bench", scenario, *sizes, "--json", "out.json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(hash_seed)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "scenario",
    [
        "hats-text-first",
        "hats-low-fidelity-first",
        "hats-focus",
        "data-overhead",
        "recordings",
        "priority",
        "start",
        "atp-workloads",
        "atp-adaptation",
        "atp-timeline",
        "deadline",
        "bandwidth-heard",
        "hats-documents",
    ],
)
def test_two_runs_write_the_same_bytes(scenario: str, tmp_path: Path) -> None:
    folders = {seed: tmp_path / str(seed) for seed in (1, 20_260_101)}
    runs = [bench(scenario, folder, hash_seed=seed) for seed, folder in folders.items()]
    try:
        for run in runs:  # beside each other: the longest are the last of the suite
            run.wait(timeout=600)  # a guard: six seconds of work take a minute beside others
    finally:
        for run in runs:
            run.kill()
            run.wait()
    first, second = ((folder / "out.json").read_bytes() for folder in folders.values())
    assert first == second
    report = json.loads(first)
    assert report["runs"]
    assert report["scenario"] == scenario

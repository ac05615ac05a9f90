"""A wheel that is installed does what a checkout does, from any folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETTINGS = PROJECT["tool"]["setuptools"]
PACKAGES = [name.rstrip("*") for name in SETTINGS["packages"]["find"]["include"]]
SOURCES = (*PACKAGES, *(f"{name}.py" for name in SETTINGS["py-modules"]))


def run(*command: str | Path, cwd: Path, path: str = "") -> str:
    """What it says. `path`: where programs are to be found, nowhere else."""
    environment = {"PATH": path, "HOME": str(cwd), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of a copy: to build leaves things beside the sources."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in (*SOURCES, "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
        "--no-build-isolation", "--wheel-dir", built, source, cwd=source,
    )  # fmt: skip
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel, and the libraries that this one has."""
    folder = tmp_path_factory.mktemp("venv")
    nowhere = tmp_path_factory.mktemp("nowhere")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=nowhere)
    programs = folder / "bin"
    run(
        sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet",
        "--no-deps", "--no-index", "--disable-pip-version-check", wheel, cwd=nowhere,
    )  # fmt: skip
    where = sysconfig.get_path("purelib", vars={"base": str(folder)})
    # A path in such a file comes behind the environment's own, and an editable install in it is
    # not followed: Python's libraries are there, and this checkout is not.
    Path(where, "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def test_a_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    there = set(zipfile.ZipFile(wheel).namelist())
    here = {
        str(path.relative_to(ROOT))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(here) > 300
    assert here - there == set()
    assert not any(name.startswith(("tests/", "docs/")) for name in there)


def test_the_programs_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    said = run(
        installed / "python", "-c", "import sluice, bench, demo; print(sluice.__file__)",
        cwd=tmp_path,
    )  # fmt: skip
    assert Path(said.strip()).is_relative_to(installed.parent)
    assert "demo" in run(installed / "sluice", "--help", cwd=tmp_path)
    assert "page-load" in run(installed / "python", "-m", "bench", "list", cwd=tmp_path)


def test_a_scenario_that_reads_the_tests_data_says_that_it_needs_a_checkout(
    installed: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [installed / "python", "-m", "bench", "transcode", "--quick"],
        cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0
    assert "run it in a checkout" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_demo_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """Without a browser on the path, as that is quicker; the pages are the wheel's all the same."""
    said = run(installed / "sluice", "demo", "--profile", "fast", "--no-stay", cwd=tmp_path)
    assert "news: pictures painted after" in said
    assert "article: pictures painted after" in said
    report = json.loads((tmp_path / "demo-report" / "report.json").read_text())
    assert len(report["runs"]) == 4
    assert "</html>" in (tmp_path / "demo-report" / "index.html").read_text()

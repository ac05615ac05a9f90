"""The container image is made of what the package is made of, and its guide says what it does."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from bench.scenarios.machine import image
from configuration import RemoteSettings

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "packaging" / "Containerfile").read_text()
GUIDE = (ROOT / "docs" / "container.md").read_text()


def settings() -> dict[str, str]:
    """The recipe's variables."""
    return dict(re.findall(r"\b([A-Z_]+)=(\S+)", RECIPE.split("\nENV PATH")[1].split("USER")[0]))


def test_the_image_takes_the_package_and_nothing_of_a_checkouts_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] != "#"]
    packages = {name.rstrip("*") for name in project["packages"]["find"]["include"]}
    others = {"LICENSE", "README.md", "pyproject.toml", "requirements.lock", "*.py"}
    assert lines[0] == "*"
    assert lines[-1] == "**/__pycache__"
    assert {line.removeprefix("!") for line in lines[1:-1]} == packages | others


def test_it_runs_as_the_user_that_the_guide_names_and_serves_at_the_ports() -> None:
    assert f"USER {image.UID}:{image.UID}\n" in RECIPE
    assert f"chown {image.UID}:{image.UID}" in GUIDE
    found = settings()
    port = found["SLUICE_REMOTE_LISTEN"].rpartition(":")[2]
    assert f"EXPOSE {port}/tcp {port}/udp\n" in RECIPE
    assert f"--publish {port}:{port}/tcp --publish {port}:{port}/udp" in GUIDE
    assert f"http://{found['SLUICE_REMOTE_STATUS']}/health" in RECIPE
    known = {f"SLUICE_REMOTE_{name}".upper() for name in RemoteSettings.__struct_fields__}
    named = set(re.findall(r"SLUICE_\w+", RECIPE + GUIDE))
    assert named <= known
    assert f"VOLUME {found['XDG_DATA_HOME']}/sluice\n" in RECIPE


def test_packages_are_checked_by_their_digests_and_no_place_is_named() -> None:
    assert "--require-hashes -r requirements.lock" in RECIPE
    assert "://" not in RECIPE.replace("http://127.0.0.1", "")
    assert "ARG BASE=debian:12-slim\n" in RECIPE
    assert RECIPE.count("FROM ${BASE}") == 2


def test_make_image_builds_on_the_base_that_is_named() -> None:
    make = shutil.which("make")
    assert make
    words = (
        make,
        "-n",
        "--no-print-directory",
        "image",
        "BASE=localhost/debian:12",
        "BUILDAH=buildah --root /x",
    )
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    said = " ".join(done.stdout.replace("\\\n", " ").split())
    assert said.startswith("buildah --root /x build --format docker")
    assert "--build-arg BASE=localhost/debian:12" in said
    assert said.endswith("--file packaging/Containerfile --tag localhost/sluice-remote .")

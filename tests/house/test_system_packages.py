"""`make demo` and `make test` install all they need beside Python's packages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "system-packages"


def wanted(folder: Path, purpose: str) -> set[str]:
    """With none of the programs on the path, as far as that can be had here."""
    for name in ("id", "ls"):  # the shell's own tools
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    shell = shutil.which("sh")
    assert shell
    done = subprocess.run(
        [shell, SCRIPT, purpose, "--dry-run"],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return set(done.stdout.split())


def test_a_demo_needs_a_browser_and_neither_an_office_nor_servers(tmp_path: Path) -> None:
    packages = wanted(tmp_path, "demo")
    assert "chromium" in packages
    assert packages <= {"chromium", "libjpeg-turbo-progs", "fonts-dejavu-core"}


def test_tests_need_what_the_demo_needs_and_more(tmp_path: Path) -> None:
    packages = wanted(tmp_path, "test")
    assert {"chromium", "firefox-esr", "libreoffice-impress", "xvfb", "curl"} <= packages


def test_a_fresh_machine_needs_what_makes_boots_and_contains_one(tmp_path: Path) -> None:
    packages = wanted(tmp_path, "machine")
    assert {"buildah", "podman", "crun", "user-mode-linux"} <= packages
    assert not packages & {"chromium", "firefox-esr"}


def test_each_target_installs_for_its_own_purpose() -> None:
    makefile = (ROOT / "Makefile").read_text()
    needs = dict(re.findall(r"^(demo|test): (.*?)  ##", makefile, re.M))
    assert needs == {"demo": "$(RUNS) system-demo", "test": "$(STAMP) system"}
    assert "[test]" not in makefile.split("$(RUNS): ")[1].split("\n\n")[0]
    assert "system-packages demo" in makefile.split("system-demo:")[1].split("\n\n")[0]


def test_another_purpose_is_refused() -> None:
    done = subprocess.run(["sh", SCRIPT, "domo"], capture_output=True, check=False, timeout=30)
    assert done.returncode == 2

"""The real program: commands that end by themselves, and proxies that run beside a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (str(ROOT / "sluice.py"),)
REFUSED = 2
"""Exit code of a command that can't start as it is configured."""
STRANGER = 65534
"""A user id that is neither root's nor a test's (nobody's on most systems)."""
PATIENCE = 60.0
"""Seconds until a test gives up; commands take less than one."""


@dataclass(frozen=True)
class Home:
    """A user's home folder, and the folder in which commands are started."""

    folder: Path
    here: Path
    more: Mapping[str, str] = field(default_factory=dict)
    """Further variables of the environment."""

    @property
    def environment(self) -> dict[str, str]:
        others = ("SLUICE_", "XDG_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        return {**kept, "HOME": str(self.folder), **self.more}

    def write_settings(self, text: str) -> Path:
        """The user's own settings file."""
        path = self.folder / ".config" / "sluice" / "sluice.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def home(tmp_path: Path, **more: str) -> Home:
    """An empty one."""
    folder, here = tmp_path / "home", tmp_path / "here"
    folder.mkdir(exist_ok=True)
    here.mkdir(exist_ok=True)
    return Home(folder, here, more)


@dataclass(frozen=True)
class Said:
    """What a command that has ended left."""

    code: int
    out: str
    errors: str

    def refused(self, *parts: str) -> bool:
        """Whether it refused in one sentence, which has all these parts."""
        lines = [line for line in self.errors.splitlines() if "settings from" not in line]
        assert self.code == REFUSED, (self.code, self.errors)
        assert "Traceback" not in self.errors, self.errors
        assert len(lines) == 1, self.errors
        assert all(part in lines[0] for part in parts), lines[0]
        return True


def sluice(*arguments: str, home: Home, stdin: str = "") -> Said:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, *PROGRAM, *arguments], cwd=home.here, input=stdin,
        env=home.environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return Said(done.returncode, done.stdout, done.stderr)


@dataclass
class Running:
    """A proxy that listens."""

    process: subprocess.Popen[str]
    host: str
    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def errors(self) -> str:
        """What it has said so far, for people."""
        return self.log.read_text()


@contextmanager
def running(*arguments: str, home: Home, program: Sequence[str] = PROGRAM) -> Iterator[Running]:
    """Start a proxy, wait until it listens, end it. `program`: what Python runs."""
    log = home.folder / f"{arguments[0]}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, *program, *arguments], cwd=home.here,
            env=home.environment, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), log.read_text()
        host, _, port = line.removeprefix("listening on ").strip().rpartition(":")
        yield Running(process, host, int(port), log)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)

"""A machine that boots: this one's files under a systemd of its own, in namespaces.

What it writes goes to memory and is gone with it; its network is its own loopback. Needs root, and
a kernel that lets it make namespaces and overlays.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
THERE = Path("/opt/sluice")
"""Where it has the sources, and with them their own Python if they have one."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INIT = "/lib/systemd/systemd"
PATIENCE = 120.0
"""Seconds for a boot, or a command."""
_BOOT = """
cd "$1" || exit 3
first=no
[ -d root ] || { first=yes; mkdir root up work; }
mount -t overlay machine -o lowerdir=/,upperdir="$1/up",workdir="$1/work" root || exit 3
shift
mkdir -p root/opt/sluice && mount --bind "$1" root/opt/sluice || exit 3
mount -o remount,ro,bind root/opt/sluice || exit 3  # whatever a boot tidies up
cd root
mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev || exit 3
mount -t tmpfs run run || exit 3
mount -t tmpfs shm dev/shm || exit 3  # RemoveIPC empties it, and this one is in ours
mount --bind proc/sys proc/sys && mount -o remount,ro,bind proc/sys || exit 3  # every machine's
if [ $first = yes ]; then  # none of this machine's own services, and nothing of Sluice's
  rm -rf etc/systemd/system/*.wants etc/fstab var/lib/sluice etc/sluice etc/sysusers.d/sluice.conf
  rm -rf root/.local/share/sluice root/.config/sluice root/.pki etc/ssl/certs/sluice.pem
  mkdir -p etc/tmpfiles.d && ln -s /dev/null etc/tmpfiles.d/tmp.conf  # /tmp stays as it is
  chmod o+x root
fi
export container=lxc
exec chroot . /lib/systemd/systemd --system --unit=multi-user.target --log-target=null
"""


class NoMachine(Exception):
    """It does not boot here; the text says why."""


@dataclass
class Said:
    """What a command on it left."""

    code: int
    out: str
    errors: str


def _groups() -> set[Path]:
    """Control groups below those of this process, in which a machine's are made."""
    found = set[Path]()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, place = line.split(":", 2)
        for root in (f"/sys/fs/cgroup/{kinds.removeprefix('name=')}", "/sys/fs/cgroup/unified"):
            here = Path(root + place)
            found |= {Path(one) for one, _, _ in os.walk(here)} if here.is_dir() else set()
    return found


class Machine:
    """It runs, until `stop`, and again after another `boot`, with the files that it had."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.init = 0
        """The number of its first process, here."""

    def boot(self) -> None:
        """Raises NoMachine."""
        self._process = subprocess.Popen(
            ["unshare", "--fork", "--kill-child=KILL", "--pid", "--mount", "--uts", "--ipc",
             "--net", "--cgroup", "sh", "-c", _BOOT, "boot", str(self._folder), str(ROOT)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._process.poll() is not None:
                words = self._process.communicate()[1]
                raise NoMachine(words.decode(errors="replace").strip())
            self.init = self._first_process()
            if self.init and self.run("systemctl", "is-system-running").out.strip() in (
                *("running", "degraded"),
            ):
                return
            time.sleep(0.2)
        self.stop()
        raise NoMachine("systemd did not come up")

    def stop(self) -> None:
        """As if its plug were pulled."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            while Path(f"/proc/{self.init}").exists():  # its files are its own until it is gone
                time.sleep(0.05)

    def _first_process(self) -> int:
        assert self._process is not None
        number = self._process.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        if not children:
            return 0
        with contextlib.suppress(OSError):
            if Path(f"/proc/{children[0]}/exe").readlink().name == "systemd":
                return int(children[0])
        return 0

    def run(self, *command: str) -> Said:
        """A command of root's on it, to its end."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.init), "-a", "-r", "-w", "env", "-i", f"PATH={PATH}",
             "HOME=/root", "LANG=C.UTF-8", *command],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def sluice(self, *arguments: str) -> Said:
        """This program on it."""
        return self.run(*SLUICE, *arguments)

    def property(self, name: str, unit: str = "sluice-remote.service") -> str:
        """What systemd knows of a unit."""
        return self.run("systemctl", "show", unit, f"--property={name}", "--value").out.strip()

    def until(self, name: str, wanted: str, unit: str = "sluice-remote.service") -> None:
        """Wait until systemd says so of a unit."""
        end = time.monotonic() + PATIENCE
        while self.property(name, unit) != wanted:
            assert time.monotonic() < end, self.run("systemctl", "status", unit).out
            time.sleep(0.2)


def _program() -> tuple[str, str]:
    """Python, and this program, as they are there."""
    python = Path(sys.executable)
    if python.is_relative_to(ROOT):
        python = THERE / python.relative_to(ROOT)
    return str(python), str(THERE / "sluice.py")


SLUICE = _program()


@contextmanager
def machine() -> Iterator[Machine]:
    """One that has just booted for the first time. Raises NoMachine."""
    if os.geteuid() != 0 or not Path(INIT).exists() or shutil.which("unshare") is None:
        raise NoMachine("takes root, systemd and unshare")
    with tempfile.TemporaryDirectory(prefix="sluice-machine-", dir="/dev/shm") as folder:
        one, before = Machine(Path(folder)), _groups()
        try:
            one.boot()
            yield one
        finally:
            one.stop()
            for group in sorted(_groups() - before, reverse=True):  # the innermost first
                with contextlib.suppress(OSError):
                    group.rmdir()

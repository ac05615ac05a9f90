"""Boots systemd in namespaces of its own, on a root that the caller prepares.

The machine has a process tree, mounts, control groups and a network (its loopback) of its own, and
shares the kernel. What would reach every machine on that kernel is kept from it: /proc/sys can't be
written, /dev and /dev/shm are its own (systemd's RemoveIPC empties the latter). Needs root, and a
kernel that lets it make namespaces. Must not know: what runs there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INIT: Final = "/lib/systemd/systemd"
PATIENCE: Final = 120.0
"""Seconds for a boot, or a command."""
PLAIN: Final = "mount --bind root root || exit 3"
"""Prepares a machine whose folder holds all of its files in `root/`."""
_NODES: Final = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty"
_BOOT: Final = """
cd "$1" || exit 3
{prepare}
cd root || exit 3
mount -t proc proc proc && mount --rbind /sys sys || exit 3
mount -t tmpfs -o mode=755 dev dev && cp -a {nodes} dev/ || exit 3
mkdir dev/pts dev/shm && ln -s pts/ptmx dev/ptmx && ln -s /proc/self/fd dev/fd || exit 3
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 pts dev/pts || exit 3
mount -t tmpfs shm dev/shm && mount -t tmpfs run run || exit 3
mount --bind proc/sys proc/sys && mount -o remount,ro,bind proc/sys || exit 3
export container=lxc
exec chroot . {init} --system --unit=multi-user.target --log-target=null
"""

Network = Literal["own", "outer"]
"""In which network a command runs: the machine's, or that of whoever boots it."""


class NoBoot(Exception):
    """It does not boot here; the text says why."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command on the machine left."""

    code: int
    out: str
    errors: str

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.out}{self.errors}".rstrip()


class BootedMachine:
    """Runs from `boot` until `stop`, and again after another `boot`, with the files that it had."""

    def __init__(self, folder: Path, *, prepare: str = PLAIN) -> None:
        """`prepare`: lines of shell that run in `folder` before each boot, in the machine's mount
        namespace, and leave its files as a mount at `root`."""
        self.root = folder / "root"
        self._folder = folder
        self._script = _BOOT.format(prepare=prepare, nodes=_NODES, init=INIT)
        self._process: subprocess.Popen[bytes] | None = None
        self.init = 0
        """The number of its first process, outside."""

    def boot(self) -> None:
        """Return once all is started that starts by itself. Raises NoBoot."""
        self._process = subprocess.Popen(
            ["unshare", "--fork", "--kill-child=KILL", "--pid", "--mount", "--uts", "--ipc",
             "--net", "--cgroup", "sh", "-c", self._script, "boot", str(self._folder)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._process.poll() is not None:
                words = self._process.communicate()[1]
                self._process = None
                raise NoBoot(words.decode(errors="replace").strip())
            self.init = self._first_process()
            if self.init and self.run("systemctl", "is-system-running").out.strip() in (
                *("running", "degraded"),
            ):
                return
            time.sleep(0.2)
        self.stop()
        raise NoBoot("systemd did not come up")

    def stop(self) -> None:
        """End it as if its plug were pulled."""
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

    def run(
        self,
        *command: str,
        given: str = "",
        network: Network = "own",
        environment: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> CommandResult:
        """Run a command of root's on it, to its end. `given`: its standard input.

        `environment`: besides PATH, HOME and LANG. Raises subprocess.TimeoutExpired.
        """
        spaces = ("-a",) if network == "own" else ("-m", "-u", "-i", "-p", "-C")
        inside = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", **(environment or {})}
        done = subprocess.run(
            ["nsenter", "-t", str(self.init), *spaces, "-r", "-w", "env", "-i",
             *(f"{name}={value}" for name, value in inside.items()), *command],
            input=given, capture_output=True, text=True, timeout=patience, check=False,
        )  # fmt: skip
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def property(self, name: str, unit: str) -> str:
        """What systemd knows of a unit."""
        return self.run("systemctl", "show", unit, f"--property={name}", "--value").out.strip()

    def until(self, name: str, wanted: str, unit: str) -> None:
        """Wait until systemd says so of a unit. Raises TimeoutError with the unit's state."""
        end = time.monotonic() + PATIENCE
        while self.property(name, unit) != wanted:
            if time.monotonic() > end:
                raise TimeoutError(self.run("systemctl", "status", unit).out)
            time.sleep(0.2)


def missing() -> str:
    """Say why no machine can boot here; empty: nothing is known against it."""
    if os.geteuid() != 0:
        return "a machine of its own takes root"
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return "a machine of its own takes unshare and nsenter (util-linux)"
    return ""


@contextmanager
def booted(folder: Path, *, prepare: str = PLAIN) -> Iterator[BootedMachine]:
    """Boot a machine; end it, and take away its control groups, afterwards. Raises NoBoot."""
    if why := missing():
        raise NoBoot(why)
    machine, before = BootedMachine(folder, prepare=prepare), _groups()
    try:
        machine.boot()
        yield machine
    finally:
        machine.stop()
        for group in sorted(_groups() - before, reverse=True):  # the innermost first
            with contextlib.suppress(OSError):
                group.rmdir()


def _groups() -> set[Path]:
    """Control groups below those of this process, in which a machine's are made."""
    found = set[Path]()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, place = line.split(":", 2)
        for root in (f"/sys/fs/cgroup/{kinds.removeprefix('name=')}", "/sys/fs/cgroup/unified"):
            here = Path(root + place)
            found |= {Path(one) for one, _, _ in os.walk(here)} if here.is_dir() else set()
    return found

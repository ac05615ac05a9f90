"""Builds the remote's container image and runs it, without a daemon and without a registry.

The base is a bare Debian whose files the caller has; all storage is in a folder that goes at the
end. `make image` builds it with buildah, podman runs it: by docs/container.md's lines, and besides
with no capability, on a file system that can't be written, in a network of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from bench.scenarios.machine.journal import Journal, WalkStopped
from emulation.machines.booted import CommandResult
from emulation.worlds import netns

ROOT: Final = Path(__file__).resolve().parents[3]
BASE: Final = "localhost/debian:12"
IMAGE: Final = "localhost/sluice-remote"
TOOLS: Final = ("buildah", "podman", "crun", "ip")
ADDRESS: Final = "127.0.0.1:8119"
ORIGIN: Final = "http://127.0.0.1:8000"
VISITOR: Final = Path(__file__).with_name("visitor.py")
UID: Final = 8119
"""Who it runs as (packaging/Containerfile)."""
PATIENCE: Final = 60.0
"""Seconds until it serves, or a link is up."""
BUILD: Final = 1800.0
END_WITHIN: Final = 5.0
"""Seconds from the signal to the end."""
NARROW: Final = ("--read-only", "--read-only-tmpfs=false", "--cap-drop=all")
LIMITS: Final = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
"""Within what any root may set; podman's own want the right to raise them."""
_KEEPER: Final = """
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
  umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
fi
mkdir -p {elsewhere}
for folder in /dev/shm {elsewhere}; do mount -t tmpfs tmpfs $folder; done
echo; exec cat
"""
ELSEWHERE: Final = ("/var/lib/containers", "/run/crun")
"""Where podman and crun write whatever they are told."""
NO_PRIVILEGES: Final = "--security-opt=no-new-privileges"


def missing() -> str:
    """Say why no image can be built or run here; empty: nothing is known against it."""
    lacking = [name for name in TOOLS if shutil.which(name) is None]
    if lacking:
        return f"{', '.join(lacking)} (as root: apt-get install buildah podman crun iproute2)"
    return ""


class Containers:
    """Runs buildah and podman with storage, and a mount namespace, of their own.

    What they mount is gone with the namespace. It has control groups of version 2 alone: crun takes
    no others, and this machine may have both.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._keeper = subprocess.Popen(
            ["unshare", "--mount", "--cgroup", "sh", "-c",
             _KEEPER.format(elsewhere=" ".join(ELSEWHERE))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._keeper.stdout is not None
        self._keeper.stdout.readline()  # all is mounted now
        self._places = ("--root", str(folder / "storage"), "--runroot", str(folder / "run"))
        self._driver = "overlay" if self._layers() else "vfs"

    def _layers(self) -> bool:
        """Whether this file system can be the lower one of others; else each image is copied."""
        probe = self.folder / "probe"
        names = [probe / name for name in ("lower", "upper", "work", "merged")]
        for name in names:
            name.mkdir(parents=True)
        lower, upper, work, merged = map(str, names)
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        return self.inside("mount", "-t", "overlay", "-o", options, "probe", merged).code == 0

    def inside(self, *command: str, patience: float = BUILD) -> CommandResult:
        """Run a command in the mount namespace."""
        enter = ("nsenter", "-t", str(self._keeper.pid), "-m", "-C", "-w")
        return run(*enter, *command, patience=patience)

    @property
    def buildah(self) -> str:
        """The words that `make image` begins its command with."""
        return " ".join(("buildah", *self._places, "--storage-driver", self._driver))

    def build(self, *words: str) -> CommandResult:
        return self.inside(*self.buildah.split(), *words)

    def podman(self, *words: str, patience: float = PATIENCE) -> CommandResult:
        return self.inside(
            *("podman", *self._places, "--storage-driver", self._driver),
            *("--cgroup-manager", "cgroupfs", "--events-backend", "file"),
            *("--runtime", "crun", "--tmpdir", str(self.folder / "tmp"), *words),
            patience=patience,
        )

    def end(self) -> None:
        """End all of it; the folder's files stay."""
        self.podman("rm", "--all", "--force", "--time=0")
        self._keeper.kill()
        self._keeper.communicate()
        for name in ELSEWHERE:
            with suppress(OSError):
                Path(name).rmdir()  # something is in it, if somebody else has containers


def run(*command: str, patience: float = BUILD, given: str = "") -> CommandResult:
    """Run a command of this machine's to its end."""
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=patience, check=False
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def check(base: Path, site: Path, folder: Path, journal: Journal) -> None:
    """All of it. `base`: a Debian's files; `site`: what the origin serves; `folder`: for storage.

    Raises WalkStopped.
    """
    folder.mkdir()
    with _network() as network:
        containers = Containers(folder)
        try:
            _build(containers, base, journal)
            _Run(containers, network, site, journal).check()
        finally:
            containers.end()


def _build(containers: Containers, base: Path, journal: Journal) -> None:
    with journal.step("a base image of the bare Debian"):
        made = containers.build("from", "--name=base", "scratch")
        mounted = containers.build("mount", "base")
        journal.require("buildah has a container", mounted.code == 0, said=f"{made}\n{mounted}")
        containers.inside("cp", "-a", f"{base}/.", mounted.out.strip())
        containers.build("umount", "base")
        done = containers.build("commit", "--rm", "base", BASE)
        journal.require("the bare Debian is an image", done.code == 0, said=done)
    with journal.step("make image"):
        done = containers.inside(
            *("make", "-C", str(ROOT), "image", f"BUILDAH={containers.buildah}"),
            *(f"BASE={BASE}", f"IMAGE={IMAGE}"),
        )
        journal.require("make image", done.code == 0, said=done)
    sizes = [_size(containers, name) for name in (IMAGE, BASE)]
    journal.note(f"the image has {(sizes[0] - sizes[1]) / 1e6:.0f} MB beyond its base")


def _size(containers: Containers, name: str) -> int:
    said = containers.podman("image", "inspect", name, "--format", "{{.Size}}")
    return int(said.out) if said.code == 0 else 0


@contextmanager
def _network() -> Iterator[str]:
    name = f"sluice-image-{os.getpid()}"
    netns.ip("netns", "add", name)
    try:
        netns.ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        netns.end(name)


class _Run:
    """One remote in containers that follow each other, with one volume, and a device beside it."""

    def __init__(self, containers: Containers, network: str, site: Path, journal: Journal) -> None:
        self._containers = containers
        self._network = network
        self._site = site
        self._journal = journal

    def check(self) -> None:
        with self._journal.step("podman run, sluice pair, a page"):
            self._start("first")
            self._looks_narrow("first")
            said = self._containers.podman(
                "exec", "first", "sluice", "pair", "laptop", "--address", ADDRESS
            )
            string = said.out.strip()
            self._journal.require(
                "sluice pair in it prints a string", string.startswith("sluice://"), said=said
            )
            with (
                self._beside(
                    "origin",
                    sys.executable,
                    "-m",
                    "http.server",
                    "8000",
                    "--bind",
                    "127.0.0.1",
                    "--directory",
                    str(self._site),
                ),
                self._device(string) as ask,
            ):
                self._loads("a page comes through it", ask)
                self._healthy("first")
                self._ends("first")
                self._start("second")
                self._loads("a page comes through a new container with the same volume", ask)
                self._ends("second")

    def _start(self, name: str) -> None:
        done = self._containers.podman(
            *("run", "--detach", "--name", name, *NARROW, NO_PRIVILEGES, *LIMITS),
            *("--health-interval", "disable"),  # its timer is systemd's: this asks by itself
            *("--network", f"ns:/run/netns/{self._network}", "--cgroups=disabled"),
            *("--volume", "sluice:/var/lib/sluice", "--env", "SLUICE_REMOTE_ALLOW=127.0.0.0/8"),
            IMAGE,
        )  # fmt: skip
        self._journal.require(f"the {name} container starts", done.code == 0, said=done)
        self._until(f"the {name} container's health check is well", lambda: self._health(name))

    def _health(self, name: str) -> CommandResult:
        done = self._containers.podman("healthcheck", "run", name)
        return done if done.code == 0 else CommandResult(done.code, f"{done}", self._words(name))

    def _healthy(self, name: str) -> None:
        jpegtran = self._containers.podman("exec", name, "sh", "-c", "command -v jpegtran")
        self._journal.check("it has jpegtran", jpegtran.code == 0, said=jpegtran)

    def _looks_narrow(self, name: str) -> None:
        seen = self._containers.podman(
            "exec", name, "sh", "-c", "id -u; grep CapEff /proc/1/status; touch /opt/x /tmp/x"
        )
        self._journal.check(
            "it runs as a user of its own", seen.out.startswith(f"{UID}\n"), said=seen
        )
        self._journal.check(
            "it has no capabilities", "CapEff:\t0000000000000000" in seen.out, said=seen
        )
        refused = seen.errors.count("Read-only file system")
        self._journal.check("its file system can't be written", refused == 2, said=seen)

    def _ends(self, name: str) -> None:
        began = time.monotonic()
        self._containers.podman("kill", "--signal=TERM", name)
        code = self._containers.podman("wait", name).out.strip()
        seconds = time.monotonic() - began
        well = code == "0" and seconds < END_WITHIN
        said = f"exit code {code} after {seconds:.1f} s\n{self._words(name)}"
        self._journal.check(
            f"SIGTERM ends the {name} container, exit code 0",
            well,
            goal=f"within {END_WITHIN:g} s",
            said=said,
        )
        self._containers.podman("rm", name)

    def _words(self, name: str) -> str:
        return str(self._containers.podman("logs", name))

    def _loads(self, what: str, ask: Callable[[], CommandResult]) -> None:
        wanted = hashlib.sha256((self._site / "index.html").read_bytes()).hexdigest()

        def loaded() -> CommandResult:
            done = ask()
            well = done.code == 0 and json.loads(done.out)["sha256"] == wanted
            return CommandResult(0 if well else 1, done.out, done.errors)

        self._until(what, loaded)

    @contextmanager
    def _device(self, string: str) -> Iterator[Callable[[], CommandResult]]:
        """This checkout's local proxy; asks it for the page."""
        home = self._containers.folder / "device"
        home.mkdir()
        words = (
            sys.executable,
            str(ROOT / "sluice.py"),
            "local",
            "--pair",
            "-",
            "--state",
            str(home),
        )
        visit = (
            sys.executable,
            str(VISITOR),
            "http://127.0.0.1:8118",
            "fetch",
            f"{ORIGIN}/index.html",
        )
        with self._beside("device", *words, given=string):
            yield lambda: run(*netns.command(self._network, *visit), patience=PATIENCE)

    @contextmanager
    def _beside(self, what: str, *command: str, given: str = "") -> Iterator[None]:
        """Run a program in the network of the container until the end."""
        with (self._containers.folder / f"{what}.log").open("w") as log:
            process = subprocess.Popen(
                netns.command(self._network, *command),
                stdin=subprocess.PIPE, stdout=log, stderr=log, text=True,
                cwd=self._containers.folder,
            )  # fmt: skip
        try:
            assert process.stdin is not None
            process.stdin.write(given + "\n")
            process.stdin.close()
            yield
        finally:
            process.terminate()
            process.wait()

    def _until(self, what: str, ask: Callable[[], CommandResult]) -> None:
        """Ask until the answer's code is 0. Raises WalkStopped where it never is."""
        end = time.monotonic() + PATIENCE
        while (done := ask()).code != 0 and time.monotonic() < end:
            time.sleep(0.5)
        if not self._journal.check(what, done.code == 0, said=done):
            raise WalkStopped(what)

"""Walks a bare Debian 12 through all that people do with Sluice, by README's own lines.

Its parts: `walk`, from the previous release to none (walk.py); `kernel`, the service under a kernel
of its own (on the walk); `image`, the remote's container image, built and run without a daemon. As
root, with debootstrap; what else is missing is said, and that part left out.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.scenarios.machine import debian, image, own_kernel, releases
from bench.scenarios.machine.journal import Journal, WalkStopped
from bench.scenarios.machine.walk import FILE, PAGE, SITE, SOURCE, Walk
from emulation.machines import booted
from emulation.machines.booted import BootedMachine, NoBoot

ROOT: Final = Path(__file__).resolve().parents[3]
PARTS: Final = ("walk", "kernel", "image")
CACHE: Final = Path("/var/cache/sluice-bench")
"""Where the bare machine is kept for the next time, unless --cache names another folder."""
PLACE: Final = Path("/var/tmp")
"""Where the machine's files are while it lives."""
HOSTS: Final = "127.0.0.1 localhost news.test\n"
SIZE: Final = 300_000
"""Bytes of the origin's file."""
PAGE_OF: Final = ROOT / "demo" / "site" / "article"


def run(
    *, cache: Path | None = None, release: str | None = None, parts: Sequence[str] = PARTS
) -> dict[str, Any]:
    """`release`: what --from names; else the newest one of the changelog.

    Raises ValueError for a part that there is not.
    """
    if unknown := set(parts) - set(PARTS):
        raise ValueError(f"no part {min(unknown)!r}; there are {', '.join(PARTS)}")
    if why := debian.missing() or booted.missing():
        print(f"not here: {why}")
        return {"checks": {}, "runs": []}
    journal = Journal()
    commit = releases.commit(ROOT, release or "")
    left: list[str] = []
    with TemporaryDirectory(prefix="sluice-fresh-", dir=PLACE) as name:
        folder = Path(name)
        wanted = prepared(folder, cache or CACHE, journal)
        try:
            if "walk" in parts:
                with booted.booted(folder) as machine:
                    left = _walk(Walk(machine, journal, wanted), machine, journal, commit, parts)
            if "image" in parts:
                _image(folder, cache or CACHE, journal)
        except (OSError, NoBoot, subprocess.TimeoutExpired) as error:
            journal.check("it goes on to its end", False, said=error)
        except WalkStopped:
            journal.note("it ended there: what comes after that was not tried")
    more = {"from": commit, "left": left}
    return {"runs": journal.steps, "checks": journal.checks, "notes": journal.notes, "more": more}


def _walk(
    walk: Walk, machine: BootedMachine, journal: Journal, commit: str, parts: Sequence[str]
) -> list[str]:
    """What is left of Sluice at its end. Raises WalkStopped."""
    walk.bare()
    walk.previous_release(commit)
    walk.upgrade()
    walk.another_device()
    walk.trust()
    walk.reboot()
    if "kernel" in parts:
        if why := own_kernel.missing():
            journal.note(f"left out, a kernel of its own: {why}")
        else:
            machine.stop()
            own_kernel.check(machine.root, journal)
            walk.boot()
    return walk.uninstall()


def _image(folder: Path, cache: Path, journal: Journal) -> None:
    """Raises WalkStopped."""
    if why := image.missing():
        journal.note(f"left out, the image: not here: {why}")
        return
    base = folder / "base"
    debian.make(base, cache=cache)
    debian.lend(base)
    image.check(base, folder / "root" / SITE[1:], folder / "containers", journal)


def prepared(folder: Path, cache: Path, journal: Journal) -> dict[str, str]:
    """Make the machine's files in `folder`; SHA-256 of what its origin has, by URL."""
    root = folder / "root"
    with journal.step("a bare Debian 12"):
        journal.note(debian.make(root, cache=cache))
        debian.lend(root)
    with journal.step("the repository, and an origin's site"):
        (root / "etc/hosts").write_text(HOSTS)
        site = root / SITE[1:]
        shutil.copytree(PAGE_OF, site)
        (site / "file.bin").write_bytes(random.Random(1).randbytes(SIZE))
        subprocess.run(
            ["git", "clone", "--quiet", "--bare", "--no-hardlinks", str(ROOT), root / SOURCE[1:]],
            check=True,
        )
    return {
        url: hashlib.sha256((site / name).read_bytes()).hexdigest()
        for url, name in ((PAGE, "index.html"), (FILE, "file.bin"))
    }

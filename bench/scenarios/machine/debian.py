"""Makes the files of a bare Debian 12 by debootstrap, and lends it this machine's way to packages.

Which mirrors, proxies, certificates and resolvers this machine uses is read when it runs, and is
nowhere in the sources. Must not know: what the machine is for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

SUITE: Final = "bookworm"
PACKAGES: Final = (
    *("make", "git", "ca-certificates", "python3", "python3-venv"),  # what README asks for
    *("systemd", "dbus", "dbus-user-session", "libpam-systemd"),  # that it boots, and takes logins
)
ARCHIVE: Final = "debian-12.tar"
KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
AUTHORITIES: Final = Path("/usr/local/share/ca-certificates")
LENT: Final = ("etc/apt/sources.list", "etc/apt/sources.list.d", "etc/resolv.conf", "etc/pip.conf")
"""Files and folders that the bare machine gets from this one."""
SETTINGS: Final = Path("etc/apt/apt.conf.d")
_FETCHING: Final = ("Acquire",)
"""Of apt's own settings those are lent that say how packages are fetched."""
_URL: Final = re.compile(r"^(?:URIs:|deb(?:\s+\[[^\]]*\])?)\s+(\S+)", re.M)
_VARIABLES: Final = re.compile(r"PIP_(?!FIND_LINKS)[A-Z_]+|(https?|no|all)_proxy", re.I)


class NoDebian(OSError):
    """It can't be made here; the message says why."""


def missing() -> str:
    """Say why none can be made here; empty: nothing is known against it."""
    if os.geteuid() != 0:
        return "the files of a machine of its own take root"
    if shutil.which("debootstrap") is None:
        return "debootstrap is not here (as root: apt-get install debootstrap)"
    return ""


def make(root: Path, *, cache: Path) -> str:
    """Make `root`, from the archive in `cache` if there is one; say how. Raises NoDebian."""
    archive = cache / ARCHIVE
    if archive.exists():
        root.mkdir(parents=True)
        _do("tar", "--numeric-owner", "-xpf", str(archive), "-C", str(root))
        return f"unpacked from {archive}"
    mirror = next(mirrors(Path("/")), None)
    if mirror is None:
        raise NoDebian("this machine's apt has no mirror of Debian that debootstrap could use")
    _do(
        *("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"),
        *((f"--keyring={KEYRING}",) if KEYRING.exists() else ()),
        *(SUITE, str(root), mirror),
    )
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(".new")
    _do("tar", "--numeric-owner", "-cpf", str(unfinished), "-C", str(root), ".")
    unfinished.replace(archive)
    return "made by debootstrap"


def mirrors(root: Path) -> Iterator[str]:
    """Where apt of these files gets Debian's packages, the main mirror first."""
    folder = root / "etc/apt"
    for file in (*folder.glob("sources.list.d/debian.sources"), folder / "sources.list"):
        if file.exists():
            yield from _URL.findall(file.read_text())


def lend(root: Path, *, outer: Path = Path("/")) -> None:
    """Give a bare machine's files what these here know of getting packages. Raises NoDebian."""
    for name in LENT:
        source, target = outer / name, root / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=_disabled)
        elif source.exists():
            target.unlink(missing_ok=True)
            shutil.copyfile(source, target)
    if (root / LENT[1] / "debian.sources").exists():
        (root / LENT[0]).unlink(missing_ok=True)  # debootstrap's own: the same, twice
    for file in sorted((outer / SETTINGS).glob("*")):
        if file.is_file() and any(word in file.read_text() for word in _FETCHING):
            shutil.copyfile(file, root / SETTINGS / file.name)
    authorities = sorted((outer / AUTHORITIES.relative_to("/")).glob("*.crt"))
    if authorities:
        for file in authorities:
            shutil.copy(file, root / AUTHORITIES.relative_to("/"))
        _do("chroot", str(root), "update-ca-certificates")


def _disabled(_: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.endswith((".list", ".sources"))]


def environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Which variables say how packages are fetched here."""
    return {name: value for name, value in environ.items() if _VARIABLES.fullmatch(name)}


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-12:])
        raise NoDebian(f"{' '.join(command)}: exit code {done.returncode}\n{last}")

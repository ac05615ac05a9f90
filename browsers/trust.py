"""`sluice trust`: the device's authority in the stores of the user's browsers and of the system.

Every step says what it did. Adding twice changes nothing; removing takes out this certificate and
no other. The system's store takes root; without it the commands are named instead.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from browsers import nss
from browsers.launch import NICKNAME, is_root
from local_proxy.front.tls.authority import PUBLIC, Authority, AuthorityError
from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.store import LocalStore
from local_proxy.status.offer import fingerprint

SYSTEM: Final = Path("/usr/local/share/ca-certificates")
"""Debian's folder for a machine's own authorities (update-ca-certificates(8))."""
ADMINISTRATION: Final = "/usr/local/sbin:/usr/sbin:/sbin"
"""Folders of root's programs, which Debian's users don't have in their PATH."""
_FIREFOX: Final = (
    *(".mozilla/firefox", ".config/mozilla/firefox", ".librewolf"),
    "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/config/mozilla/firefox",
    "Library/Application Support/Firefox/Profiles",
)
_CHROMIUM: Final = ("snap/chromium/current/.pki/nssdb", ".var/app/*/.pki/nssdb")
"""Stores of packaged Chromiums; that of all others is .pki/nssdb itself."""


@dataclass(frozen=True, slots=True)
class StorePlaces:
    """Where stores are looked for."""

    home: Path
    system: Path = SYSTEM
    update: tuple[str, ...] = ("update-ca-certificates",)
    """Called after the system's folder has changed."""
    root: bool = field(default_factory=is_root)
    """May change the system's folder."""

    def stores(self) -> Iterator[tuple[Path, str]]:
        """NSS stores and whose they are; Chromium's own first, which may not exist yet."""
        yield self.home / ".pki/nssdb", "Chromium"
        for pattern in _CHROMIUM:
            for found in sorted(self.home.glob(pattern)):
                yield found, "Chromium"
        for folder in _FIREFOX:
            for found in sorted(self.home.glob(f"{folder}/*/cert9.db")):
                yield found.parent, f"Firefox profile {found.parent.name}"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done with which certificate."""

    certificate_pem: bytes
    source: Path
    """A file with it."""
    remove: bool = False
    dry_run: bool = False
    say: Callable[[str], None] = print

    @property
    def der(self) -> bytes:
        return ssl.PEM_cert_to_DER_cert(self.certificate_pem.decode("ascii"))


def run(state: Path, *, remove: bool, dry_run: bool) -> int:
    """The exit code: 1 when some store could not be changed."""
    if os.environ.get("SUDO_USER") and is_root():
        print("sluice: run this as yourself, not with sudo: the authority and the browsers are")
        print("yours. It names the commands that need root.")
        return 2
    source = state / PUBLIC
    try:
        if not remove and not dry_run:
            Authority.open(state)  # makes it when there is none
        pem = source.read_bytes()
        print(f"authority of this device, SHA-256 {fingerprint(pem)}")
    except FileNotFoundError:
        print(f"there is no authority in {state}; nothing to do")
        return 0
    except (AuthorityError, OSError, ValueError) as error:
        print(f"sluice: {error}")
        return 1
    task = Task(pem, source, remove=remove, dry_run=dry_run)
    well = carry_out(task, StorePlaces(Path.home()))
    if not dry_run:
        forget(state)
    return well


def forget(state: Path) -> None:
    """Have clients tried again, by a local proxy that runs too: what it learnt of them is void."""
    try:
        LocalStore(state).forget_lessons()
    except Unavailable as error:
        print(f"which clients refused the authority before could not be forgotten: {error}")


def carry_out(task: Task, places: StorePlaces) -> int:
    """All stores; one that fails does not keep the others from it. The exit code."""
    well = _system(task, places)
    try:
        nss.certutil()
    except nss.StoreError as error:
        if task.remove and not any(store.is_dir() for store, _ in places.stores()):
            return 0 if well else 1  # there is no browser's store that could have it
        task.say(f"Chromium, Firefox: not done: {error}")
        return 1
    for store, owner in places.stores():
        try:
            task.say(f"{owner} ({store}): {_store(task, store)}")
        except nss.StoreError as error:
            task.say(f"{owner}: not done: {error}")
            well = False
    if not task.dry_run:
        task.say("Browsers that are open see it after a restart.")
    return 0 if well else 1


def _store(task: Task, store: Path) -> str:
    there = (store / "cert9.db").exists()
    if task.dry_run:
        there = there and task.der in nss.certificates(store, NICKNAME)
        if task.remove:
            return "would be removed" if there else "not there"
        return "there already" if there else "would be added"
    if task.remove:
        removed = there and nss.remove(store, task.der, nickname=NICKNAME)
        return "removed" if removed else "not there"
    nss.create(store)
    return "added" if nss.add(store, task.der, nickname=NICKNAME) else "there already"


def _system(task: Task, places: StorePlaces) -> bool:
    """The system's store, which curl, wget, Python and others read; False: it failed."""
    target = places.system / "sluice.crt"
    program = shutil.which(
        places.update[0], path=f"{os.environ.get('PATH', os.defpath)}:{ADMINISTRATION}"
    )
    if not places.system.is_dir() or program is None:
        task.say("System: there is no update-ca-certificates here; left alone")
        return True
    there = target.read_bytes() if target.exists() else None
    if there == (None if task.remove else task.certificate_pem):
        task.say(f"System ({target}): {'not there' if task.remove else 'there already'}")
        return True
    if there is not None and there != task.certificate_pem:
        task.say(f"System ({target}): holds another certificate; left alone")
        return task.remove
    if task.dry_run:
        task.say(f"System ({target}): would be {'removed' if task.remove else 'added'}")
        return True
    if not places.root:
        change = f"rm {target}" if task.remove else f"install -m 644 {task.source} {target}"
        update = " ".join((*places.update, *(["--fresh"] if task.remove else [])))
        task.say(f"System: needs root: sudo {change} && sudo {update}")
        return True
    return _change_system(task, (program, *places.update[1:]), target)


def _change_system(task: Task, update: tuple[str, ...], target: Path) -> bool:
    try:
        if task.remove:
            target.unlink()
            update = (*update, "--fresh")  # else its links stay, and lead nowhere
        else:
            target.write_bytes(task.certificate_pem)
            target.chmod(0o644)
        done = subprocess.run(update, capture_output=True, check=False)
    except OSError as error:
        task.say(f"System: not done: {error}")
        return False
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        task.say(f"System: {update[0]} failed: {said}")
        return False
    task.say(f"System ({target}): {'removed' if task.remove else 'added'}")
    return True

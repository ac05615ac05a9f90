"""Certificate stores of NSS (Firefox's profiles, Chromium's on Linux), by way of certutil.

A store is a directory with a cert9.db. Certificates are found by their SHA-256, never by nickname
alone: NSS gives all certificates of one subject one nickname. Must not know: proxies, browsers.
"""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path
from typing import Final

PACKAGE: Final = "libnss3-tools"
_TIMEOUT: Final = 30.0
"""Seconds; it takes milliseconds unless the store is on a network's disk."""
_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_LINE: Final = re.compile(r"(.+?)\s+[a-zA-Z]*,[a-zA-Z]*,[a-zA-Z]*\s*$")


class StoreError(Exception):
    """A store can't be read or changed; the text says which and why."""


def certutil() -> str:
    """Its path. Raises StoreError that says what to install."""
    found = shutil.which("certutil")
    if found is None:
        raise StoreError(f"certutil is not installed (apt-get install {PACKAGE}, dnf: nss-tools)")
    return found


def create(store: Path) -> None:
    """A new store without a password, unless there is one. Raises StoreError."""
    if not (store / "cert9.db").exists():
        store.mkdir(mode=0o700, parents=True, exist_ok=True)
        _run(store, "-N", "--empty-password")


def nicknames(store: Path) -> list[str]:
    """The nicknames of all certificates in a store. Raises StoreError."""
    lines = _run(store, "-L").decode("utf-8", "replace").splitlines()
    return [match[1] for line in lines if (match := _LINE.match(line))]


def certificates(store: Path, nickname: str) -> list[bytes]:
    """The certificates of this nickname, in DER. Raises StoreError."""
    if nickname not in nicknames(store):
        return []
    pems = _PEM.findall(_run(store, "-L", "-n", nickname, "-a"))
    return [ssl.PEM_cert_to_DER_cert(pem.decode("ascii")) for pem in pems]


def add(store: Path, certificate: bytes, *, nickname: str) -> bool:
    """Trust this authority (DER) for servers; False: it was there. Raises StoreError."""
    alike = [name for name in nicknames(store) if name.startswith(nickname)]  # people import, too
    if any(certificate in certificates(store, name) for name in alike):
        return False
    with tempfile.NamedTemporaryFile(suffix=".der") as file:
        file.write(certificate)
        file.flush()
        _run(store, "-A", "-n", nickname, "-t", "C,,", "-i", file.name)
    return True


def remove(store: Path, certificate: bytes, *, nickname: str) -> bool:
    """Take out this one and no other; False: it was not there. Raises StoreError."""
    others = certificates(store, nickname)
    if certificate not in others:
        return False
    others.remove(certificate)
    while certificates(store, nickname):
        _run(store, "-D", "-n", nickname)
    for other in others:
        add(store, other, nickname=nickname)
    return True


def _run(store: Path, *arguments: str) -> bytes:
    # A file of an empty password: certutil must not ask on the terminal for a store that has one.
    with tempfile.NamedTemporaryFile() as password:
        command = [certutil(), *arguments, "-d", f"sql:{store}", "-f", password.name]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"{store}: {error}") from error
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise StoreError(f"{store}: {why[0] if why else f'certutil ended with {done.returncode}'}")
    return done.stdout

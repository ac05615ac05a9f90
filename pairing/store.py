"""Keeps a remote proxy's own identity, and each paired device's certificate.

    identity.pem            key and certificate of this remote
    listening               HOST:PORT[,HOST:PORT...] where it listened last, for pairing strings
    devices/NAME.pem        when it was paired, and its certificate; no secret
    revoked                 digests of certificates that are let in no more, a line each

A file a device, made by link() and removed by unlink(): several commands may run beside a serving
proxy, which looks at `revision` and reads again what has changed.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pairing.errors import PairingError
from pairing.exchange import MOST_REVOKED, PairedDevice, Pairings, id_of, merged
from pairing.files import private_folder, read_private, write_private
from pairing.folder_watch import FolderWatch
from pairing.identity import (
    Identity,
    certificate_of,
    certificate_pem,
    device_identity,
    load_identity,
    new_identity,
)
from pairing.invitation import SEED_SIZE, Invitation, parse_address

MAX_PAIRED: Final = 1000
"""Devices: each costs a TLS context a certificate, and people lose sight of them long before."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
_PAIRED: Final = "paired "
_REVOKED_LIMIT: Final = 66 * MOST_REVOKED
"""Bytes of the file of revocations."""


@dataclass(frozen=True, slots=True)
class Device:
    """A paired device."""

    name: str
    certificate: bytes
    """DER."""
    paired: str
    """ISO 8601, UTC, to the second; empty if the file does not say."""


class PairingStore:
    """The remote's state folder. All methods raise PairingError where files can't be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser()
        self._devices = self.folder / "devices"

    @property
    def used(self) -> bool:
        """Has a remote's identity been made here?"""
        return (self.folder / "identity.pem").exists()

    def identity(self) -> Identity:
        """The remote's own; made at the first call."""
        path = self.folder / "identity.pem"
        pem = read_private(path)
        if pem is None:
            # Two first starts at once: one of them writes, both take what was written.
            write_private(path, new_identity().pem, replace=False)
            pem = read_private(path) or b""
        try:
            return load_identity(pem)
        except PairingError as error:
            raise PairingError(
                f"{path}: {error}. Restore it, or remove it and pair every device anew"
            ) from error

    def pair(
        self,
        name: str,
        *,
        host: str,
        port: int,
        more: Sequence[tuple[str, int]] = (),
        now: datetime | None = None,
    ) -> Invitation:
        """Make a device that finds this remote at `host` and `port`, and at `more` of these. No
        name: a free one.

        The seed is in the result and nowhere else.
        """
        if len(self.devices()[0]) >= MAX_PAIRED:
            raise PairingError(f"{MAX_PAIRED} devices are paired: revoke some that are gone")
        seed = secrets.token_bytes(SEED_SIZE)
        when = (now or datetime.now(UTC)).isoformat(timespec="seconds")
        pem = certificate_pem(device_identity(seed).certificate)
        content = f"{_PAIRED}{when}\n".encode() + pem
        names = [name] if name else ["device", *(f"device-{i}" for i in range(2, MAX_PAIRED + 2))]
        invitation = Invitation(host, port, self.identity().pin, seed, tuple(more))
        for one in names:
            if write_private(self._path(one), content, replace=False):
                return invitation
        raise PairingError(
            f"a device named {name} is paired already: take another name, or revoke it first "
            f"(sluice pair --revoke {name})"
        )

    def revoke(self, name: str) -> None:
        """Forget a device. Raises PairingError if there is none of that name."""
        for device in self.devices()[0]:
            if device.name == name:  # first: other remotes are to hear of it, whatever happens
                self._note_revoked({id_of(device.certificate)})
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            known = ", ".join(device.name for device in self.devices()[0]) or "none"
            raise PairingError(f"no device is named {name}; paired are: {known}") from None
        except OSError as error:
            raise PairingError(f"{name} can't be revoked: {error.strerror or error}") from error

    def pairings(self) -> Pairings:
        """What other remotes are to know (exchange.py)."""
        found = (PairedDevice(one.certificate, one.name, one.paired) for one in self.devices()[0])
        return merged(Pairings(frozenset(found), self._revoked()), Pairings())

    def take(self, all_known: Pairings) -> None:
        """Let in whom others have paired, forget whom they have revoked."""
        if not all_known.revoked <= self._revoked():
            self._note_revoked(all_known.revoked)
        here = {one.certificate: one.name for one in self.devices()[0]}
        for certificate, name in here.items():
            if id_of(certificate) in all_known.revoked:
                self._path(name).unlink(missing_ok=True)
        for device in sorted(all_known.devices, key=lambda one: one.name):
            if device.certificate not in here:
                self._let_in(device)

    def _let_in(self, device: PairedDevice) -> None:
        """By its name, or one like it where another device has that."""
        if not _NAME.fullmatch(device.name):
            return
        content = f"{_PAIRED}{device.paired}\n".encode() + certificate_pem(device.certificate)
        names = [device.name, *(f"{device.name[:50]}-{device.id[:n]}" for n in (4, 8))]
        any(write_private(self._path(one), content, replace=False) for one in names)

    def _revoked(self) -> frozenset[str]:
        lines = read_private(self.folder / "revoked", limit=_REVOKED_LIMIT) or b""
        return frozenset(lines.decode("ascii", "replace").split())

    def _note_revoked(self, ids: Iterable[str]) -> None:
        known = sorted({*self._revoked(), *ids})[:MOST_REVOKED]
        write_private(self.folder / "revoked", "".join(f"{one}\n" for one in known).encode())

    def devices(self) -> tuple[list[Device], list[str]]:
        """Paired devices by name; and what is wrong with files that are not one's, a line each."""
        devices, wrong = [], []
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):  # revoked at this moment
                try:
                    devices.append(_device(path))
                except PairingError as error:
                    wrong.append(f"{path}: {error}")
        return devices, wrong

    def revision(self) -> tuple[object, ...]:
        """Differs whenever a device was paired, revoked or its file edited."""
        marks = []
        for path in self._files():
            with contextlib.suppress(OSError):
                status = path.stat()
                marks.append((path.name, status.st_ino, status.st_mtime_ns))
        return tuple(marks)

    def changed_at(self) -> float:
        """When a device was paired or revoked last, seconds since 1970; 0: never. One stat."""
        try:
            return self._devices.stat().st_mtime
        except FileNotFoundError:
            return 0.0
        except OSError as error:
            raise PairingError(f"{self._devices}: {error.strerror or error}") from error

    def watch(self) -> FolderWatch:
        """Hears when a device may have been paired or revoked."""
        return FolderWatch(self._devices)

    def note_listening(self, *addresses: str) -> None:
        """Remember where the remote listens, one address for each of its processes."""
        private_folder(self.folder)
        write_private(self.folder / "listening", ",".join(addresses).encode())

    def listened(self) -> list[tuple[str, int]]:
        """Hosts and ports where the remote's processes listened last; empty: not known."""
        noted = read_private(self.folder / "listening") or b""
        try:
            text = noted.decode("ascii", "replace").strip()
            return [parse_address(one) for one in text.split(",")] if text else []
        except PairingError:
            return []

    def _files(self) -> list[Path]:
        try:
            found = sorted(self._devices.iterdir(), key=lambda path: path.stem)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise PairingError(f"{self._devices}: {error.strerror or error}") from error
        return [path for path in found if path.suffix == ".pem" and _NAME.fullmatch(path.stem)]

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise PairingError(
                f"{name[:80]!r} can't name a device: letters, digits, dot, dash and underscore, "
                "63 at most, a letter or digit first"
            )
        return self._devices / f"{name}.pem"


def _device(path: Path) -> Device:
    content = read_private(path)
    if content is None:
        raise FileNotFoundError
    first, _, _ = content.partition(b"\n")
    line = first.decode("ascii", "replace")
    paired = line.removeprefix(_PAIRED) if line.startswith(_PAIRED) else ""
    return Device(path.stem, certificate_of(content), paired)

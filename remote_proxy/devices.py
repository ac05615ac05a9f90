"""Who may connect: the paired devices, as their store says now.

Devices are paired and revoked by a command in another process, so the store's folder is watched: a
revoked device's session ends within a second. One that has just been paired may come sooner than
that is known, so there is a short look before anybody is judged, too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from pairing.errors import PairingError
from pairing.store import PairingStore
from transport.spp.handshake.keys import ServerKeys
from transport.tcp.security import ServerSecurity

SETTLED: Final = 1.0
"""Seconds after which a folder's time tells of every change: file systems' clocks are coarse."""
_log = structlog.get_logger("sluice.remote")


class PairedDevices:
    """Keeps `security` and `keys` in step with the store."""

    def __init__(self, store: PairingStore) -> None:
        """Makes the remote's own identity if there is none yet. Raises PairingError."""
        self._store = store
        self._revision: tuple[object, ...] = ()
        self._changed_at = 0.0
        identity = store.identity().pem
        self.security = ServerSecurity(identity, {}, look=self.look, folder=store.folder)
        self.keys = ServerKeys(identity, {}, look=self.look)
        """The same, over UDP."""
        self.refresh()

    def refresh(self) -> bool:
        """Read the store again if it has changed; whether it had. Raises PairingError."""
        self._changed_at = self._store.changed_at()  # before: what changes meanwhile is news
        revision = self._store.revision()
        if revision == self._revision:
            return False
        devices, wrong = self._store.devices()
        for line in wrong:
            _log.warning("a file in the store is not a device's", error=line)
        known = {device.certificate: device.name for device in devices}
        self.security.let_in(known)
        self.keys.let_in(known)
        self._revision = revision
        return True

    def look(self) -> bool:
        """Read the store again if a device was paired or revoked; whether one was.

        Costs strangers' connections a stat each, for the files are not listed unless they changed.
        """
        try:
            at = self._store.changed_at()
            settled = abs(datetime.now(UTC).timestamp() - at) > SETTLED
            return False if settled and at == self._changed_at else self.refresh()
        except PairingError:  # `watch` says so, and strangers must not fill logs
            return False

    async def watch(self, changed: Callable[[], None]) -> None:
        """Until cancelled; `changed` is called whenever other devices may connect than before."""
        told: tuple[object, ...] = ()
        with self._store.watch() as watch:
            while True:
                await watch.changed()
                try:
                    self.refresh()
                except PairingError as error:  # a disk's fault: whoever was let in stays in
                    _log.warning("the paired devices can't be read", error=str(error))
                if self._revision != told:  # `look` may have found it before
                    told = self._revision
                    changed()

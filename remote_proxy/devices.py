"""Who may connect: the paired devices, as their store says now.

Devices are paired and revoked by a command in another process, so the store is looked at again
and again: a revoked device's session ends within a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from pairing.errors import PairingError
from pairing.store import Store
from transport.security import ServerSecurity

LOOK_EVERY: Final = 0.25
"""Seconds between two looks: a listing of a small folder."""
_log = structlog.get_logger("sluice.remote")


class PairedDevices:
    """Keeps `security` in step with the store."""

    def __init__(self, store: Store) -> None:
        """Makes the remote's own identity if there is none yet. Raises PairingError."""
        self._store = store
        self._revision: tuple[object, ...] = ()
        self.security = ServerSecurity(store.identity().pem, {})
        self.refresh()

    def refresh(self) -> bool:
        """Read the store again if it has changed; whether it had. Raises PairingError."""
        revision = self._store.revision()
        if revision == self._revision:
            return False
        devices, wrong = self._store.devices()
        for line in wrong:
            _log.warning("a file in the store is not a device's", error=line)
        self.security.let_in({device.certificate: device.name for device in devices})
        self._revision = revision
        return True

    async def watch(self, changed: Callable[[], None]) -> None:
        """Until cancelled; `changed` is called whenever other devices may connect than before."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                if self.refresh():
                    changed()
            except PairingError as error:  # a disk's fault: whoever was let in stays in
                _log.warning("the paired devices can't be read", error=str(error))

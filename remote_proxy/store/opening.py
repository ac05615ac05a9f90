"""Which store a setting names."""

from __future__ import annotations

from typing import Final

from remote_proxy.store.memory import MemoryStore
from remote_proxy.store.store import Store
from remote_proxy.store.valkey import NoSuchStore, ValkeyStore

MEMORY: Final = "memory"
_SCHEMES: Final = {"redis": "redis", "rediss": "rediss", "unix": "unix"}
_SCHEMES_OF_VALKEY: Final = {"valkey": "redis", "valkeys": "rediss"}
"""The same protocol by another name."""


def open_store(setting: str, *, memory: int) -> Store | None:
    """The store; None: the setting is empty. Raises NoSuchStore.

    `memory`: bytes that one in this process's memory may take.
    """
    if not setting:
        return None
    if setting == MEMORY:
        return MemoryStore(memory)
    scheme, separator, rest = setting.partition("://")
    known = _SCHEMES | _SCHEMES_OF_VALKEY
    if not separator or scheme not in known:
        raise NoSuchStore(
            f"remote.store: {scheme!r} is none; say {MEMORY}, or an address: "
            "redis://HOST:6379/0, rediss://USER:PASSWORD@HOST:6379/0 (TLS), unix:///PATH"
        )
    return ValkeyStore(f"{known[scheme]}://{rest}")

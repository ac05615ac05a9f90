"""Remotes with one identity and one store let in the same devices."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from structlog.testing import capture_logs

from pairing.store import PairingStore
from remote_proxy.sharing.pairings import SharedPairings
from remote_proxy.store.memory import MemoryStore
from remote_proxy.store.store import StoreStatistics


def folders(folder: Path, *names: str) -> list[PairingStore]:
    """State folders with one identity."""
    first = PairingStore(folder / names[0])
    first.identity()
    for name in names[1:]:
        shutil.copytree(folder / names[0], folder / name)
    return [PairingStore(folder / name) for name in names]


def names(at: PairingStore) -> list[str]:
    return [device.name for device in at.devices()[0]]


def test_who_is_paired_at_one_is_let_in_by_all(tmp_path: Path) -> None:
    async def go() -> None:
        store = MemoryStore(1 << 20)
        one, other = folders(tmp_path, "a", "b")
        here, there = SharedPairings(one, store), SharedPairings(other, store)
        one.pair("phone", host="h", port=1)
        await here.look()
        await there.look()
        assert names(other) == ["phone"]
        assert other.devices() == one.devices()
        other.revoke("phone")
        await there.look()
        await here.look()
        assert names(one) == []

    asyncio.run(go())


def test_a_store_that_loses_all_takes_nothing_and_is_told_again(tmp_path: Path) -> None:
    async def go() -> None:
        store = MemoryStore(1 << 20)
        one, other = folders(tmp_path, "a", "b")
        here, there = SharedPairings(one, store), SharedPairings(other, store)
        one.pair("phone", host="h", port=1)
        one.pair("laptop", host="h", port=1)
        one.revoke("laptop")
        await here.look()
        await store.close()
        await there.look()
        assert names(one) == ["phone"]
        await here.look()
        await there.look()
        assert names(other) == ["phone"]

    asyncio.run(go())


def test_remotes_of_other_people_in_one_store_know_nothing_of_each_other(tmp_path: Path) -> None:
    async def go() -> None:
        store = MemoryStore(1 << 20)
        (one,), (other,) = folders(tmp_path / "x", "a"), folders(tmp_path / "y", "a")
        one.pair("phone", host="h", port=1)
        await SharedPairings(one, store).look()
        await SharedPairings(other, store).look()
        assert names(other) == []

    asyncio.run(go())


def test_who_can_write_to_the_store_lets_nobody_in(tmp_path: Path) -> None:
    class Forged(MemoryStore):
        async def get(self, key: bytes) -> bytes | None:
            return b"anything at all"

    async def go() -> None:
        (one,) = folders(tmp_path, "a")
        one.pair("phone", host="h", port=1)
        sharing = SharedPairings(one, Forged(1 << 20))
        with capture_logs() as logs:
            await sharing.look()
        assert "none of our remotes" in logs[0]["event"]
        assert names(one) == ["phone"]

    asyncio.run(go())


def test_a_store_that_is_away_costs_no_reading() -> None:
    class Away(MemoryStore):
        def statistics(self) -> StoreStatistics:
            return replace(super().statistics(), answers=False)

    async def go() -> None:
        class Files(PairingStore):
            def revision(self) -> tuple[object, ...]:
                raise AssertionError("it reads its files")

        with TemporaryDirectory() as folder:
            await SharedPairings(Files(Path(folder)), Away(1 << 20)).look()

    asyncio.run(go())


def test_nothing_is_read_or_told_while_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        store = MemoryStore(1 << 20)
        (one,) = folders(tmp_path, "a")
        one.pair("phone", host="h", port=1)
        sharing = SharedPairings(one, store)
        await sharing.look()

        def read() -> None:
            raise AssertionError("it reads all files again")

        monkeypatch.setattr(one, "devices", read)
        await sharing.look()

    asyncio.run(go())

"""The scenario of faults in small: everything right, in a namespace and where none can be made."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.scenarios.faults import faults
from emulation.worlds.namespaces import NoNamespaces, namespace

pytestmark = pytest.mark.alone

KINDS = ("cut", "kill", "address_change", "silence")


class InTurn:
    """Instead of chance: every kind of fault, one after the other."""

    def __init__(self, seed: int) -> None:
        self._next = 0

    def choice(self, kinds: tuple[str, ...]) -> str:
        self._next += 1
        return kinds[self._next % len(kinds)]

    def uniform(self, low: float, high: float) -> float:
        return low

    def randbytes(self, count: int) -> bytes:
        return os.urandom(count)


@pytest.mark.parametrize("root", [True, False])
def test_every_kind_of_fault_under_a_download_and_under_pages(
    root: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if root:
        try:
            with namespace():
                pass
        except NoNamespaces as error:
            pytest.skip(str(error))
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "index.html").write_text("text" * 5_000)
    (tmp_path / "picture.bin").write_bytes(os.urandom(200_000))
    monkeypatch.setattr(faults, "SITE", tmp_path)
    monkeypatch.setattr(faults, "SIZE", 2_000_000)
    monkeypatch.setattr(faults, "SILENCE", (0.1, 0.1))
    monkeypatch.setattr(faults, "KINDS", KINDS)
    monkeypatch.setattr(faults, "random", SimpleNamespace(Random=InTurn))
    outcome = asyncio.run(faults.run(runs=10, long_silence=0.3))
    download, pages = outcome["runs"]
    for row in (download, pages):
        assert row["problems"] == []
        assert row["bodies"] > 0
        assert row["kill"] == row["silence"] == row["long_silence"] == 1
        assert row.get("address_change", 0) == (1 if root else 0)
        assert row["cut"] == (1 if root else 2)
    wrong, _, pause = outcome["checks"].values()
    assert wrong.ok
    assert pause.ok
    said = capsys.readouterr().out
    assert ("address changes are left out: a network namespace needs root" in said) is not root
    assert len(outcome["notes"]) == (0 if root else 1)

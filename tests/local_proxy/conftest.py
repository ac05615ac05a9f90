"""A desk to work at, for tests in which a person uses a program."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from bench.browsers.screen import screen
from tests.local_proxy.office_desk import processes

DYING: Final = 20.0
"""Seconds that what was killed may take to be gone, on a busy machine."""


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    with screen() as name:
        yield name


@pytest.fixture
def at_a_desk(display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sessions live in the test's folder, so whatever is left behind is found."""
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    late = time.monotonic() + DYING
    while processes(tmp_path) and time.monotonic() < late:
        time.sleep(0.05)
    assert not processes(tmp_path)
    assert not list(tmp_path.glob("sluice-open-*"))

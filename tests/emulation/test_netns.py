"""Tests of network namespaces: enter one, end one with all that runs in it, find what was left."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.worlds.netns import NoNamespaces, command, end, inside, ip, left, require_root
from tests.emulation.spaces import new_space

pytestmark = pytest.mark.alone

NOWHERE = "sluice-0-0-nowhere"


@pytest.fixture
def space() -> Iterator[str]:
    with new_space() as name:
        yield name


def test_who_is_not_root_or_has_no_iproute2_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoNamespaces, match="root and iproute2"):
        require_root()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NoNamespaces, match="root and iproute2"):
        require_root()


def test_what_is_done_inside_belongs_there_and_who_asked_stays_outside(space: str) -> None:
    here = socket.if_nameindex()
    assert inside(space, socket.if_nameindex) == [(1, "lo")]
    with inside(space, socket.socket) as there, socket.socket() as outside:
        there.bind(("0.0.0.0", 0))
        outside.bind(("0.0.0.0", there.getsockname()[1]))  # another machine's port
    assert socket.if_nameindex() == here


def test_what_fails_inside_fails_outside(space: str) -> None:
    with pytest.raises(ZeroDivisionError):
        inside(space, lambda: 1 // 0)


def test_a_namespace_that_is_not_there_cannot_be_entered() -> None:
    with pytest.raises(OSError, match=NOWHERE):
        inside(NOWHERE, socket.socket)
    end(NOWHERE)  # which is no error


def test_iproute2_s_complaint_is_the_error(space: str) -> None:
    assert "lo" in ip("-n", space, "link")
    with pytest.raises(OSError, match=r"ip link show absent0: .*absent0"):
        ip("link", "show", "absent0")


def test_what_runs_inside_ends_with_it(space: str) -> None:
    words = command(space, "sh", "-c", "echo ready; exec sleep 600")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        assert running.pid in map(int, ip("netns", "pids", space).split())
        end(space)
        assert running.wait() == -9
    assert not Path("/run/netns", space).exists()


def test_only_what_a_dead_maker_has_left_is_found(space: str) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    pattern = re.compile(r"sluicetest-(\d+)")
    names = [f"sluicetest-{process}" for process in (gone.pid, os.getpid())]
    try:
        for name in names:
            ip("netns", "add", name)
        assert left(pattern) == names[:1]
        assert space not in left(re.compile(r"sluice-(\d+)-.*"))
    finally:
        for name in names:
            end(name)

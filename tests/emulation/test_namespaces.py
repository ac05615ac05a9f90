"""Tests of a namespace as another machine: connections break with an address; nothing is left."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.worlds.namespaces import Namespace, NoNamespaces, namespace, sweep

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
KILLED = """
import subprocess, sys
from emulation.worlds.namespaces import namespace
with namespace() as space:
    words = space.command("sh", "-c", "echo inside; exec sleep 600")
    subprocess.Popen(words, stdout=subprocess.PIPE).stdout.readline()
    print(space.name, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def space() -> Iterator[Namespace]:
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(namespace())
        except NoNamespaces as error:
            pytest.skip(str(error))
        yield made


def processes(name: str) -> str:
    done = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True)
    return done.stdout


def spaces() -> str:
    return subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout


def test_a_socket_belongs_inside_and_its_maker_stays_outside(space: Namespace) -> None:
    with space.new_socket() as listener, socket.socket() as here:
        listener.bind((space.far, 0))
        listener.listen()
        with pytest.raises(OSError, match="assign requested address"):
            here.bind((space.far, 0))
        with socket.create_connection(listener.getsockname(), timeout=5) as outside:
            inside, peer = listener.accept()
            inside.close()
        assert outside.fileno() == -1
        assert peer[0] == space.near


def test_a_changed_address_is_the_next_connection_s_and_the_old_one_is_gone(
    space: Namespace,
) -> None:
    seen = []
    with space.new_socket() as listener:
        listener.bind((space.far, 0))
        listener.listen()
        for _ in range(6):
            with socket.create_connection(listener.getsockname(), timeout=5):
                inside, peer = listener.accept()
                inside.close()
            seen.append(peer[0])
            assert space.change_address() == peer[0]
            with socket.socket() as here, pytest.raises(OSError, match="assign requested"):
                here.bind((peer[0], 0))
    assert len(set(seen)) == 5
    assert seen[0] == seen[5]


def test_what_a_killed_run_has_left_is_swept(space: Namespace) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as killed:
        assert killed.stdout is not None
        name = killed.stdout.readline().strip()
        assert name not in sweep()  # its maker lives
        assert processes(name)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert name in spaces()
    assert name in sweep()
    assert name not in spaces()
    assert space.name in spaces()
    assert name not in sweep()

"""Threads of a proxy share two of the C library's arenas, as that counts them itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

THREADS = """
import ctypes, sys, threading
from cli.memory import bound_arenas
if sys.argv[1] == "bound":
    bound_arenas()
together = threading.Barrier(8)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def work():
    held = libc.malloc(100_000)
    together.wait()
    libc.free(held)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def arenas(how: str) -> int:
    command = [sys.executable, "-c", THREADS, how]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.count(
        "<heap "
    )


@pytest.mark.skipif(
    not hasattr(__import__("ctypes").CDLL(None), "malloc_info"), reason="not glibc's malloc"
)
def test_threads_share_two_arenas() -> None:
    assert arenas("as it is") > 2, "else nothing is shown by this"
    assert arenas("bound") == 2


RUNS = """
import gc, remote_proxy.main
from cli.command import run
async def main():
    print(gc.get_freeze_count(), len(gc.get_objects()))
run(main(), verbose=False, log_urls=False)
"""


def test_the_collector_leaves_modules_alone_in_a_proxy_that_runs() -> None:
    said = subprocess.run(
        [sys.executable, "-c", RUNS], capture_output=True, text=True, check=True
    ).stdout
    frozen, others = map(int, said.split())
    assert frozen > 20 * others

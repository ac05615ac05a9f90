"""Other users of the machine: what they learn of the local proxy's owner.

Runs a process of its own as another user, which only root can begin.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from typing import Final

from bench.attacks.tally import AttackTally, Targets
from bench.pairs.processes import text

NOBODY: Final = 65534
PAUSE: Final = 0.5
"""Seconds between two attempts."""
OWN: Final = ("/", "/status.json", "/metrics", "/sites.json", "/savings.json", "/documents")
"""Pages of the local proxy's own that tell of its owner, or with what to change its switches."""


async def look(targets: Targets, tally: AttackTally) -> None:
    """Ask for the owner's pages as another user; through: one was given."""
    curl = shutil.which("curl")
    if os.geteuid() != 0 or curl is None:
        tally.left_out = "it takes root to be another user, and curl"
        await asyncio.Event().wait()
    assert curl is not None
    base = f"http://{text(targets.local)}"
    for path in itertools.cycle(OWN):
        tally.tried()
        process = await asyncio.create_subprocess_exec(
            *(curl, "-s", "-m", "5", "-o", os.devnull, "-w", "%{http_code}", "--noproxy", "*"),
            *("-H", "Host: sluice.local", base + path),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            user=NOBODY,
            cwd="/",
        )
        out, _ = await process.communicate()
        if out.startswith(b"2"):
            tally.got(f"{path}: {out.decode().strip()}")
        await asyncio.sleep(PAUSE)

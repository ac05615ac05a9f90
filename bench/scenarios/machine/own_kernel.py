"""Boots a machine's files under a kernel of its own, user-mode Linux: what a namespace can't show.

There systemd is the init of a whole kernel: nothing of this machine's has set anything up. A unit
that this adds, and takes away again, says how the service fares, and powers it off.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Final

from bench.scenarios.machine.journal import Journal
from emulation.machines.booted import INIT
from emulation.uml import kernel

UNIT: Final = "sluice-remote.service"
REPORT: Final = "srv/report"
PATIENCE: Final = 400.0
"""Seconds for a boot; system calls are dear there."""
_NAME: Final = "walk-report.service"
_TEXT: Final = f"""\
[Unit]
Description=Says how the service fares, then ends the machine
Wants={UNIT}
After={UNIT}

[Service]
Type=oneshot
ExecStart=sh -c 'systemctl show {UNIT} -p ActiveState -p StatusText -p Result >/{REPORT}'
ExecStart=sh -c 'journalctl -u {UNIT} -n 20 --no-pager -o cat >>/{REPORT}'
ExecStart=sh -c 'uname -sr >>/{REPORT}; sync'
ExecStopPost=systemctl poweroff --force --force
"""
_WANTS: Final = "etc/systemd/system/multi-user.target.wants"


def missing() -> str:
    """Say why there is no such kernel here; empty: there is."""
    return "" if shutil.which(kernel.KERNEL) else kernel.missing()


def check(root: Path, journal: Journal) -> None:
    """Boot it twice."""
    unit = root / "etc/systemd/system" / _NAME
    wanted = root / _WANTS / _NAME
    unit.write_text(_TEXT)
    wanted.symlink_to(f"/etc/systemd/system/{_NAME}")
    try:
        for when in ("a boot", "a reboot"):
            with journal.step(f"{when} with a kernel of its own"):
                _boot(root, when, journal)
    finally:
        wanted.unlink()
        unit.unlink()


def _boot(root: Path, when: str, journal: Journal) -> None:
    report = root / REPORT
    try:
        said = asyncio.run(kernel.boot(root, INIT, patience=PATIENCE))
        found = report.read_text() if report.exists() else "\n".join(said[-30:])
    except kernel.NoKernel as error:
        found = str(error)
    report.unlink(missing_ok=True)
    well = "ActiveState=active" in found
    if well:
        journal.note(found.strip().splitlines()[-1])
    journal.check(f"after {when} with its own kernel the remote serves", well, said=found)

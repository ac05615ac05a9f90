"""A machine that boots on this one's files, with this checkout in /opt/sluice.

What it writes goes to memory and is gone with it.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulation.machines.booted import INIT, BootedMachine, NoBoot, booted

ROOT = Path(__file__).resolve().parents[2]
THERE = Path("/opt/sluice")
"""Where it has the sources, and with them their own Python if they have one."""
_OVERLAY = f"""
first=no
[ -d root ] || {{ first=yes; mkdir root up work; }}
mount -t overlay machine -o lowerdir=/,upperdir="$1/up",workdir="$1/work" root || exit 3
mkdir -p root/opt/sluice && mount --bind {shlex.quote(str(ROOT))} root/opt/sluice || exit 3
mount -o remount,ro,bind root/opt/sluice || exit 3  # whatever a boot tidies up
if [ $first = yes ]; then  # none of this machine's own services, and nothing of Sluice's
  (
    cd root
    rm -rf etc/systemd/system/*.wants etc/fstab var/lib/sluice etc/sluice
    rm -rf etc/sysusers.d/sluice.conf etc/ssl/certs/sluice.pem
    rm -rf root/.local/share/sluice root/.config/sluice root/.pki
    mkdir -p etc/tmpfiles.d && ln -s /dev/null etc/tmpfiles.d/tmp.conf  # /tmp stays as it is
    chmod o+x root
  )
fi
"""


def _program() -> tuple[str, str]:
    """Python, and this program, as they are there."""
    python = Path(sys.executable)
    if python.is_relative_to(ROOT):
        python = THERE / python.relative_to(ROOT)
    return str(python), str(THERE / "sluice.py")


SLUICE = _program()


@contextmanager
def machine() -> Iterator[BootedMachine]:
    """One that has just booted for the first time. Raises NoBoot."""
    if not Path(INIT).exists():
        raise NoBoot("takes systemd")
    with (
        tempfile.TemporaryDirectory(prefix="sluice-machine-", dir="/dev/shm") as folder,
        booted(Path(folder), prepare=_OVERLAY) as one,
    ):
        yield one

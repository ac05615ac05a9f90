"""The first picture of a process waits for no module: while one loads, nothing else is done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
import {package}.main
from transcoders.sketch import draw, stretched, enlarged
from transcoders.sniff import Format
from transcoders.still import version

photo, diagram = (Path(name).read_bytes() for name in sys.argv[1:])
before = set(sys.modules)
low = draw(photo)
stretched(low.data, low.level.width, low.level.height)
enlarged(low.data, low.level.width, low.level.height)
for avif in (False, True):
    version(diagram, Format.PNG, max_pixels=1 << 22, avif=avif)
print(*sorted(set(sys.modules) - before))
"""
NEWS = Path(__file__).parents[2] / "demo" / "site" / "news" / "img"


@pytest.mark.parametrize("package", ["remote_proxy", "local_proxy"])
def test_nothing_is_loaded_for_it(package: str) -> None:
    photo, diagram = next(NEWS.glob("*.jpg")), next(NEWS.glob("*.png"))
    program = PROGRAM.format(package=package)
    ran = subprocess.run(
        [sys.executable, "-c", program, photo, diagram], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == []

"""The first picture of a process waits for no module: while one loads, nothing else is done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from transcoders.make.sketch import draw

PROGRAM = """
import sys
from pathlib import Path
import {package}.main
before = {{name for name in sys.modules if name.startswith("PIL")}}
photo, diagram, sketch = (Path(name).read_bytes() for name in sys.argv[1:])
{work}
print(*sorted({{name for name in sys.modules if name.startswith("PIL")}} - before))
"""
REMOTE = """
from transcoders.make.sketch import draw
from transcoders.formats.sniff import Format
from transcoders.make.still import version
draw(photo)
for avif in (False, True):
    version(diagram, Format.PNG, max_pixels=1 << 22, avif=avif)
"""
LOCAL = """
from transcoders.undo.sketch import enlarged, stretched
stretched(sketch, 640, 427)
enlarged(sketch, 640, 427)
"""
NEWS = Path(__file__).parents[2] / "demo" / "site" / "news" / "img"


@pytest.mark.parametrize(("package", "work"), [("remote_proxy", REMOTE), ("local_proxy", LOCAL)])
def test_nothing_is_loaded_for_it(package: str, work: str, tmp_path: Path) -> None:
    photo, diagram = NEWS / "01-skylight.jpg", NEWS / "screen.png"
    sketch = tmp_path / "sketch.webp"
    sketch.write_bytes(draw(photo.read_bytes()).data)
    program = PROGRAM.format(package=package, work=work)
    command = [sys.executable, "-c", program, photo, diagram, sketch]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []

"""The page of 120 pictures is what it says, and the same each time."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from bench.origins import portal


def test_a_portal_has_its_pictures_each_of_its_own_bytes(tmp_path: Path) -> None:
    one, other = portal.make(tmp_path / "one"), portal.make(tmp_path / "other")
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert all((one / name).read_bytes() == (other / name).read_bytes() for name in files)
    pictures = [(one / name).read_bytes() for name in files if name.suffix == ".jpg"]
    assert len(pictures) == portal.PICTURES
    assert len({sha256(data).digest() for data in pictures}) == portal.PICTURES
    assert 3.3e6 < sum(map(len, pictures)) < 3.7e6
    html = (one / "index.html").read_text()
    assert all(f'src="{name.as_posix()}"' in html for name in files if name.suffix == ".jpg")

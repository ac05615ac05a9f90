"""Plug-ins of the remote proxy, as docs/plugins.md has them, in a running pair: they do what the
document says, and where they fail a page is what it is without them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from PIL import Image

from remote_proxy.plugged_in import PluggedIn, load_plugins
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run, until
from tests.end_to_end.test_page_load import PHOTO

TEXT = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
FILES = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.M | re.S))
NEWEST = 'class Mine:\n    name = "mine"\n\n    def react(self, event, view):\n' + (
    "        from policies.api import DocumentOpened, SessionOpened, SetScheduler\n"
    "        if isinstance(event, SessionOpened | DocumentOpened):\n"
    '            yield SetScheduler(("browser",), "plugin:newest")\n'
)
BAD = {
    "newest.py": (
        "from hats.disciplines.fifo import Fifo\n\n\nclass Bad(Fifo):\n"
        '    name = "newest"\n\n    def select(self):\n        raise OSError("select")\n'
    ),
    "tiffs.py": (
        'class Bad:\n    name = "tiffs"\n\n    def wants(self, content_type, head):\n'
        "        return True\n\n    def make(self, data, content_type):\n        return 1 / 0\n"
    ),
    "later.py": (
        'class Bad:\n    name = "later"\n\n    def wants(self, content_type):\n'
        "        return True\n\n    def find(self, url, content_type, data):\n"
        '        yield "/a.tiff", "nonsense"\n'
    ),
}


def tiff() -> bytes:
    made = io.BytesIO()
    with Image.open(PHOTO) as photo:
        photo.resize((200, 120)).save(made, "TIFF")
    return made.getvalue()


def saved(folder: Path, files: dict[str, str]) -> PluggedIn:
    for name, code in files.items():
        (folder / name).write_text(code, "utf-8")
    (folder / "mine.py").write_text(NEWEST, "utf-8")
    return load_plugins(
        schedulers=[str(folder / "newest.py")],
        transcoders=[str(folder / "tiffs.py")],
        import_drivers=[str(folder / "later.py")],
    )


def site(origin: FakeOrigin) -> str:
    origin.serve("/a.tiff", tiff(), "image/tiff")
    origin.serve(
        "/page", b'<!doctype html><body>Text<img alt="" data-src="/a.tiff"></body>', "text/html"
    )
    return origin.base + "/page"


def installed(both: Pair) -> str:
    return both.session.tree.hierarchy.statistics().children[0].scheduler


@pytest.mark.parametrize("name", FILES)
def test_each_has_twenty_lines_at_most(name: str) -> None:
    assert sum(bool(line.strip()) for line in FILES[name].splitlines()) <= 20


def test_the_three_of_the_document_do_what_it_says(tmp_path: Path) -> None:
    plugged = saved(tmp_path, FILES)

    async def go() -> None:
        policies = ["default", str(tmp_path / "mine.py")]
        async with all_three(policy=policies, plugged=plugged) as (origin, both):
            page = site(origin)
            await until(lambda: installed(both) == "plugin:newest")
            assert b"Text" in (await both.browser.navigate(page)).body
            # found by the import driver: fetched before anybody has asked for it
            await until(lambda: origin.counts().get("/a.tiff") == 1)
            known = await both.arrived(origin.base + "/a.tiff")
            assert [level.name for level in known.levels] == ["low", "high"]
            shown = await both.browser.image(origin.base + "/a.tiff", page)
            with Image.open(io.BytesIO(shown.body)) as picture:
                assert (picture.format, picture.size) == ("PNG", (200, 120))
            assert origin.counts()["/a.tiff"] == 1
            assert installed(both) == "plugin:newest"

    run(go())


def test_three_that_fail_leave_the_page_as_it_is(tmp_path: Path) -> None:
    plugged = saved(tmp_path, BAD)

    async def go() -> None:
        policies = ["default", str(tmp_path / "mine.py")]
        async with all_three(policy=policies, plugged=plugged) as (origin, both):
            page = site(origin)
            await until(lambda: installed(both) == "plugin:newest")
            for _ in range(2):
                assert b"Text" in (await both.browser.navigate(page)).body
                shown = await both.browser.image(origin.base + "/a.tiff", page)
                assert shown.body == tiff()
            assert installed(both) == "wf2q_plus"
            offs = [switch.why_off for _, switch in (*plugged.transcoders, *plugged.import_drivers)]
            assert "ZeroDivisionError" in offs[0]
            assert "nonsense" in offs[1]

    run(go())

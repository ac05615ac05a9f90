"""The texts that one end keeps: so many bytes, and the right one for each address."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coding.dictionary import Dictionary, TextGathering
from coding.owner import TextOwner
from coding.text_shelf import MAX_OFFERED, MAX_TEXTS, TextShelf

HERE = ("browser", "a.example")
OWNER = TextOwner("https://a.example", b"", HERE)
CDN = TextOwner("https://cdn.example", b"", HERE)
HTML, SCRIPT = "text/html", "text/javascript"
BASE = "https://a.example"


def text(
    url: str, body: str, *, owner: TextOwner = OWNER, media: str = HTML, page: str | None = None
) -> Dictionary:
    gathering = TextGathering()
    gathering.add(body.encode().ljust(400, b"."))
    made = gathering.finish(owner, url, media=media, page=url if page is None else page)
    assert made is not None
    return made


def names(*texts: Dictionary) -> set[bytes]:
    return {one.name for one in texts}


def test_the_last_version_of_an_address_alone_is_kept() -> None:
    shelf = TextShelf(max_bytes=1 << 20)
    first, second = text(f"{BASE}/", "first"), text(f"{BASE}/", "second")
    shelf.keep(first)
    shelf.keep(second)
    assert list(shelf) == [second]
    assert shelf.latest(f"{BASE}/", OWNER) is second
    assert shelf.find(first.digest, OWNER) is None


def test_owners_are_apart() -> None:
    shelf = TextShelf(max_bytes=1 << 20)
    mine = text(f"{BASE}/", "same")
    other = TextOwner("https://a.example", b"bob", HERE)
    shelf.keep(mine)
    assert shelf.find(mine.digest, other) is None
    assert shelf.latest(f"{BASE}/", other) is None
    assert shelf.nearest(f"{BASE}/", HTML, other, names=names(mine)) == []
    shelf.keep(text(f"{BASE}/", "same", owner=other))
    assert len(shelf) == 2


def test_a_page_is_offered_its_last_version_its_parts_and_neighbours() -> None:
    shelf = TextShelf(max_bytes=1 << 20)
    page = f"{BASE}/news"
    shelf.keep(text(page, "news"))
    shelf.keep(text("https://cdn.example/a.js", "script", owner=CDN, media=SCRIPT, page=page))
    shelf.keep(text(f"{BASE}/b.css", "style", media="text/css", page=f"{BASE}/other"))
    for number in range(9):
        shelf.keep(text(f"{BASE}/story/{number}", f"story {number}"))
    elsewhere = TextOwner("https://a.example", b"", ("browser", "b.example"))
    shelf.keep(text(f"{BASE}/c.js", "elsewhere", owner=elsewhere, media=SCRIPT))
    offered = [one.url for one in shelf.offer(OWNER, page)]
    assert offered == [
        *("https://cdn.example/a.js", page),
        *(f"{BASE}/story/8", f"{BASE}/story/7", f"{BASE}/story/6"),
        f"{BASE}/b.css",
    ]


def test_only_so_many_are_offered() -> None:
    shelf = TextShelf(max_bytes=1 << 20)
    for number in range(100):
        shelf.keep(text(f"{BASE}/{number}.js", f"{number}", media=SCRIPT, page=f"{BASE}/"))
    assert len(shelf.offer(OWNER, f"{BASE}/")) == MAX_OFFERED


def test_the_nearest_is_the_same_address_then_the_likest() -> None:
    shelf = TextShelf(max_bytes=1 << 20)
    page, near = text(f"{BASE}/news/a", "a"), text(f"{BASE}/news/b", "b")
    far, script = text(f"{BASE}/about/us", "us"), text(f"{BASE}/news/a.js", "s", media=SCRIPT)
    for one in (far, near, page, script):
        shelf.keep(one)
    known = names(page, near, far, script)
    assert shelf.nearest(f"{BASE}/news/a", HTML, OWNER, names=known)[0] is page
    assert shelf.nearest(f"{BASE}/news/a", HTML, OWNER, names=names(near, far))[0] is near
    assert shelf.nearest(f"{BASE}/news/c", HTML, OWNER, names=names(near, far))[0] is near
    assert shelf.nearest(f"{BASE}/news/c", HTML, OWNER, names=names(far))[0] is far
    assert shelf.nearest(f"{BASE}/news/c", HTML, OWNER, names=set()) == []


def test_a_script_is_near_to_its_other_versions_alone() -> None:
    shelf = TextShelf(max_bytes=1 << 20)
    app, menu = (
        text(f"{BASE}/js/{name}", name, media=SCRIPT) for name in ("app.1f3.js", "menu.js")
    )
    shelf.keep(app)
    shelf.keep(menu)
    known = names(app, menu)
    assert shelf.nearest(f"{BASE}/js/app.9c2.js", SCRIPT, OWNER, names=known)[0] is app
    assert shelf.nearest(f"{BASE}/js/zoom.js", SCRIPT, OWNER, names=known) == []


def test_what_is_used_stays_and_what_goes_is_told() -> None:
    kept: list[str] = []
    dropped: list[str] = []
    shelf = TextShelf(
        max_bytes=2000,
        kept=lambda one: kept.append(one.url),
        dropped=lambda one: dropped.append(one.url),
    )
    texts = [text(f"{BASE}/{number}", str(number)) for number in range(4)]
    for one in texts[:3]:
        shelf.keep(one)
    shelf.used(texts[0], page=f"{BASE}/0")
    shelf.keep(texts[3])
    assert shelf.bytes <= shelf.max_bytes
    assert f"{BASE}/1" in dropped
    assert f"{BASE}/0" not in dropped
    assert kept == [one.url for one in texts]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.booleans()), max_size=40))
def test_bytes_are_those_of_what_is_there(steps: list[tuple[int, int, bool]]) -> None:
    shelf, there = TextShelf(max_bytes=4000), 0
    for url, body, forget in steps:
        if forget:
            shelf.forget(lambda one, url=url: one.url.endswith(str(url)))  # type: ignore[misc]
        else:
            shelf.keep(text(f"{BASE}/{url}", str(body) * 50))
        there = sum(one.cost for one in shelf)
        assert shelf.bytes == there <= shelf.max_bytes
        for one in shelf:
            assert shelf.find(one.digest, OWNER) is one


def test_a_shelf_without_room_keeps_nothing() -> None:
    shelf = TextShelf(max_bytes=0)
    shelf.keep(text(f"{BASE}/", "x"))
    assert not len(shelf)
    assert shelf.bytes == 0


def test_no_site_drives_out_all_others() -> None:
    shelf = TextShelf(max_bytes=16_000, places=4)
    quiet = text(f"{BASE}/", "quiet")
    shelf.keep(quiet)
    hostile = TextOwner("https://evil.example", b"", ("browser", "evil.example"))
    for number in range(300):
        shelf.keep(text(f"https://evil.example/{number}", f"{number}", owner=hostile))
    assert shelf.find(quiet.digest, OWNER) is quiet
    theirs = sum(one.cost for one in shelf if one.owner == hostile)
    assert 2_000 < theirs <= 4_000
    assert shelf.latest("https://evil.example/299", hostile) is not None, "its latest are there"


def test_however_small_they_are_only_so_many_are_kept() -> None:
    shelf = TextShelf(max_bytes=1 << 30)
    for number in range(MAX_TEXTS + 50):
        shelf.keep(text(f"{BASE}/{number}", str(number)))
    assert len(shelf) == MAX_TEXTS
    assert shelf.latest(f"{BASE}/{MAX_TEXTS + 49}", OWNER) is not None

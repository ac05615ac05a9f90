"""A text that was written as bytes is the same again, and nothing else is taken for one."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from coding.dictionary import Dictionary, TextGathering
from coding.owner import owner_of
from coding.stored_text import restored, stored
from tests.malformed import NESTED, NO_UTF8
from wire.fields import Headers

URL = "https://a.example/news"


def text(body: bytes, *, url: str = URL, asked: Headers | None = None) -> Dictionary:
    gathering = TextGathering()
    gathering.add(body)
    made = gathering.finish(owner_of(url, asked or []), url, media="text/html", page=url)
    assert made is not None
    return made


@given(st.binary(min_size=256, max_size=2000), st.text(max_size=30))
def test_it_is_the_same_again_without_the_page_that_used_it(body: bytes, cookie: str) -> None:
    kept = text(body, asked=[("cookie", f"who={cookie}")])
    again = restored(stored(kept), name=kept.name)
    assert again == kept.used_by("")
    assert again is not None
    assert again.text() == body


def test_it_has_its_own_name_alone() -> None:
    kept = text(b"a" * 300)
    assert restored(stored(kept), name=text(b"b" * 300).name) is None


@given(st.binary(max_size=200))
@example(b"\x97\xc4\x00" + NO_UTF8)
@example(stored(text(b"a" * 300)).replace(b"\x97", b"\x98", 1) + NESTED)
def test_bytes_of_any_sort_are_none(data: bytes) -> None:
    assert restored(data, name=data[:6]) is None


@given(st.data())
def test_whatever_is_changed_in_it_no_other_bytes_come_of_it(data: st.DataObject) -> None:
    body = bytes(range(256)) * 3
    kept = text(body)
    changed = bytearray(stored(kept))
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    again = restored(bytes(changed), name=kept.name)
    assert again is None or again.text() in (body, None)


def test_a_size_that_no_kept_text_has_is_refused() -> None:
    kept = text(b"a" * 300)
    for size in (0, 255, (1 << 20) + 1, 1 << 60):
        data = stored(Dictionary(kept.digest, kept.owner, URL, "text/html", "", kept.packed, size))
        assert restored(data, name=kept.name) is None

"""A search for names in a text that comes in pieces."""

from __future__ import annotations

import pytest

from web.script_names import READERS, NameSearch


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_name_is_found_however_the_text_is_cut(name: bytes, size: int) -> None:
    search, text = NameSearch(), b"let a = 1;\n" * 20 + b"x." + name + b"(y)"
    end = text.index(name) + len(name)
    for at in range(0, len(text), size):
        assert search.feed(text[at : at + size]) is (at + size >= end)
    assert search.found


def test_a_text_with_parts_of_names_has_none() -> None:
    search = NameSearch()
    for piece in (b"draw", b"", b"image", b"texI", b"age", b"texS"):
        assert not search.feed(piece)
    assert not search.found

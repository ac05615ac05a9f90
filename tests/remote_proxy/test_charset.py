"""A page's bytes become text in the charset that a browser would choose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.import_drivers.charset import PRESCAN, Decoder, from_content_type


def decoded(*pieces: bytes, **known: str | None) -> tuple[str, str]:
    decoder = Decoder(**known)
    text = "".join(decoder.feed(piece) for piece in pieces) + decoder.close()
    return text, decoder.encoding


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("text/html; charset=UTF-8", "utf-8"),
        ('text/html;charset="latin1"', "cp1252"),
        ("text/html; CHARSET=koi8-r", "koi8-r"),
        ("text/html; charset=klingon", None),
        ("text/html", None),
    ],
)
def test_the_header_s_parameter(content_type: str, name: str | None) -> None:
    assert from_content_type(content_type) == name


def test_a_byte_order_mark_goes_before_all_else() -> None:
    data = "<p>ü".encode("utf-16-le")
    assert decoded(b"\xff\xfe" + data, declared="cp1252") == ("<p>ü", "utf-16-le")
    assert decoded(b"\xef\xbb\xbf\xc3\xbc", declared="koi8-r") == ("ü", "utf-8")


def test_a_meta_element_counts_where_the_header_is_silent() -> None:
    page = b'<!-- <meta charset=koi8-r> --><meta charset="windows-1251">\xcf'
    assert decoded(page)[1] == "cp1251"
    assert decoded(page)[0].endswith("П")
    assert decoded(page, declared="cp1252")[0].endswith("Ï")


def test_a_page_that_can_be_searched_for_ascii_is_not_utf_16() -> None:
    assert decoded(b"<meta charset=utf-16>a")[1] == "utf-8"


def test_a_style_sheet_has_its_own_word_then_that_of_its_page() -> None:
    assert decoded(b'@charset "koi8-r";a{}', fallback="cp1251")[1] == "koi8-r"
    assert decoded(b"a{}", fallback="cp1251")[1] == "cp1251"


def test_without_any_word_it_is_utf_8_if_the_beginning_is() -> None:
    assert decoded("grün".encode())[1] == "utf-8"
    assert decoded(b"gr\xfcn") == ("grün", "cp1252")


def test_nothing_comes_out_before_the_charset_is_known() -> None:
    decoder = Decoder()
    assert decoder.feed(b"<p>" + b"x" * (PRESCAN - 4)) == ""
    assert decoder.feed(b"yz") == "<p>" + "x" * (PRESCAN - 4) + "yz"


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_however_it_is_cut_the_text_is_one(pieces: list[bytes]) -> None:
    assert decoded(*pieces) == decoded(b"".join(pieces))

"""The lines of a chunked body, however its bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.chunked import MAX_LINE, ChunkedLines, LineTooLong


class Reader:
    """Takes each size as it stands; a zero ends the body."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.walk = ChunkedLines(self.read)

    def read(self, line: bytes) -> None:
        self.lines.append(line)
        size = int(line, 16)
        self.walk.left = size + 2 if size else 0
        self.walk.over = not size


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(1, 9)))
def test_lines_are_the_same_however_the_body_is_cut(chunks: list[bytes], cuts: list[int]) -> None:
    sizes = [b"%x\r\n" % len(chunk) for chunk in chunks]
    body = b"".join(s + c + b"\r\n" for s, c in zip(sizes, chunks, strict=True)) + b"0\r\n"
    reader, rest = Reader(), body + b"7\r\nwhat follows is nobody's"
    for cut in cuts:
        reader.walk.feed(rest[:cut])
        rest = rest[cut:]
    reader.walk.feed(rest)
    assert reader.lines == [*sizes, b"0\r\n"]
    assert reader.walk.over


def test_a_line_may_be_so_long_and_no_longer() -> None:
    reader = Reader()
    reader.walk.feed(b"0" * (MAX_LINE - 2))
    reader.walk.feed(b"\r\n")
    assert reader.walk.over
    with pytest.raises(LineTooLong, match=str(MAX_LINE + 1)):
        Reader().walk.feed(b"0" * (MAX_LINE + 1))

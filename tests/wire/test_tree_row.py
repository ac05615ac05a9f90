"""A picture of the tree crosses the link in few bytes, and fits one message however large it is."""

from __future__ import annotations

import pytest

from wire import messages as m
from wire.errors import PeerError
from wire.tree_row import MAX_ROWS, TreeRow

ROW = TreeRow(3, "123456", 2, "low_fidelity_first", 1.0, 1 << 30, "text_first of the link", 5, True)


def test_it_comes_back_as_it_went() -> None:
    drawn = m.TreeDrawn([ROW, TreeRow(0, "", 0, "fifo", 0.5, 0)])
    assert m.decode(m.encode(drawn)) == drawn


def test_the_largest_picture_fits_a_message() -> None:
    assert len(m.encode(m.TreeDrawn([ROW] * MAX_ROWS))) < m.MAX_MESSAGE


@pytest.mark.parametrize("rows", [b"\x92\x2c\xa1x", b"\x92\x2c\x91\x91\x01", b"\x92\x2c"])
def test_what_is_no_picture_is_the_peer_s_fault(rows: bytes) -> None:
    with pytest.raises(PeerError):
        m.decode(rows)

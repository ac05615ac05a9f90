"""The strict check of chunked bodies: whole, cut anywhere, with requests behind them."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.front.http1.chunks import MAX_ASIDE, ChunkCheck
from local_proxy.http.request_rules import RefusedRequest
from web.chunked import MAX_LINE

NEXT = b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
GOOD = b"3;x=y\r\na\nb\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n"


def check(data: bytes, *, step: int = 1 << 20, limit: int = 100) -> ChunkCheck:
    seen = ChunkCheck(limit=limit)
    for at in range(0, len(data), step):
        seen.feed(data[at : at + step])
    return seen


@given(st.integers(1, len(GOOD) + len(NEXT)))
def test_a_good_body_cut_anywhere(step: int) -> None:
    assert check(GOOD + NEXT, step=step).finished
    assert not check(GOOD[:-1], step=step).finished


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"3\nabc\r\n", 400),
        (b"3 \r\nabc\r\n", 400),
        (b"3\r\nabcd\r\n0\r\n\r\n", 400),
        (b"3;a\rb\r\nabc\r\n", 400),
        (b"3" + b";" * MAX_LINE, 400),
        ((b"1;" + b"x" * 8000 + b"\r\na\r\n") * 3, 400),
        (b"0\r\n" + b"X: y\r\n" * (MAX_ASIDE // 6 + 1), 400),
        (b"0\r\nHost : a\r\n", 400),
        (b"0\r\nContent-length: 4\r\n", 400),
        (b"0\r\nX: y\n", 400),
        (b"65\r\n", 413),
        (b"64\r\n" + b"a" * 100 + b"\r\n1\r\n", 413),
        (b"FFFFFFFFFFFFFFFFFFFF\r\n", 413),
    ],
)
def test_what_has_no_one_meaning_is_refused(data: bytes, status: int, step: int) -> None:
    with pytest.raises(RefusedRequest) as refused:
        check(data, step=step)
    assert refused.value.status == status


@given(st.binary(max_size=60), st.integers(1, 60))
def test_what_passes_h11_reads_the_same(junk: bytes, step: int) -> None:
    """Where the check sees the end, h11 sees it too, and the same bytes behind it."""
    seen = ChunkCheck(limit=1000)
    http = h11.Connection(h11.SERVER)
    http.receive_data(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    http.next_event()
    try:
        for at in range(0, len(junk), step):
            seen.feed(junk[at : at + step])
    except RefusedRequest:
        return
    if junk:
        http.receive_data(junk)
    while isinstance(event := http.next_event(), h11.Data):
        pass
    assert isinstance(event, h11.EndOfMessage) == seen.finished

"""Segments and their seconds, as HLS playlists list them."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.playing.playlists import LONGEST, MOST, Playlist

URL = "https://a.example/films/one/index.m3u8"


def segments(text: str | bytes) -> list[tuple[str, float]]:
    playlist = Playlist(URL)
    data = text.encode() if isinstance(text, str) else text
    for at in range(0, len(data), 7):
        playlist.feed(data[at : at + 7])
    return [*playlist.segments()]


def test_each_segment_has_its_address_and_its_seconds() -> None:
    text = (
        "#EXTM3U\r\n#EXT-X-TARGETDURATION:6\r\n#EXTINF:6.006,a title, or two\r\n0.ts\r\n"
        "#EXTINF:4,\r\n/films/1.ts?x=1\r\n\r\n#EXTINF:2.5\r\nhttps://b.example/2.ts\r\n"
        "#EXT-X-ENDLIST\r\n"
    )
    assert segments(text) == [
        ("https://a.example/films/one/0.ts", 6.006),
        ("https://a.example/films/1.ts?x=1", 4.0),
        ("https://b.example/2.ts", 2.5),
    ]


def test_lists_of_lists_parts_of_one_file_and_nonsense_have_none() -> None:
    assert segments("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=500000\nlow.m3u8\n") == []
    assert segments("#EXTM3U\n#EXTINF:4,\n#EXT-X-BYTERANGE:900@0\nall.ts\n") == []
    assert segments("#EXTM3U\n#EXTINF:soon,\n0.ts\n#EXTINF:-1,\n1.ts\n#EXTINF:nan,\n2.ts\n") == []
    assert segments("<html>#EXTINF:4,\n0.ts") == []
    assert segments("#EXTM3U\n#EXTINF:4,\nhttp://[\n") == []


def test_a_list_without_end_is_read_so_far() -> None:
    line = "#EXTINF:4,\n0.ts\n"
    found = segments("#EXTM3U\n" + line * (2 * LONGEST // len(line)))
    assert len(found) == MOST


def test_a_list_at_a_long_address_is_read_in_little_time() -> None:
    playlist = Playlist("http://a.example/" + "a/" * 4000)
    playlist.feed(b"#EXTM3U\n" + b"#EXTINF:4,\n0.ts\n" * 65_000)
    began = time.process_time()
    assert [*playlist.segments()] == []
    assert time.process_time() - began < 1.0


def test_a_signed_address_may_be_long() -> None:
    playlist = Playlist("http://a.example/x.m3u8?key=" + "k" * 4000)
    playlist.feed(b"#EXTM3U\n#EXTINF:4,\n0.ts\n")
    assert [*playlist.segments()] == [("http://a.example/0.ts", 4.0)]


@given(st.binary(max_size=400) | st.text(max_size=200))
def test_whatever_comes_is_read(text: str | bytes) -> None:
    for piece in ("", "#EXTM3U\n"):
        for address, seconds in segments(
            piece + text if isinstance(text, str) else piece.encode() + text
        ):
            assert address
            assert 0 < seconds <= 3600

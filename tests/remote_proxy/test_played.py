"""Tests of what is known of a session's films: by headers, by playlists, and from earlier."""

from __future__ import annotations

import tracemalloc
import urllib.parse

import pytest

from remote_proxy.playing.played import MARGIN, REMEMBERED, PlayedRates
from remote_proxy.playing.playing import Playing
from scheduling.guarantees import Guarantees
from scheduling.tree import Tree
from tests.remote_proxy.test_containers import mp4
from wire.fields import Headers
from wire.messages import MAX_URL
from wire.skeleton import Kind

URL = "https://a.example/film.mp4"
WHOLE: Headers = [("content-length", "4000000")]
RANGE: Headers = [("content-length", "9"), ("content-range", "bytes 3999991-3999999/4000000")]


class Session:
    """Its films, and the rates that were wanted."""

    def __init__(self) -> None:
        self.rates = PlayedRates()
        self.wanted: list[float] = []

    def play(self, url: str, headers: Headers, *pieces: bytes, kind: Kind = Kind.MEDIA) -> int:
        """How many pieces were looked at."""
        file = self.rates.listen(url, kind, headers, wanted=self.wanted.append)
        looked = 0
        for piece in pieces if file is not None else ():
            assert file is not None
            looked += 1
            if not file.feed(piece):
                break
        return looked


def test_a_film_is_asked_for_in_ranges_and_its_header_comes_once() -> None:
    session = Session()
    assert session.play(URL, WHOLE, mp4(40.0), bytes(9)) == 1
    session.play(URL, RANGE, bytes(9))
    assert session.wanted == [MARGIN * 100_000.0] * 2


def test_a_header_at_the_end_is_asked_for_in_a_range_and_is_of_all_ranges() -> None:
    session = Session()
    session.play(URL, WHOLE, b"\0\0\0\x18ftypmp42", b"\0\x3d\x08\x2fmdat" + bytes(100_000))
    assert session.wanted == [], "the first one says nothing"
    at_the_end = [("content-length", "900"), ("content-range", "bytes 3999100-3999999/4000000")]
    session.play(URL, at_the_end, mp4(40.0))
    session.play(URL, [("content-range", "bytes 48-3999099/4000000")], bytes(9))
    assert session.wanted == [MARGIN * 100_000.0] * 2


def test_a_header_that_comes_byte_by_byte_is_read() -> None:
    session = Session()
    whole = mp4(40.0)
    looked = session.play(URL, WHOLE, *(whole[at : at + 1] for at in range(len(whole))), bytes(900))
    assert session.wanted == [MARGIN * 100_000.0]
    assert looked <= len(whole) + 1


def test_a_segments_rate_is_its_length_over_the_seconds_of_its_playlist() -> None:
    session = Session()
    playlist = session.rates.playlist("https://a.example/x.m3u8", "audio/mpegurl")
    assert playlist is not None
    playlist.feed(b"#EXTM3U\n#EXTINF:4,\n0.ts\n")
    assert list(session.rates.read(playlist))
    session.play("https://a.example/0.ts", [("content-length", "200000")])
    session.play("https://a.example/1.ts", [("content-length", "200000")], bytes(100_000))
    assert session.wanted == [MARGIN * 50_000.0]
    assert session.rates.playlist(URL, "video/mp4") is None


def test_what_is_no_film_is_not_looked_at() -> None:
    session = Session()
    assert session.play(URL, WHOLE, mp4(40.0), kind=Kind.IMAGE) == 0
    assert session.wanted == []


def test_so_many_are_remembered() -> None:
    session = Session()
    for number in range(REMEMBERED + 1):
        session.play(f"{URL}{number}", WHOLE, mp4(40.0))
    session.wanted.clear()
    session.play(f"{URL}1", RANGE, b"")
    assert len(session.wanted) == 1
    assert session.play(f"{URL}0", RANGE, b"") == 1, "the oldest is read anew"


@pytest.mark.parametrize(("length", "known"), [(MAX_URL - 10, True), (200_000, False)])
def test_long_addresses_take_little_memory(length: int, known: bool) -> None:
    session, long = Session(), "x" * length
    tracemalloc.start()
    for number in range(1_000, 1_400):
        playlist = session.rates.playlist(URL, "audio/mpegurl")
        assert playlist is not None
        playlist.feed(f"#EXTM3U\n#EXTINF:4,\n{number}{long}\n".encode())
        assert bool(list(session.rates.read(playlist))) is known
    del playlist
    urllib.parse.clear_cache()  # type: ignore[attr-defined]  # it keeps the latest hundred or so
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 400_000, "of 3.2 MB, or 80"
    session.play(f"https://a.example/1007{long}", [("content-length", "200000")])
    assert session.wanted == ([MARGIN * 50_000.0] if known else [])


def test_the_rate_is_told_of_the_component() -> None:
    tree = Tree(quantum=1000)
    guarantees = Guarantees(tree)
    playing = Playing(guarantees)
    leaf = tree.leaf(1, 2, kind="media", order=0)
    tree.hierarchy.enqueue(leaf, 900)
    file = playing.listen(2, URL, Kind.MEDIA, WHOLE)
    assert file is not None
    file.feed(mp4(40.0))
    guarantees.look(0.0, link=1e6)
    assert tree.promised.reservations.rate(leaf) == 0.0, "nobody plays it"
    guarantees.want(2, on=True)
    guarantees.look(1.0, link=1e6)
    assert tree.promised.reservations.rate(leaf) == MARGIN * 100_000.0
    assert list(playing.read(None)) == []
    assert playing.playlist(URL, "video/mp4") is None

"""Tests of DASH manifests: which addresses play at which rate."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.playing.manifests import (
    COUNTS,
    NAMED,
    REPRESENTATIONS,
    Manifest,
    PlayedAddress,
)
from remote_proxy.playing.played import MARGIN, PATTERNS, PlayedRates
from remote_proxy.playing.playlists import LONGEST
from wire.messages import MAX_URL
from wire.skeleton import Kind

URL = "https://a.example/films/one/manifest.mpd"
TEMPLATE = """<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period>
  <AdaptationSet mimeType="video/mp4">
    <SegmentTemplate media="$RepresentationID$/$Number%05d$.m4s" initialization="i" duration="4"/>
    <Representation id="low" bandwidth="400000"/>
    <Representation id="high+" bandwidth="1600000"/>
  </AdaptationSet>
  <AdaptationSet mimeType="audio/mp4"><BaseURL>/sound/</BaseURL>
    <Representation id="a" bandwidth="64000">
      <SegmentTemplate media="$Bandwidth$-$Time$.m4s?x=$$1"/></Representation>
  </AdaptationSet>
</Period></MPD>"""


def read(text: str | bytes) -> list[PlayedAddress]:
    manifest = Manifest(URL)
    data = text.encode() if isinstance(text, str) else text
    for at in range(0, len(data), 1000):
        manifest.feed(data[at : at + 1000])
    return [*manifest.addresses()]


def rate_of(found: list[PlayedAddress], url: str) -> float | None:
    return next((one.rate for one in found if one.pattern().fullmatch(url)), None)


@pytest.mark.parametrize(
    ("address", "rate"),
    [
        ("https://a.example/films/one/low/00001.m4s", 50_000.0),
        ("https://a.example/films/one/high+/12345678.m4s", 200_000.0),
        ("https://a.example/films/one/highh/1.m4s", None),
        ("https://a.example/films/one/low/.m4s", None),
        ("https://a.example/films/one/low/1.m4s?t=1", None),
        ("https://b.example/films/one/low/00001.m4s", None),
        ("https://a.example/sound/64000-900000.m4s?x=$1", 8_000.0),
        ("https://a.example/sound/64001-900000.m4s?x=$1", None),
    ],
)
def test_segments_of_a_template_have_their_representations_rate(
    address: str, rate: float | None
) -> None:
    assert rate_of(read(TEMPLATE), address) == rate


def test_segments_that_are_listed_and_whole_files() -> None:
    found = read(
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>https://c.example/</BaseURL><Period>'
        "<AdaptationSet><SegmentList>"
        '<SegmentURL media="1.m4s"/><SegmentURL media="2.m4s"/></SegmentList>'
        '<Representation bandwidth="800000"/></AdaptationSet>'
        '<AdaptationSet><Representation bandwidth="160000"><BaseURL> all.mp4 </BaseURL>'
        "</Representation></AdaptationSet></Period></MPD>"
    )
    assert [(one.address, one.rate, one.counts) for one in found] == [
        ("https://c.example/1.m4s", 100_000.0, False),
        ("https://c.example/2.m4s", 100_000.0, False),
        ("https://c.example/all.mp4", 20_000.0, False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<MPD",
        "<html/>",
        "#EXTM3U",
        '<!DOCTYPE MPD [<!ENTITY a SYSTEM "file:///etc/passwd">]><MPD>&a;</MPD>',
        TEMPLATE.replace("400000", "-1").replace("1600000", "9" * 40).replace("64000", "soon"),
        TEMPLATE.replace("https", "http").replace("$Number", "http://[$Number")[:400],
    ],
)
def test_what_is_none_has_no_addresses(text: str) -> None:
    assert read(text) == []


def test_addresses_and_representations_are_so_many_at_most() -> None:
    one = '<Representation id="{}" bandwidth="64000"><BaseURL>{}</BaseURL></Representation>'
    many = "".join(one.format(n, n) for n in range(3 * REPRESENTATIONS))
    mpd = "<MPD><Period><AdaptationSet>{}</AdaptationSet></Period></MPD>"
    assert len(read(mpd.format(many))) == REPRESENTATIONS
    listed = '<SegmentURL media="1.m4s"/>' * (2 * NAMED)
    whole = (
        f'<Representation bandwidth="64000"><SegmentList>{listed}</SegmentList></Representation>'
    )
    assert len(read(mpd.format(whole))) == NAMED
    assert read(mpd.format(one.format(1, "x" * (MAX_URL + 1)))) == []
    assert read(TEMPLATE + " " * LONGEST) == []


def seconds(text: str) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began


def test_a_hostile_manifest_is_read_in_little_time() -> None:
    mpd = "<MPD><Period><AdaptationSet>{}</AdaptationSet></Period></MPD>"
    many = '<Representation id="a" bandwidth="64000"/>' * REPRESENTATIONS
    no_address = '<SegmentURL media="http://["/>' * 30_000
    assert seconds(mpd.format(f"<SegmentList>{no_address}</SegmentList>{many}")) < 1.0
    assert seconds(mpd.format("<SegmentTemplate/>" * 50_000 + many)) < 1.0
    names = f'<SegmentTemplate media="{"$RepresentationID$" * 4000}"/>'
    long = f'<Representation id="{"i" * 500_000}" bandwidth="64000"/>'
    assert read(mpd.format(names + long)) == []


def test_entities_that_grow_do_not() -> None:
    grow = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(12))
    text = f'<!DOCTYPE MPD [<!ENTITY e0 "x">{grow}]><MPD><BaseURL>&e12;</BaseURL></MPD>'
    began = time.process_time()
    assert read(text) == []
    assert time.process_time() - began < 1.0


def test_a_hostile_template_is_matched_in_little_time() -> None:
    mpd = (
        '<MPD><Period><AdaptationSet><Representation id="a" bandwidth="64000">'
        '<SegmentTemplate media="{}!"/></Representation></AdaptationSet></Period></MPD>'
    )
    assert read(mpd.format("$Number$" * (COUNTS + 1))) == []
    (found,) = read(mpd.format("$Number$" * COUNTS))
    began = time.process_time()
    assert found.pattern().fullmatch("https://a.example/films/one/" + "1" * 3000) is None
    assert time.process_time() - began < 0.5


def test_a_segment_that_passes_has_the_rate_that_its_manifest_says() -> None:
    rates, wanted = PlayedRates(), list[float]()
    manifest = rates.playlist(URL, "application/dash+xml")
    assert isinstance(manifest, Manifest)
    manifest.feed(TEMPLATE.encode())
    assert list(rates.read(manifest))
    address = "https://a.example/films/one/low/00007.m4s"
    assert rates.listen(address, Kind.MEDIA, [], wanted=wanted.append) is None
    assert wanted == [pytest.approx(50_000.0)], "a manifest's bandwidth has its margin"
    assert rates.listen(address, Kind.IMAGE, [], wanted=wanted.append) is None
    assert len(wanted) == 1
    assert MARGIN > 1


def test_so_many_templates_are_remembered() -> None:
    rates, wanted = PlayedRates(), list[float]()
    for number in range(PATTERNS + 1):
        manifest = rates.playlist(f"https://a.example/{number}/m.mpd", "application/dash+xml")
        assert manifest is not None
        manifest.feed(
            TEMPLATE.replace("</AdaptationSet>\n  <Adap", "</AdaptationSet><Adap").encode()
        )
        assert list(rates.read(manifest))
    for number, known in ((0, False), (PATTERNS, True)):
        address = f"https://a.example/{number}/low/1.m4s"
        assert (rates.listen(address, Kind.MEDIA, [], wanted=wanted.append) is None) is known


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_whatever_comes_is_read(piece: str | bytes) -> None:
    read(piece)
    text = piece.decode("latin-1") if isinstance(piece, bytes) else piece
    for found in read(TEMPLATE.replace("$RepresentationID$/", text)):
        assert found.rate > 0
        found.pattern()

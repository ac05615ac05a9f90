"""Rates that are read from the beginnings of files, and what must not be taken for one."""

from __future__ import annotations

import io
import struct
import wave

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.playing.containers import ENOUGH, rate_of
from tests.conformance.media import FRAME_MS, FRAMES, film


def box(name: bytes, *content: bytes) -> bytes:
    data = b"".join(content)
    return struct.pack(">I", 8 + len(data)) + name + data


def mp4(seconds: float, *, version: int = 0, timescale: int = 600) -> bytes:
    ticks = int(seconds * timescale)
    form = ">QQIQ" if version else ">IIII"
    header = bytes([version, 0, 0, 0]) + struct.pack(form, 0, 0, timescale, ticks)
    return box(b"ftyp", b"isom") + box(b"moov", box(b"mvhd", header, bytes(80)))


def fragmented(seconds: float) -> bytes:
    header = bytes(4) + struct.pack(">IIII", 0, 0, 1000, 0)
    extends = box(b"mehd", bytes(4) + struct.pack(">I", int(seconds * 1000)))
    return box(b"ftyp", b"iso5") + box(b"moov", box(b"mvhd", header), box(b"mvex", extends))


def ogg(first: bytes, *positions: int, size: int, serials: tuple[int, ...] = (7,)) -> bytes:
    """Pages of `size` bytes that end at these positions, behind two of headers."""
    pages, whole = [(0, first), (0, b"comments"), *((one, b"") for one in positions)], b""
    for number, (position, content) in enumerate(pages):
        lacing = bytes([255] * ((size - 27) // 256)) if not content else bytes([len(content)])
        body = content or bytes(255 * len(lacing))
        serial = serials[number % len(serials)]
        whole += b"OggS\0\0" + struct.pack("<qIII", position, serial, number, 0)
        whole += bytes([len(lacing)]) + lacing + body
    return whole


OPUS = b"OpusHead\x01\x02" + bytes(9)
VORBIS = b"\x01vorbis" + struct.pack("<IBI", 0, 2, 44_100) + bytes(14)


def segment(*parts: tuple[int, float]) -> bytes:
    head = bytes(4) + struct.pack(">IIIIHH", 1, 90_000, 0, 0, 0, len(parts))
    lines = [struct.pack(">III", size, int(seconds * 90_000), 0) for size, seconds in parts]
    return box(b"styp", b"msdh") + box(b"sidx", head, *lines)


def mp3(*, frames: int = 0) -> bytes:
    """128 kbit/s, 44.1 kHz; with a Xing header, if that says a number of frames."""
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    if frames:
        xing = b"Xing" + struct.pack(">II", 1, frames)
        frame = frame[:36] + xing + frame[36 + len(xing) :]
    tag = b"ID3\x04\x00\x00\x00\x00\x02\x00" + bytes(256)
    return tag + frame * 10


def adts(count: int = 20, length: int = 372) -> bytes:
    """At 44.1 kHz."""
    packed = (0xFFF1 << 40) | (1 << 38) | (4 << 34) | (1 << 30) | (length << 13) | (0x7FF << 2)
    return (packed.to_bytes(7, "big") + bytes(length - 7)) * count


def flac(seconds: int) -> bytes:
    packed = 44_100 << 44 | 1 << 41 | 15 << 36 | 44_100 * seconds
    return b"fLaC\x80\x00\x00\x22" + bytes(10) + packed.to_bytes(8, "big") + bytes(16)


def pcm(hertz: int) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setparams((1, 1, hertz, 0, "NONE", ""))
        sound.writeframes(bytes(hertz))
    return made.getvalue()


@pytest.mark.parametrize(
    ("head", "total", "rate"),
    [
        (mp4(40.0), 4_000_000, 100_000.0),
        (mp4(40.0, version=1), 4_000_000, 100_000.0),
        (fragmented(20.0), 1_000_000, 50_000.0),
        (segment((60_000, 2.0), (40_000, 2.0)), None, 25_000.0),
        (film(), 80_000, 80_000 / (FRAMES * FRAME_MS / 1000)),
        (mp3(), None, 16_000.0),
        (mp3(frames=4410), 1_152_000, 10_000.0),
        (adts(), None, 372 * 44_100 / 1024),
        (flac(30), 3_000_000, 100_000.0),
        (pcm(8_000), None, 8_000.0),
    ],
)
def test_a_files_rate_is_read_from_its_beginning(
    head: bytes, total: int | None, rate: float
) -> None:
    found = rate_of(head, total=total)
    assert found == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xff\xd8\xff\xe0 a photo",
        b"<!doctype html><p>mvhd",
        b"mvhd",
        mp4(0.0),
        mp4(8 * 86_400, timescale=1),
        box(b"moov", box(b"mvhd", bytes(12) + bytes(4) + b"\xff\xff\xff\xff")),
        segment(),
        segment((0, 1.0)),
        segment((1, 0.0)),
        b"RIFF\x00\x00\x00\x00WAVEfmt ",
        b"fLaC\x80\x00\x00\x22" + bytes(34),
        b"\xff\xfb\xf0\x00" + bytes(400),
        adts(3),
        b"\x1a\x45\xdf\xa3\x44\x89\x88" + struct.pack(">d", float("nan")),
        b"OggS" + bytes(100),
        b"\x1a\x45\xdf\xa3" + b"\x44\x89" * 40_000,
    ],
)
def test_what_says_nothing_has_no_rate(head: bytes) -> None:
    assert rate_of(head, total=1_000_000) is None


def test_without_a_length_of_the_file_its_time_says_nothing() -> None:
    assert rate_of(mp4(40.0), total=None) is None


WHOLE = [mp4(40.0), fragmented(20.0), segment((9, 1.0)), film(), mp3(), adts(), flac(3), pcm(8_000),
         ogg(VORBIS, *range(22_050, 400_000, 22_050), size=1_000)]  # fmt: skip


@given(st.sampled_from(WHOLE), st.data())
def test_whatever_comes_is_a_rate_or_none(whole: bytes, data: st.DataObject) -> None:
    broken = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 6)) if broken else 0):
        place = data.draw(st.integers(0, len(broken) - 1))
        broken[place] = data.draw(st.integers(0, 255))
    rate = rate_of(bytes(broken), total=data.draw(st.none() | st.integers(0, 1 << 60)))
    assert rate is None or 0 < rate < float("inf")


def test_only_so_much_is_looked_at() -> None:
    assert rate_of(bytes(ENOUGH) + mp4(40.0), total=4_000_000) is None


def test_oggs_rate_is_that_of_its_first_pages() -> None:
    size = 27 + 16 * 256
    opus = ogg(OPUS, *(48_000 * n for n in range(1, 13)), size=size)
    assert rate_of(opus, total=None) == pytest.approx(size)
    vorbis = ogg(VORBIS, *(22_050 * n for n in range(1, 13)), size=size)
    assert rate_of(vorbis, total=9_999_999) == pytest.approx(2 * size)
    assert rate_of(opus[: 4 * size], total=None) == pytest.approx(size), "as much as is here"


def test_ogg_that_can_not_be_told_has_none() -> None:
    size, positions = 27 + 16 * 256, [48_000 * n for n in range(1, 13)]
    assert rate_of(ogg(OPUS, *positions[:2], size=size), total=None) is None, "too short to tell"
    assert rate_of(ogg(OPUS, *positions, size=size, serials=(7, 8)), total=None) is None
    assert rate_of(ogg(b"\x80theora" + bytes(40), *positions, size=size), total=None) is None
    assert rate_of(ogg(OPUS, *[-1] * 12, size=size), total=None) is None
    assert rate_of(ogg(OPUS, *reversed(positions), size=size), total=None) is None

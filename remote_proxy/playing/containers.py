"""Reads from the beginning of a sound or film file how long it plays, or at which rate. Pure.

    ISO BMFF (MP4, M4A, fMP4)   movie header, movie extends header, segment index (ISO 14496-12)
    Matroska (WebM)             Duration and TimestampScale of Info (RFC 9559, 5.1.2)
    MPEG audio (MP3)            Xing or Info header, else the first frame's bit rate (ISO 11172-3)
    AAC in ADTS                 its frames' lengths (ISO 14496-3, 1.A.2)
    WAVE, FLAC                  the format chunk; STREAMINFO (RFC 9639, 8.2)
    Ogg with Opus or Vorbis     its first pages' positions (RFC 3533, 6; RFC 7845, 4; Vorbis I, A.2)

What is read here is anybody's claim: a rate is only ever asked for, and given as far as the link
carries it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

ENOUGH: Final = 65_536
"""Bytes of a file in which its headers are looked for."""
LONGEST: Final = 7 * 86_400.0
"""Seconds that a file may say it plays."""
_MATROSKA: Final = b"\x1a\x45\xdf\xa3"
_DURATION: Final = b"\x44\x89"
_FLOATS: Final = {4: ">f", 8: ">d"}
_SCALE: Final = b"\x2a\xd7\xb1"
_SCALE_UNIT: Final = 1_000_000
"""Nanoseconds of a tick, where no other is said."""
_MP3_RATES: Final = {
    1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Kilobit/second of layer III, of MPEG 1, and of 2 and 2.5."""
_MP3_HERTZ: Final = {
    3: (44_100, 48_000, 32_000),
    2: (22_050, 24_000, 16_000),
    0: (11_025, 12_000, 8_000),
}
_ADTS_HERTZ: Final = (
    *(96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000),
    *(11_025, 8_000, 7_350),
)
_ADTS_LEAST: Final = 8
_ADTS_MOST: Final = 64
"""Frames by which a rate is told."""
_OGG_SECONDS: Final = 2.0
"""Of an Ogg file by which its rate is told."""
_TRIES: Final = 64
"""Places at which an element may seem to begin: a file can be made of nothing else."""


def rate_of(head: bytes, *, total: int | None) -> float | None:
    """Bytes/second at which a file is played that begins so, or part of one; None: not known.

    `total`: bytes of the whole file, None: not known.
    """
    head = head[:ENOUGH]
    for read in (_index, _wave, _mp3_rate, _adts, _ogg):
        rate = _sane(lambda read=read: read(head))  # type: ignore[misc]
        if rate:
            return rate
    for length in (_movie, _fragments, _matroska, _mp3_length, _flac):
        seconds = _sane(lambda length=length: length(head))  # type: ignore[misc]
        if seconds and total and seconds <= LONGEST:
            return total / seconds
    return None


def _sane(read: Callable[[], float | None]) -> float | None:
    try:
        found = read()
    except (struct.error, IndexError, ZeroDivisionError, OverflowError):
        return None
    return found if found is not None and math.isfinite(found) and found > 0 else None


# -- ISO BMFF ----------------------------------------------------------------------------------


def _movie(head: bytes) -> float | None:
    """Seconds, by the movie header; 0 in one whose fragments follow."""
    at = head.find(b"mvhd")
    if at < 0:
        return None
    if head[at + 4]:
        scale, duration = struct.unpack_from(">IQ", head, at + 24)
    else:
        scale, duration = struct.unpack_from(">II", head, at + 16)
    return float(duration / scale)


def _fragments(head: bytes) -> float | None:
    """Seconds of all fragments together, by the movie extends header."""
    movie, at = head.find(b"mvhd"), head.find(b"mehd")
    if movie < 0 or at < 0:
        return None
    scale_at = movie + (24 if head[movie + 4] else 16)
    (scale,) = struct.unpack_from(">I", head, scale_at)
    (duration,) = struct.unpack_from(">Q" if head[at + 4] else ">I", head, at + 8)
    return float(duration / scale)


def _index(head: bytes) -> float | None:
    """Bytes/second of the subsegments that a segment index lists."""
    at = head.find(b"sidx")
    if at < 0:
        return None
    (scale,) = struct.unpack_from(">I", head, at + 12)
    first = at + (36 if head[at + 4] else 28)
    (count,) = struct.unpack_from(">H", head, first - 2)
    size = ticks = 0
    for number in range(count):
        reference, duration = struct.unpack_from(">II", head, first + 12 * number)
        size, ticks = size + (reference & 0x7FFFFFFF), ticks + duration
    return float(size * scale / ticks)


# -- others ------------------------------------------------------------------------------------


def _matroska(head: bytes) -> float | None:
    if not head.startswith(_MATROSKA):
        return None
    duration, scale = _element(head, _DURATION), _element(head, _SCALE)
    if len(duration) not in _FLOATS:
        return None
    (ticks,) = struct.unpack(_FLOATS[len(duration)], duration)
    return float(ticks) * (int.from_bytes(scale, "big") or _SCALE_UNIT) / 1e9


def _element(head: bytes, name: bytes) -> bytes:
    """The first of that name whose length can be one of a number (RFC 8794, 4.4)."""
    at = -1
    for _ in range(_TRIES):
        at = head.find(name, at + 1)
        if at < 0:
            break
        begins = at + len(name)
        width = 9 - head[begins].bit_length() if begins < len(head) else 9
        if width <= 8:
            size = int.from_bytes(head[begins : begins + width], "big") & ((1 << 7 * width) - 1)
            if size <= 8 and begins + width + size <= len(head):
                return head[begins + width : begins + width + size]
    return b""


def _wave(head: bytes) -> float | None:
    """Bytes/second, as the format chunk says."""
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        return None
    at = head.find(b"fmt ")
    return None if at < 0 else float(struct.unpack_from("<I", head, at + 16)[0])


def _flac(head: bytes) -> float | None:
    if not head.startswith(b"fLaC"):
        return None
    packed = int.from_bytes(head[18:26], "big")
    return float((packed & 0xFFFFFFFFF) / (packed >> 44))


def _after_tag(head: bytes) -> int:
    """Where audio begins: behind an ID3 tag (ID3v2.4, 3.1), if there is one."""
    if head[:3] != b"ID3":
        return 0
    size = 0
    for byte in head[6:10]:
        size = size << 7 | byte & 0x7F
    return size + 10


def _mp3_frame(head: bytes) -> tuple[int, int, int, int] | None:
    """Where the first frame begins, its bit/second, its samples a second and in it."""
    at = _after_tag(head)
    if at + 4 > len(head) or head[at] != 0xFF or head[at + 1] & 0xE6 != 0xE2:
        return None  # not layer III
    version = head[at + 1] >> 3 & 3
    rates, hertz = _MP3_RATES[1 if version == 3 else 2], _MP3_HERTZ.get(version)
    bits, tone = head[at + 2] >> 4, head[at + 2] >> 2 & 3
    if hertz is None or tone == 3 or not 0 < bits < 15:
        return None
    return at, rates[bits] * 1000, hertz[tone], 1152 if version == 3 else 576


def _mp3_info(head: bytes) -> int:
    """Frames of the file, as a Xing or Info header says; 0: there is none."""
    frame = _mp3_frame(head)
    begins = 0 if frame is None else frame[0]
    first = head[begins : begins + 256]
    at = max(first.find(b"Xing"), first.find(b"Info"))
    if frame is None or at < 0 or not first[at + 7] & 1:
        return 0
    return int(struct.unpack_from(">I", first, at + 8)[0])


def _mp3_rate(head: bytes) -> float | None:
    frame = _mp3_frame(head)
    return None if frame is None or _mp3_info(head) else frame[1] / 8


def _mp3_length(head: bytes) -> float | None:
    frame = _mp3_frame(head)
    return None if frame is None else _mp3_info(head) * frame[3] / frame[2]


def _adts(head: bytes) -> float | None:
    at = begins = _after_tag(head)
    frames = hertz = 0
    while frames < _ADTS_MOST and head[at : at + 1] == b"\xff" and head[at + 1] & 0xF6 == 0xF0:
        hertz = _ADTS_HERTZ[head[at + 2] >> 2 & 0xF]
        length = (head[at + 3] & 3) << 11 | head[at + 4] << 3 | head[at + 5] >> 5
        if length < 7:
            break
        at, frames = at + length, frames + 1
    return None if frames < _ADTS_LEAST else (at - begins) * hertz / (1024 * frames)


def _ogg(head: bytes) -> float | None:
    """Bytes/second of the first pages; None where several streams are in one."""
    hertz, began, at = _ogg_hertz(head), None, 0
    rate = None
    while hertz and head[at : at + 4] == b"OggS" and head[14:18] == head[at + 14 : at + 18]:
        (position,) = struct.unpack_from("<q", head, at + 6)
        segments = head[at + 26]
        at += 27 + segments + sum(head[at + 27 : at + 27 + segments])
        if at > len(head):
            break
        if position <= 0:
            continue  # headers, or a packet that goes on
        if began is None:
            began = position, at
        elif position > began[0] and (seconds := (position - began[0]) / hertz) >= _OGG_SECONDS:
            rate = (at - began[1]) / seconds
    return rate


def _ogg_hertz(head: bytes) -> int:
    """Positions of a second; 0: it is none of which that is known."""
    packet = head[27 + head[26] :] if head.startswith(b"OggS") else b""
    if packet.startswith(b"OpusHead"):
        return 48_000
    return int(struct.unpack_from("<I", packet, 12)[0]) if packet.startswith(b"\x01vorbis") else 0

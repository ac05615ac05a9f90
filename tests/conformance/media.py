"""A second of sound and two seconds of film, made here, without any tool.

The film is WebM (RFC 9559) whose frames are VP8 key frames: a lossy WebP file is one such frame
with a header of 20 bytes (WebP container, "VP8 " chunk).
"""

from __future__ import annotations

import io
import struct
import wave
from functools import cache

from PIL import Image

RATE = 8000
"""Samples a second."""
FRAMES, FRAME_MS = 40, 50


@cache
def sound() -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(b"".join(struct.pack("<h", at * 37 % 2000) for at in range(RATE)))
    return out.getvalue()


def _element(name: str, body: bytes) -> bytes:
    return bytes.fromhex(name) + (0x0100_0000_0000_0000 | len(body)).to_bytes(8) + body


def _number(name: str, value: int) -> bytes:
    return _element(name, value.to_bytes(max(1, (value.bit_length() + 7) // 8)))


def _frame(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 48), (number * 6, 90, 240 - number * 6)).save(out, "WEBP", quality=60)
    data = out.getvalue()
    assert data[12:16] == b"VP8 "
    return data[20 : 20 + struct.unpack("<I", data[16:20])[0]]


@cache
def film() -> bytes:
    """Forty frames, a cluster for every tenth, and cues to find them by."""
    head = _element(
        "1a45dfa3",
        _number("4286", 1) + _number("42f7", 1) + _number("42f2", 4) + _number("42f3", 8)
        + _element("4282", b"webm") + _number("4287", 2) + _number("4285", 2),
    )  # fmt: skip
    duration = _element("4489", struct.pack(">d", FRAMES * FRAME_MS))
    info = _element(
        "1549a966",
        _number("2ad7b1", 1_000_000)
        + duration
        + _element("4d80", b"test")
        + _element("5741", b"test"),
    )
    video = _element("e0", _number("b0", 64) + _number("ba", 48))
    track = _element(
        "ae",
        _number("d7", 1) + _number("73c5", 1) + _number("83", 1) + _element("86", b"V_VP8") + video,
    )
    tracks = _element("1654ae6b", track)
    clusters = []
    for first in range(0, FRAMES, 10):
        blocks = b"".join(
            _element(
                "a3", b"\x81" + struct.pack(">h", (at - first) * FRAME_MS) + b"\x80" + _frame(at)
            )
            for at in range(first, first + 10)
        )
        clusters.append(_element("1f43b675", _number("e7", first * FRAME_MS) + blocks))
    cues = b""
    for _ in range(2):  # the second time with the cues' own length known
        at = len(info) + len(tracks) + len(_element("1c53bb6b", cues))
        points = []
        for number, cluster in enumerate(clusters):
            place = _element("f1", at.to_bytes(4))
            positions = _element("b7", _number("f7", 1) + place)
            points.append(_element("bb", _number("b3", number * 10 * FRAME_MS) + positions))
            at += len(cluster)
        cues = b"".join(points)
    return head + _element(
        "18538067", info + tracks + _element("1c53bb6b", cues) + b"".join(clusters)
    )

"""A program says by when it wants what it asks for: over real sockets and an emulated link."""

from __future__ import annotations

import asyncio
import io
import random
import re
import shlex
import shutil
from asyncio.subprocess import PIPE
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from PIL import Image, ImageChops, ImageStat

from local_proxy.http.model import WITHIN
from local_proxy.requests.asked_time import LEVEL, seconds_of
from tests.end_to_end.pair import Address, Answer, Asked, run, slow_three
from wire.fields import Headers

RATE: Final = 40_000
"""Bytes/second of the link."""
SIZE: Final = (2000, 1500)
PLAIN: Final = [("accept", "*/*"), ("user-agent", "curl/8.5.0")]
SPREAD: Final = 0.3
"""Seconds within which an answer is in time."""
KEPT: Final = [("etag", '"1"'), ("cache-control", "max-age=60")]


@cache
def photo() -> bytes:
    """A baseline JPEG with as much in it as a photo has: about 1 MB."""
    chance = random.Random(5)
    picture = Image.new("RGB", SIZE)
    for grain, share in ((8, 1.0), (60, 0.5), (1200, 0.2)):
        blots = (grain, grain * 3 // 4)
        noise = Image.frombytes("RGB", blots, chance.randbytes(blots[0] * blots[1] * 3))
        picture = Image.blend(picture, noise.resize(SIZE, Image.Resampling.BICUBIC), share)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=90)
    return out.getvalue()


@dataclass
class Timed:
    """An answer, and how it came."""

    answer: Answer
    seconds: float
    """From the request to the last byte."""
    told: list[str]
    """Names of the fields that the origin was sent."""

    @property
    def level(self) -> tuple[str, float]:
        """Which level it is said to be, and how late."""
        found = re.fullmatch(r"([a-z]+); late=(0|[0-9]+\.[0-9]{2})", self.answer.header(LEVEL))
        assert found is not None, self.answer.headers
        return found[1], float(found[2])


async def photo_within(seconds: str, *, extra: Headers | None = None) -> Timed:
    """The photo, over a link of which it is known what it carries."""
    loop = asyncio.get_running_loop()
    async with slow_three(rate=RATE) as (origin, _, both):
        origin.serve("/first", random.Random(1).randbytes(60_000), "application/octet-stream")
        origin.serve("/a.jpg", photo(), "image/jpeg", headers=KEPT)
        await both.client.get(origin.base + "/first", PLAIN)
        began = loop.time()
        fields = [*PLAIN, (WITHIN, seconds), *(extra or [])]
        answer = await both.client.get(origin.base + "/a.jpg", fields)
        took = loop.time() - began
        (asked,) = [one for one in origin.asked if one.target == "/a.jpg"]
        return Timed(answer, took, [name.lower() for name, _ in asked.headers])


@pytest.mark.alone
def test_a_photo_is_there_by_its_time_as_one_whole_file() -> None:
    timed = run(photo_within("2"))
    assert 900_000 < len(photo()) < 1_200_000
    answer = timed.answer
    assert answer.status == 200
    assert 2 - SPREAD < timed.seconds < 2 + SPREAD, "it waits for what is finer, and no longer"
    name, late = timed.level
    assert name == "low" and late <= SPREAD
    with Image.open(io.BytesIO(answer.body)) as picture:
        picture.load()
        assert (picture.format, picture.size) == ("JPEG", SIZE)
    assert answer.header("content-type") == "image/jpeg"
    assert answer.header("content-length") == str(len(answer.body))
    assert answer.header("cache-control") == "no-store"
    assert answer.header("etag") == ""
    assert WITHIN not in timed.told


def unlike(body: bytes) -> float:
    """How far a picture is from the photo, of 255 on average."""
    with Image.open(io.BytesIO(body)) as one, Image.open(io.BytesIO(photo())) as other:
        small = one.convert("L").resize((500, 375)), other.convert("L").resize((500, 375))
    return ImageStat.Stat(ImageChops.difference(*small)).mean[0]


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("jpegtran") is None, reason="jpegtran is not installed")
def test_where_there_is_time_the_first_level_is_more_than_a_sketch() -> None:
    sketched, timed = run(photo_within("2")), run(photo_within("6"))
    assert timed.seconds < 6 + SPREAD
    assert timed.level[0] == "low"
    assert unlike(timed.answer.body) < 0.6 * unlike(sketched.answer.body)


@pytest.mark.alone
def test_with_time_enough_it_is_the_origins_file_as_soon_as_that_is_here() -> None:
    timed = run(photo_within("60"))
    assert timed.answer.body == photo()
    assert timed.seconds < len(photo()) / RATE + 3
    assert timed.level == ("original", 0)
    assert timed.answer.header("etag") == '"1"'
    assert timed.answer.header("cache-control") == "max-age=60"
    assert WITHIN not in timed.told


def curl_line() -> list[str]:
    """The command that docs/plain-clients.md shows."""
    text = (Path(__file__).parents[2] / "docs" / "plain-clients.md").read_text()
    (line,) = re.findall(r"^curl .*$", text, re.MULTILINE)
    return shlex.split(line)


def test_the_line_of_the_docs_says_a_time_that_is_taken() -> None:
    command = curl_line()
    name, _, value = command[command.index("-H") + 1].partition(":")
    assert name.lower() == WITHIN
    assert seconds_of([value.strip()]) == 5


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_line_of_the_docs_brings_a_photo_in_time(tmp_path: Path) -> None:
    async def go() -> None:
        loop = asyncio.get_running_loop()
        async with slow_three(rate=RATE) as (origin, _, both):
            origin.serve("/photo.jpg", photo(), "image/jpeg", headers=KEPT)
            host, port = both.address
            address, local = origin.base + "/photo.jpg", f"http://{host}:{port}"
            command = [
                {"http://127.0.0.1:8118": local, "http://example.org/photo.jpg": address}.get(a, a)
                for a in curl_line()
            ]
            assert local in command and address in command
            began = loop.time()
            process = await asyncio.create_subprocess_exec(
                *command, "--noproxy", "", cwd=tmp_path, stdout=PIPE, stderr=PIPE
            )
            head, errors = await process.communicate()
            assert process.returncode == 0, errors
            assert loop.time() - began < 5 + 2 * SPREAD
            assert re.search(rb"^sluice-level: [a-z]+; late=", head, re.MULTILINE)
            (asked,) = origin.asked
            assert WITHIN not in [name.lower() for name, _ in asked.headers]
        with Image.open(tmp_path / "photo.jpg") as picture:
            picture.load()
            assert picture.size == SIZE

    run(go())


def test_how_late_a_stream_was_is_told_behind_it() -> None:
    async def go() -> None:
        async with slow_three(rate=RATE) as (origin, _, both):

            async def drips(asked: Asked) -> None:
                await asked.send(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-log\r\n"
                    b"transfer-encoding: chunked\r\n\r\n"
                )
                for _ in range(8):
                    await asked.send(b"4\r\nline\r\n")
                    await asyncio.sleep(0.1)
                await asked.send(b"0\r\n\r\n")

            origin.paths["/log"] = drips
            for said in ("TE: trailers\r\nConnection: TE, close\r\n", "Connection: close\r\n"):
                head, rest = await raw(both.address, f"{origin.base}/log", said)
                assert b"sluice-level" not in head, "nobody knew it by then"
                late = re.search(rb"sluice-level: original; late=([0-9.]+)", rest)
                assert (late is not None) is ("trailers" in said)
                assert late is None or 0.3 < float(late[1]) < 1.5

    run(go())


async def raw(proxy: Address, url: str, said: str) -> tuple[bytes, bytes]:
    """Head and all the rest of an answer within .3 s, in lower case."""
    reader, writer = await asyncio.open_connection(*proxy)
    host = url.split("/", 3)[2]
    asked = f"GET {url} HTTP/1.1\r\nHost: {host}\r\nSluice-Within: 0.3\r\n{said}\r\n"
    writer.write(asked.encode())
    head, rest = await reader.readuntil(b"\r\n\r\n"), await reader.read()
    writer.close()
    await writer.wait_closed()
    return head.lower(), rest.lower()

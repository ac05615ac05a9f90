"""Origins and pages as bad as they come: clear errors, nobody else hurt, memory bounded."""

from __future__ import annotations

import asyncio
import struct
import zlib

import pytest

from remote_proxy.origin.client import OriginConfig
from tests.end_to_end.pair import Asked, Broken, FakeOrigin, Handler, Pair, all_three, run, until
from tests.end_to_end.test_page_load import PHOTO

IMPATIENT = OriginConfig(
    connect_timeout=10.0, head_silence=1.0, head_timeout=1.5, idle_timeout=1.0,
    upload_idle_timeout=1.0,
)  # fmt: skip


async def others_are_well(origin: FakeOrigin, both: Pair) -> None:
    origin.serve("/well", b"well", "text/plain")
    assert (await both.client.get(origin.base + "/well")).body == b"well"


async def at_rest(both: Pair) -> None:
    """Nothing is under way, nothing is held."""
    await until(lambda: both.session.statistics().deliveries == 0)
    await until(lambda: both.session.budget.used == 0)


# -- origins ---------------------------------------------------------------------------------------


async def says_nothing(asked: Asked) -> None:
    await asked.reader.read()


async def drips_its_head(asked: Asked) -> None:
    await asked.send(b"HTTP/1.1 200 X\r\n")
    for number in range(100):
        await asyncio.sleep(0.02)
        await asked.send(f"x-{number}: y\r\n".encode())


async def resets_at_once(asked: Asked) -> None:
    await asked.reset()


async def speaks_nonsense(asked: Asked) -> None:
    await asked.send(b"\x00\xff\x13 nonsense\r\n\r\n")
    await asked.reset()


async def has_an_endless_head(asked: Asked) -> None:
    await asked.send(b"HTTP/1.1 200 X\r\n")
    for number in range(2000):
        await asked.send(f"x-{number}: {'y' * 1000}\r\n".encode())


@pytest.mark.parametrize(
    ("handler", "status"),
    [
        (says_nothing, 504),
        (drips_its_head, 504),
        (resets_at_once, 502),
        (speaks_nonsense, 502),
        (has_an_endless_head, 502),
    ],
)
def test_an_origin_without_an_answer_becomes_an_error_page(handler: Handler, status: int) -> None:
    async def go() -> None:
        async with all_three(config=IMPATIENT) as (origin, both):
            origin.paths["/"] = handler
            answer = await both.browser.navigate(origin.base + "/")
            assert answer.status == status
            assert b"<h1>" in answer.body
            await others_are_well(origin, both)
            await at_rest(both)

    run(go())


HEAD = b"HTTP/1.1 200 X\r\ncontent-type: %s\r\ncontent-length: 1000\r\n\r\nabc"


async def stalls(asked: Asked) -> None:
    await asked.send(HEAD % b"application/zip")
    await asked.reader.read()


async def stalls_in_text(asked: Asked) -> None:
    await asked.send(HEAD % b"text/html")
    await asked.reader.read()


async def resets(asked: Asked) -> None:
    await asked.send(HEAD % b"application/zip")
    await asyncio.sleep(0.05)
    await asked.reset()


async def is_too_short(asked: Asked) -> None:
    await asked.send(HEAD % b"text/html")
    asked.writer.close()


async def breaks_its_chunks(asked: Asked) -> None:
    await asked.send(
        b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\nnot a length\r\n"
    )


async def breaks_its_gzip(asked: Asked) -> None:
    await asked.send(
        b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\n"
        b"content-length: 30\r\n\r\n" + b"\x1f\x8b\x08" + b"\x55" * 27
    )


@pytest.mark.parametrize(
    "handler", [stalls, stalls_in_text, resets, is_too_short, breaks_its_chunks, breaks_its_gzip]
)
def test_a_body_that_stops_short_is_never_taken_for_whole(handler: Handler) -> None:
    async def go() -> None:
        async with all_three(config=IMPATIENT) as (origin, both):
            origin.paths["/"] = handler
            try:
                answer = await both.client.get(origin.base + "/")
                assert answer.status == 502
            except Broken:
                pass
            await others_are_well(origin, both)
            await at_rest(both)

    run(go())


def test_a_body_longer_than_announced_is_cut_or_refused_never_mixed_up() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def too_long(asked: Asked) -> None:
                await asked.send(b"HTTP/1.1 200 X\r\ncontent-length: 3\r\n\r\nabcdefghijk")
                asked.writer.close()

            origin.paths["/"] = too_long
            answer = await both.client.get(origin.base + "/")
            assert (answer.status, answer.body) == (200, b"abc") or answer.status == 502
            await others_are_well(origin, both)

    run(go())


def test_a_server_that_is_not_there_is_named() -> None:
    async def go() -> None:
        async with all_three() as (_, both):
            answer = await both.browser.navigate("http://127.0.0.1:1/")
            assert answer.status == 502
            assert b"127.0.0.1" in answer.body

    run(go())


def test_a_bomb_of_gzip_is_defused() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            coder = zlib.compressobj(9, wbits=31)
            bomb = b"".join(coder.compress(b"\0" * (1 << 20)) for _ in range(100)) + coder.flush()
            origin.serve("/", bomb, "text/plain", headers=[("content-encoding", "gzip")])
            with pytest.raises(Broken):
                await both.client.get(origin.base + "/")
            await others_are_well(origin, both)

    run(go())


# -- pages -----------------------------------------------------------------------------------------

PAGES = {
    "unclosed": b"<html><head><title>x<body><img src='a.jpg' <p <p <<<>>> <!-- ",
    "nulls": b"<html>\0<head>\0<img src=\0/a.jpg>" * 100,
    "utf-16": "<html><img src=/a.jpg>".encode("utf-16"),
    "wrong charset": b"<html><meta charset=utf-8><p>\xff\xfe\xe4\xf6\xfc<img src=/\xe4.jpg>",
    "one attribute": b"<html><img alt='" + b"x" * 300_000 + b"' src=/a.jpg>",
    "hostile urls": b"<html><img src='http://['><img src='//'><img src='http:///x'><base href=':'>"
    b"<img src='javascript:1'><img src='http://h:99999999/'><img src='\r\nx'>",
    "empty": b"",
    "binary": bytes(range(256)) * 400,
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("content_type", ["text/html", "text/html; charset=nonsense"])
def test_a_broken_page_passes_as_it_is(name: str, content_type: str) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = PAGES[name]
            origin.serve("/p", page, content_type)
            assert (await both.client.get(origin.base + "/p")).body == page
            shown = (await both.browser.navigate(origin.base + "/p")).body
            start = shown.find(b'<script src="/.well-known/sluice')
            if start >= 0:
                end = shown.index(b"</script>", start) + len(b"</script>")
                shown = shown[:start] + shown[end:]
            assert shown == page
            await others_are_well(origin, both)

    run(go())


def test_ten_megabytes_of_nested_tables_pass_while_others_go_on() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = b"<html><head></head><body>" + b"<table><tr><td>" * (10_000_000 // 15)
            origin.serve("/p", page)
            loading = asyncio.ensure_future(both.client.get(origin.base + "/p"))
            navigating = asyncio.ensure_future(both.browser.navigate(origin.base + "/p"))
            clock = asyncio.get_running_loop().time
            while not navigating.done():
                start = clock()
                await others_are_well(origin, both)
                assert clock() - start < 2.0
            assert (await loading).body == page
            assert len((await navigating).body) > len(page)

    run(go())


def test_of_five_thousand_pictures_so_many_are_promised_and_all_can_be_had() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            long = "x" * 1500  # as long as trackers make them: no frame holds all of these URLs
            names = [f"/{number}.gif?{long}" for number in range(5000)]
            page = "".join(f"<img src='{name}'>" for name in names).encode()
            origin.serve("/p", b"<html><head></head>" + page)
            for name in names:
                origin.serve(name.partition("?")[0], b"GIF89a" + b"x" * 100, "image/gif")
            url = origin.base + "/p"
            session = both.session
            await both.browser.navigate(url)
            for name in (names[0], names[200], names[-1]):
                answer = await both.browser.image(origin.base + name, url)
                assert answer.body == b"GIF89a" + b"x" * 100
            # Between two of them nothing may be under way for a moment.
            await until(lambda: len(origin.asked) >= 200)
            await until(lambda: both.session.statistics().deliveries == 0)
            assert both.session is session
            assert len(origin.asked) <= 300
            assert origin.counts()[names[0]] == 1

    run(go())


def bomb_png() -> bytes:
    """A PNG that claims 50,000 x 50,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1_000_000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    ) + b"\0" * 8192


PICTURES = {
    "truncated": PHOTO.read_bytes()[:30_000],
    "cut in its header": PHOTO.read_bytes()[:200] + b"\0" * 5000,
    "not a picture": b"<html>" * 2000,
    "another kind": b"\x89PNG\r\n\x1a\n" + PHOTO.read_bytes(),
    "a bomb": bomb_png(),
    "empty": b"",
    "trailing": PHOTO.read_bytes() + b"trailing" * 1000,
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_that_lies_passes_as_it_is_or_complete(name: str) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            data = PICTURES[name]
            origin.serve("/p", b"<html><head></head><img src=/a.jpg>")
            origin.serve("/a.jpg", data, "image/jpeg")
            url = origin.base + "/p"
            await both.browser.navigate(url)
            answer = await both.browser.image(origin.base + "/a.jpg", url)
            assert answer.status == 200
            if name != "trailing":
                assert answer.body == data
            assert (await both.client.get(origin.base + "/a.jpg")).body == data

    run(go())


def test_a_browser_that_leaves_in_mid_page_stops_the_page() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            gone = asyncio.Event()

            async def endless(asked: Asked) -> None:
                await asked.send(b"HTTP/1.1 200 X\r\ncontent-type: application/zip\r\n\r\n")
                try:
                    while True:
                        await asked.send(b"x" * 65536)
                        await asyncio.sleep(0)
                except ConnectionError:
                    gone.set()

            origin.paths["/p"] = endless
            async with both.browser.open(origin.base + "/p", both.browser.navigation()) as answer:
                await anext(answer.stream)
            async with asyncio.timeout(60):
                await gone.wait()
            await at_rest(both)

    run(go())

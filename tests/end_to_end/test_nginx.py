"""nginx behind the pair, curl in front: ranges, validators, coding, methods, very large files."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.pairs.ports import free_port
from tests.end_to_end.pair import Client, Pair, pair, run, until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx on this machine")

CONFIGURATION = """
daemon off; master_process off; pid {folder}/pid; error_log stderr; worker_processes 1;
events {{}}
http {{
  access_log off; default_type application/octet-stream;
  types {{ text/html html; text/plain txt; text/css css; application/zip zip; image/png png; }}
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  client_max_body_size 40m; gzip on; gzip_types text/css; gzip_min_length 100;
  server {{
    listen 127.0.0.1:{port}; root {folder}/www;
    location /put/ {{ dav_methods PUT DELETE; create_full_put_path on; }}
    location /moved {{ return 301 /small.txt?x=1; }}
    location /private {{
      auth_basic "x"; auth_basic_user_file {folder}/users; alias {folder}/www/;
    }}
    location /only {{ limit_except GET {{ deny all; }} }}
  }}
}}
"""
DATA = os.urandom(300_000)
TEXT = b"a line of text\n" * 2_000
HUGE = 5 << 30
"""Bytes of a file of holes."""


@asynccontextmanager
async def nginx(folder: Path) -> AsyncIterator[str]:
    """Serves `folder`/www; its base URL."""
    port, www = free_port(), folder / "www"
    (www / "put").mkdir(parents=True)
    (www / "data.zip").write_bytes(DATA)
    (www / "small.txt").write_bytes(TEXT)
    (www / "style.css").write_bytes(TEXT)
    for path in www.glob(
        "*.*"
    ):  # changed long ago: a store may take them for fresh (RFC 9111, 4.2.2)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    with (www / "huge.zip").open("wb") as huge:
        huge.truncate(HUGE)
    (folder / "users").write_text("me:{PLAIN}secret\n")
    (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=port))
    assert NGINX is not None
    process = await asyncio.create_subprocess_exec(
        NGINX, "-c", str(folder / "conf"), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await until(lambda: _answers(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def curl(both: Pair, *arguments: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *("curl", "-sS", "--max-time", "20"),
        *("--proxy", f"http://{both.address[0]}:{both.address[1]}"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err
    return out


async def _compare(both: Pair, base: str, path: str, headers: list[tuple[str, str]]) -> int:
    """Ask through the pair and directly; all that matters must be the same. The status."""
    url = base + path
    direct_address = base.removeprefix("http://").split(":")
    direct = await Client((direct_address[0], int(direct_address[1]))).get(url, headers)
    paired = await both.client.get(url, headers)
    assert (paired.status, len(paired.body)) == (direct.status, len(direct.body))
    boundary = direct.header("content-type").partition("boundary=")[2]
    mine = paired.header("content-type").partition("boundary=")[2]
    assert paired.body.replace(mine.encode(), b"|") == direct.body.replace(boundary.encode(), b"|")
    names = ("etag", "last-modified", "accept-ranges", "content-range", "content-length")
    for name in names:
        assert paired.header(name) == direct.header(name), name
    return direct.status


@pytest.mark.parametrize("shares", [False, True])
def test_ranges_and_validators_are_as_without_us(tmp_path: Path, shares: bool) -> None:
    async def go() -> None:
        async with nginx(tmp_path) as base, pair(shares=shares) as both:
            whole = await both.client.get(base + "/data.zip")
            etag, changed = whole.header("etag"), whole.header("last-modified")
            last = len(DATA) - 1
            cases = [
                ([], 200),
                ([("range", "bytes=0-0")], 206),
                ([("range", f"bytes={last}-")], 206),
                ([("range", "bytes=-500")], 206),
                ([("range", "bytes=0-99,200-299,-5")], 206),
                ([("range", f"bytes={last + 1}-")], 416),
                ([("range", "chapters=1-2")], 200),
                ([("range", "bytes=5-9"), ("if-range", etag)], 206),
                ([("range", "bytes=5-9"), ("if-range", '"another"')], 200),
                ([("if-none-match", etag)], 304),
                ([("if-none-match", '"another"')], 200),
                ([("if-match", '"another"')], 412),
                ([("if-modified-since", changed)], 304),
            ]
            for fields, status in cases:
                assert await _compare(both, base, "/data.zip", fields) == status, fields
            for fields, status in [
                ([("range", "bytes=3-70")], 206),
                ([("range", "bytes=0-1,5-6")], 206),
            ]:
                assert await _compare(both, base, "/small.txt", fields) == status, fields

    run(go(), timeout=30)


def test_downloads_are_resumed(tmp_path: Path) -> None:
    async def go() -> None:
        async with nginx(tmp_path) as base, pair() as both:
            part = tmp_path / "part"
            part.write_bytes(DATA[:123_456])
            await curl(both, "-C", "-", "-o", str(part), base + "/data.zip")
            assert part.read_bytes() == DATA

    run(go(), timeout=30)


def test_coding_that_the_client_asks_for_holds_the_same_content(tmp_path: Path) -> None:
    async def go() -> None:
        async with nginx(tmp_path) as base, pair() as both:
            assert await curl(both, "--compressed", base + "/style.css") == TEXT
            assert await curl(both, base + "/style.css") == TEXT
            answer = await both.client.get(base + "/style.css", [("accept-encoding", "gzip")])
            coded = answer.header("content-encoding") == "gzip"
            assert (gzip.decompress(answer.body) if coded else answer.body) == TEXT

    run(go(), timeout=30)


def test_methods(tmp_path: Path) -> None:
    async def go() -> None:
        async with nginx(tmp_path) as base, pair() as both:
            client, up = both.client, tmp_path / "www" / "put" / "new"
            put = await client.get(base + "/put/new", method="PUT", body=DATA)
            assert (put.status, up.read_bytes()) == (201, DATA)

            async def chunks() -> AsyncIterator[bytes]:
                for at in range(0, len(DATA), 7_777):
                    yield DATA[at : at + 7_777]

            put = await client.get(base + "/put/new", method="PUT", body=chunks())
            assert (put.status, up.read_bytes()) == (204, DATA)
            head = await client.get(base + "/put/new", method="HEAD")
            assert (head.status, head.body) == (200, b"")
            assert head.header("content-length") == str(len(DATA))
            assert (await client.get(base + "/put/new", method="DELETE")).status == 204
            assert not up.exists()
            for method in ("OPTIONS", "PATCH", "POST"):
                assert (await client.get(base + "/small.txt", method=method)).status == 405
            assert (await client.get(base + "/only", method="PATCH")).status == 403
            moved = await client.get(base + "/moved")
            assert moved.status == 301
            assert await curl(both, "-L", base + "/moved") == TEXT
            assert (await client.get(base + "/private/small.txt")).status == 401
            assert await curl(both, "-u", "me:secret", base + "/private/small.txt") == TEXT

    run(go(), timeout=30)


def test_a_large_upload_is_never_held_whole(tmp_path: Path) -> None:
    async def go() -> None:
        async with nginx(tmp_path) as base, pair(memory=1 << 20) as both:
            sent, most = 0, 0
            session = both.local.uplink.session
            assert session is not None

            async def chunks() -> AsyncIterator[bytes]:
                nonlocal sent, most
                for _ in range(320):
                    yield bytes(65_536)
                    sent += 65_536
                    most = max(most, sum(one.held for one in session.uploads.outbox.components()))

            put = await both.client.get(base + "/put/large", method="PUT", body=chunks())
            assert put.status == 201
            assert (tmp_path / "www" / "put" / "large").stat().st_size == sent == 20 << 20
            assert most < 1 << 20

    run(go(), timeout=40)


def test_a_file_of_gigabytes_has_its_length_and_can_be_left(tmp_path: Path) -> None:
    async def go() -> None:
        async with nginx(tmp_path) as base, pair() as both:
            async with both.client.open(base + "/huge.zip") as answer:
                assert answer.header("content-length") == str(HUGE)
                got = 0
                async for chunk in answer.stream:
                    got += len(chunk)
                    if got > 1 << 20:
                        break
            await until(lambda: both.session.statistics().deliveries == 0)
            await until(lambda: both.session.budget.used == 0)
            tail = await both.client.get(base + "/huge.zip", [("range", f"bytes={HUGE - 9}-")])
            assert (tail.status, tail.body) == (206, bytes(9))
            assert tail.header("content-range") == f"bytes {HUGE - 9}-{HUGE - 1}/{HUGE}"

    run(go(), timeout=30)

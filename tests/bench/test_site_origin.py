"""The origin server, over real sockets; the sample site it serves."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import aiohttp
import lxml.html
import pytest

from bench.origins.site import content_type, serve, spawn
from bench.scenarios.pages.page_load import PAGES, SITE

Fetch = Callable[..., Coroutine[Any, Any, aiohttp.ClientResponse]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "index.html").write_text("<p>hello</p>" * 100)
    (root / "sub" / "index.html").write_text("<p>below</p>")
    (root / "photo.jpg").write_bytes(bytes(range(256)) * 40)
    (root / "with space.css").write_text("p{}")
    (root / "out").symlink_to(tmp_path / "secret.txt")
    return root


def ask(
    root: Path, path: str, headers: dict[str, str] | None = None, *, packed: bool = True
) -> tuple[int, dict[str, str], bytes]:
    """One GET as it crosses the wire: not unpacked, path not tidied."""

    async def go() -> tuple[int, dict[str, str], bytes]:
        async with serve(root, packed=packed) as (host, port):
            reader, writer = await asyncio.open_connection(host, port)
            lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
            lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *fields = head.decode().split("\r\n")
        pairs = (field.split(": ", 1) for field in fields)
        return int(status.split()[1]), {name.lower(): value for name, value in pairs}, body

    return asyncio.run(go())


def test_text_is_packed_for_who_accepts_it_and_varies(folder: Path) -> None:
    status, headers, body = ask(folder, "/", {"Accept-Encoding": "gzip, br"})
    assert status == 200
    assert headers["content-encoding"] == "gzip"
    assert headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(body) == (folder / "index.html").read_bytes()
    assert int(headers["content-length"]) == len(body)


def test_text_is_plain_for_who_does_not_accept_gzip(folder: Path) -> None:
    _, headers, body = ask(folder, "/")
    assert "content-encoding" not in headers
    assert headers["vary"] == "Accept-Encoding"
    assert body == (folder / "index.html").read_bytes()


def test_packing_can_be_switched_off(folder: Path) -> None:
    _, headers, _ = ask(folder, "/", {"Accept-Encoding": "gzip"}, packed=False)
    assert "content-encoding" not in headers
    assert "vary" not in headers


def test_pictures_are_never_packed(folder: Path) -> None:
    _, headers, body = ask(folder, "/photo.jpg", {"Accept-Encoding": "gzip"})
    assert headers["content-type"] == "image/jpeg"
    assert "content-encoding" not in headers
    assert body == (folder / "photo.jpg").read_bytes()


def test_a_validator_saves_the_body_and_differs_per_representation(folder: Path) -> None:
    _, plain, _ = ask(folder, "/")
    _, packed, _ = ask(folder, "/", {"Accept-Encoding": "gzip"})
    assert plain["etag"] != packed["etag"]
    assert plain["cache-control"] == "max-age=3600"
    status, headers, body = ask(folder, "/", {"If-None-Match": plain["etag"]})
    assert (status, body) == (304, b"")
    assert headers["etag"] == plain["etag"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/sub/", 200),
        ("/with%20space.css", 200),
        ("/absent", 404),
        ("/../secret.txt", 404),
        ("/%2e%2e/secret.txt", 404),
        ("/out", 404),
        ("/a%00b", 404),
    ],
)
def test_only_what_is_below_the_root_is_served(folder: Path, path: str, status: int) -> None:
    got, _, body = ask(folder, path)
    assert got == status
    assert b"secret" not in body


def test_a_missing_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    async def go() -> None:
        async with serve(tmp_path / "absent"):
            pass

    with pytest.raises(NotADirectoryError, match="absent"):
        asyncio.run(go())


def test_a_process_serves_over_one_connection_and_ends(folder: Path) -> None:
    async def go() -> tuple[list[int], int]:
        async with spawn(folder) as (host, port), aiohttp.ClientSession() as session:
            statuses = []
            for path in ("/", "/photo.jpg", "/absent"):
                async with session.get(f"http://{host}:{port}{path}") as response:
                    await response.read()
                    statuses.append(response.status)
        return statuses, port

    statuses, port = asyncio.run(go())
    assert statuses == [200, 200, 404]
    with pytest.raises(OSError):
        asyncio.run(asyncio.open_connection("127.0.0.1", port))  # type: ignore[arg-type]


def test_a_process_that_can_not_serve_says_so(tmp_path: Path) -> None:
    async def go() -> None:
        async with spawn(tmp_path / "absent"):
            pass

    with pytest.raises(OSError, match="ended before it listened"):
        asyncio.run(go())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.woff2", "font/woff2"),
        ("a.webp", "image/webp"),
        ("a.svg", "image/svg+xml"),
        ("a", "application/octet-stream"),
    ],
)
def test_types_that_browsers_insist_on(name: str, kind: str) -> None:
    assert content_type(Path(name)) == kind


@pytest.mark.parametrize("page", PAGES)
def test_the_sample_site_is_whole_and_named_in_its_notice(page: str) -> None:
    notice = (SITE / "NOTICE").read_text()
    file = SITE / page
    document = lxml.html.fromstring(file.read_text())
    linked = [str(link) for link in document.xpath("//img/@src | //script/@src | //link/@href")]
    assert len(linked) >= 7
    for link in linked:
        target = file.parent / unquote(link)
        assert target.is_file()
        assert os.path.relpath(target, SITE) in notice
    assert page in notice
    assert "CC0" in notice

"""httpbin behind the pair: what it answers to curl is what it answers without us.

Each request is made directly and through the pair, over HTTP/1.1 in the clear and over HTTP/2
inside TLS; statuses, fields and bodies are the same, but for what belongs to one connection alone.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import pair, run, until
from tests.end_to_end.roots import Root

pytest.importorskip("httpbin")
pytest.importorskip("gunicorn")
pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")

JSON = ("-H", "Content-Type: application/json")
EVERY_BYTE = "".join(f"%{byte:02x}" for byte in range(0x20, 0x7F))
CASES: tuple[tuple[str, ...], ...] = (
    # methods, bodies, forms
    ("/get?a=1&a=2&b=%20%C3%A4&c",),
    ("/get?",),
    (f"/get?all={EVERY_BYTE}",),
    ("/anything//double/./x/%2e%2e/y;v=1?q='\"[]", "--path-as-is", "--globoff"),
    ("/get", "-I"),
    ("/get", "-X", "OPTIONS"),
    ("/post", "-X", "OPTIONS"),
    ("/post", "-d", "a=1&b=2"),
    ("/post", "-d", ""),
    ("/post", "-F", "file=@@upload@;filename=ä.txt", "-F", "x=y"),
    ("/post", "-T", "@upload@", "-X", "POST", "-H", "Transfer-Encoding: chunked"),
    ("/post", "--data-binary", "@@upload@", "-H", "Expect: 100-continue"),
    ("/put", "-X", "PUT", *JSON, "-d", '{"a": [1, 2]}'),
    ("/patch", "-X", "PATCH", *JSON, "-d", '{"a": null}'),
    ("/delete", "-X", "DELETE"),
    ("/delete", "-X", "DELETE", "-d", "with=body"),
    ("/anything/x", "-X", "PURGE"),
    ("/anything", "-X", "TRACE"),
    ("/anything", "-X", "GET", "-d", "a body in a GET"),
    ("/post",),  # 405
    # who asks, what is asked
    ("/headers", "-H", "X-Empty;", "-H", "X-Two: 1", "-H", "X-Two: 2", "-H", "X-Uni: gr\u00fcn"),
    ("/headers", "-H", "Save-Data: on", "-H", "DNT: 1", "-H", "Range: bytes=0-"),
    ("/user-agent", "-A", "me/1.0"),
    ("/ip",),
    # logins
    ("/basic-auth/me/secret", "-u", "me:secret"),
    ("/basic-auth/me/secret", "-u", "me:wrong"),
    ("/hidden-basic-auth/me/secret",),
    ("/bearer", "-H", "Authorization: Bearer abc"),
    ("/bearer",),
    ("/digest-auth/auth/me/secret/MD5/never", "-u", "me:secret", "--digest"),
    ("/digest-auth/auth-int/me/secret/SHA-256", "-u", "me:secret", "--digest"),
    ("/digest-auth/auth/me/secret", "-u", "me:wrong", "--digest"),
    # cookies
    ("/cookies", "-b", "a=1; b=two"),
    ("/cookies/set?a=1&b=2", "-L", "-b", ""),
    ("/cookies/set/c/3", "-L", "-b", ""),
    ("/cookies/delete?a", "-L", "-b", "a=1; b=2"),
    # redirections
    ("/redirect/3", "-L"),
    ("/relative-redirect/3", "-L"),
    ("/absolute-redirect/3", "-L"),
    ("/redirect/1",),
    ("/redirect-to?url=%2Fanything&status_code=307", "-L", "-d", "kept=body"),
    ("/redirect-to?url=%2Fanything&status_code=308", "-L", "-X", "PUT", "-d", "kept=body"),
    ("/redirect-to?url=%2Fget&status_code=303", "-L", "-d", "lost=body"),
    # codings
    ("/gzip",),
    ("/gzip", "--compressed"),
    ("/deflate", "--compressed"),
    ("/brotli", "--compressed"),
    ("/gzip", "-I"),
    ("/encoding/utf8",),
    ("/deny",),
    ("/html",),
    ("/xml",),
    ("/json",),
    ("/robots.txt",),
    ("/links/3/1",),
    # ranges and streams
    ("/range/2000",),
    ("/range/2000", "-r", "10-19"),
    ("/range/2000", "-r", "-5"),
    ("/range/2000", "-r", "1990-"),
    ("/range/2000", "-r", "2000-"),
    ("/range/1000?duration=0.2&chunk_size=100", "-r", "500-"),
    ("/bytes/3000?seed=1",),
    ("/bytes/0",),
    ("/stream-bytes/100000?seed=2&chunk_size=777",),
    ("/stream/5",),
    ("/drip?duration=0.3&numbytes=6&delay=0",),
    ("/drip?duration=0&numbytes=1&code=202",),
    ("/delay/0.3",),
    # caches
    ("/cache",),
    ("/cache", "-H", "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT"),
    ("/cache/60",),
    ("/etag/abc",),
    ("/etag/abc", "-H", 'If-None-Match: "abc"'),
    ("/etag/abc", "-H", 'If-None-Match: W/"abc", "x"'),
    ("/etag/abc", "-H", 'If-Match: "other"'),
    ("/response-headers?X-A=1&X-A=2&ETag=%22q%22&Content-Language=de",),
    # statuses
    *((f"/status/{code}",) for code in (201, 204, 205, 206, 300, 304, 400, 402, 404, 406, 410)),
    *((f"/status/{code}",) for code in (416, 418, 429, 451, 500, 502, 503, 504, 511)),
    ("/status/299",),
    ("/status/204", "-X", "DELETE"),
    ("/no/such/thing",),
    # pictures
    *((f"/image/{kind}",) for kind in ("png", "jpeg", "webp", "svg")),
    ("/image", "-H", "Accept: image/webp"),
    ("/image/jpeg", "-I"),
    ("/image", "-H", "Accept: text/plain"),  # 406
)
UNCOMPARED = frozenset(
    ("connection", "keep-alive", "transfer-encoding", "proxy-connection", "date")
)
"""Of one connection alone, or of a moment."""
FLEETING = re.compile(rb'"(Connection|Proxy-Connection|Expect)": "[^"]*",?\s*|-{20,}\w+')
"""What httpbin tells of the request that is of one connection, or of one run (form boundaries)."""
VARYING = re.compile(r"(?<=nonce=)[^,]*|(?<=opaque=)[^,]*|\b[0-9a-f]{32}\b|\w+, .* GMT")
"""Of httpbin's fields: its own nonces and dates."""


@dataclass(frozen=True)
class Outcome:
    """What a client sees of one request, redirections and logins included."""

    exit: int
    heads: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Status and compared fields of each response."""
    body: bytes


@asynccontextmanager
async def httpbin(folder: Path, root: Root | None = None) -> AsyncIterator[str]:
    """The base URL of one, in a process of its own. `root`: it speaks https."""
    tls: list[str] = []
    if root is not None:
        root.server("127.0.0.1")
        file = str(folder / "127.0.0.1.pem")
        tls = ["--certfile", file, "--keyfile", file]
    log = folder / "gunicorn.log"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gunicorn", "httpbin:app", "--bind", "127.0.0.1:0"),
        *("--worker-class", "gthread", "--threads", "16", "--keep-alive", "30", *tls),
        *("--worker-tmp-dir", str(folder), "--no-control-socket", "--error-logfile", str(log)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=folder,
    )
    try:
        listening = re.compile(r"Listening at: (https?://[\d.]+:\d+)")
        await until(lambda: log.exists() and listening.search(log.read_text()))
        found = listening.search(log.read_text())
        assert found is not None
        yield found[1]
    finally:
        process.terminate()
        await process.wait()


async def asked(base: str, folder: Path, *options: str) -> list[Outcome]:
    """All cases by one curl, one after the other over the connections that it keeps."""
    process = await asyncio.create_subprocess_exec(
        *("curl", "-q", *_arguments(base, folder, options)), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    codes = [int(code) for code in out.split()]
    assert len(codes) == len(CASES)
    return [_outcome(folder, number, code, base) for number, code in enumerate(codes)]


def _arguments(base: str, folder: Path, options: Sequence[str]) -> list[str]:
    folder.mkdir()
    upload = folder / "upload"
    upload.write_bytes(bytes(range(32, 127)) * 300)
    arguments: list[str] = []
    for number, (path, *more) in enumerate(CASES):
        files = ("-D", str(folder / f"{number}.head"), "-o", str(folder / f"{number}.body"))
        own = [option.replace("@upload@", str(upload)) for option in more]
        arguments += ["--next"] if number else []
        arguments += ["-sS", "--max-time", "15", "-w", "%{exitcode}\n", *options, *own, *files]
        arguments.append(base + path)
    return arguments


def _outcome(folder: Path, number: int, code: int, base: str) -> Outcome:
    head, body = folder / f"{number}.head", folder / f"{number}.body"
    text = head.read_bytes().decode("latin-1") if head.exists() else ""
    data = body.read_bytes() if body.exists() and "-I" not in CASES[number] else b""
    heads = []
    for block in text.rstrip("\r\n").split("\r\n\r\n"):
        line, *fields = block.split("\r\n")
        status = line.split(" ")[1]
        if status != "100" and "established" not in line:
            heads.append((status, _compared(fields, base, size=len(data))))
    decoded = text.lower().count("content-encoding: gzip") and data.startswith(b"\x1f\x8b")
    data = gzip.decompress(data) if decoded else data
    return Outcome(code, tuple(heads), FLEETING.sub(b"", data).replace(base.encode(), b"BASE"))


def _compared(fields: Sequence[str], base: str, *, size: int) -> tuple[tuple[str, str], ...]:
    """What must be the same of a head. A length that is the body's is compared with the body."""
    pairs = [(name.lower(), value.strip()) for name, _, value in (f.partition(":") for f in fields)]
    if any(name == "content-encoding" for name, _ in pairs) and size:
        # The remote undoes it, and says so.
        pairs = [(n, v) for n, v in pairs if n not in ("content-encoding", "content-length")]
    return tuple(
        sorted(
            (name, VARYING.sub("", value.replace(base, "BASE")))
            for name, value in pairs
            if name not in UNCOMPARED and (name, value) != ("content-length", str(size))
        )
    )


def same(direct: Sequence[Outcome], ours: Sequence[Outcome]) -> None:
    for case, one, other in zip(CASES, direct, ours, strict=True):
        assert other == one, case


def test_curl_gets_over_http1_what_it_gets_without_us(tmp_path: Path) -> None:
    async def go() -> None:
        async with httpbin(tmp_path) as base, pair() as both:
            proxy = ("--proxy", "http://{}:{}".format(*both.address))
            direct, ours = await asyncio.gather(
                asked(base, tmp_path / "direct"), asked(base, tmp_path / "pair", *proxy)
            )
            assert {one.exit for one in direct} == {0}
            same(direct, ours)

    run(go())


def test_curl_gets_over_http2_inside_tls_what_it_gets_without_us(tmp_path: Path) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            httpbin(tmp_path, root) as base,
            pair(tls=root.trusted(), authority=authority) as both,
        ):
            ours_trusted = tmp_path / "ours.pem"
            ours_trusted.write_bytes(authority.certificate_pem)
            options = ("--http2", "--cacert", str(ours_trusted))
            proxy = ("--proxy", "http://{}:{}".format(*both.address))
            direct, ours = await asyncio.gather(
                asked(base, tmp_path / "direct", "--cacert", str(root.file)),
                asked(base, tmp_path / "pair", *options, *proxy),
            )
            assert {one.exit for one in direct} == {0}
            same(direct, ours)
            assert b"HTTP/2 200" in (tmp_path / "pair" / "0.head").read_bytes()

    run(go())

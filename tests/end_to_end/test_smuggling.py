"""Requests made to be read in two ways: each is refused, or crosses the pair in exactly one.

Every case is written to the browser's side as it stands, with an innocent request behind it on the
same connection. What the origin saw is compared byte for byte, and the innocent request must get
its own answer: nothing may be left over, nothing eaten.
"""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass

import pytest

from tests.end_to_end.pair import Address, pair, run
from tests.end_to_end.raw_origin import RawOrigin

Forwarded = tuple[str, str, bytes]
"""Method, target and body of a request as the origin must have seen it."""
SENTINEL = b"GET http://{H}/sentinel HTTP/1.1\r\nHost: {H}\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
SENTINEL_SEEN: Forwarded = ("GET", "/sentinel", b"")
GET = b"GET http://{H}/a HTTP/1.1\r\nHost: {H}\r\n"
POST = b"POST http://{H}/a HTTP/1.1\r\nHost: {H}\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
PLAIN: list[Forwarded] = [("GET", "/a", b"")]
ABC: list[Forwarded] = [("POST", "/a", b"abc")]
CUT: list[Forwarded] = []
"""Never whole: the client leaves in the middle, and the origin may not take it for a request."""


@dataclass(frozen=True)
class Case:
    """What a client writes, and what must come of it."""

    raw: bytes
    outcome: int | list[Forwarded]
    """A status, of the one answer before the connection closes; or what the origin sees."""
    goes_on: bool = False
    """The connection stays open after an error: the request was understood, and is unwanted."""


def fields(*lines: bytes) -> bytes:
    return b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def posted(*lines: bytes, body: bytes = b"3\r\nabc\r\n0\r\n\r\n") -> bytes:
    return POST + fields(*lines) + body


CASES: dict[str, Case] = {
    # -- two lengths -------------------------------------------------------------------------------
    "CL and TE": Case(posted(b"Content-Length: 3", b"Transfer-Encoding: chunked"), 400),
    "TE and CL": Case(posted(b"Transfer-Encoding: chunked", b"Content-Length: 3"), 400),
    "two CLs, equal": Case(posted(b"Content-Length: 3", b"Content-Length: 3", body=b"abc"), 400),
    "two CLs, different": Case(posted(b"Content-Length: 3", b"Content-Length: 0"), 400),
    "CL list": Case(posted(b"Content-Length: 3, 3", body=b"abc"), 400),
    "CL plus": Case(posted(b"Content-Length: +3", body=b"abc"), 400),
    "CL minus": Case(posted(b"Content-Length: -3", body=b"abc"), 400),
    "CL hexadecimal": Case(posted(b"Content-Length: 0x3", body=b"abc"), 400),
    "CL underscore": Case(posted(b"Content-Length: 1_0", body=b"abc"), 400),
    "CL fraction": Case(posted(b"Content-Length: 3.0", body=b"abc"), 400),
    "CL Arabic digits": Case(posted("Content-Length: \u0663".encode(), body=b"abc"), 400),
    "CL empty": Case(posted(b"Content-Length:", body=b""), 400),
    "CL in quotes": Case(posted(b'Content-Length: "3"', body=b"abc"), 400),
    "CL of 20 digits": Case(posted(b"Content-Length: 99999999999999999999", body=b"abc"), 400),
    "CL too large": Case(posted(b"Content-Length: 999999999999999999", body=b"abc"), 413),
    "CL with leading zeros": Case(posted(b"Content-Length: 0003", body=b"abc"), 400),
    "CL that may be octal": Case(posted(b"Content-Length: 010", body=b"abcdefghij"), 400),
    "CL with space behind": Case(posted(b"Content-Length: 3 \t", body=b"abc"), ABC),
    "CL before its colon": Case(posted(b"Content-Length : 3", body=b"abc"), 400),
    "CL with an underscore": Case(
        GET + fields(b"Content_Length: 3"), 400
    ),
    "GET with a body": Case(
        GET + fields(b"Content-Length: %d" % len(SMUGGLED)) + SMUGGLED,
        [("GET", "/a", SMUGGLED)],
    ),
    "GET with a chunked body": Case(
        GET + fields(b"Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n",
        [("GET", "/a", b"abc")],
    ),
    "HEAD with a body": Case(
        b"HEAD http://{H}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3\r\n\r\nabc",
        [("HEAD", "/a", b"abc")],
    ),
    "a request as a body": Case(
        POST + fields(b"Content-Length: %d" % len(SMUGGLED)) + SMUGGLED,
        [("POST", "/a", SMUGGLED)],
    ),
    "a body without a length": Case(
        POST + fields() + b"GET http://{H}/b HTTP/1.1\r\nHost: {H}\r\n\r\n",
        [("POST", "/a", b""), ("GET", "/b", b"")],
    ),
    # -- transfer codings --------------------------------------------------------------------------
    "TE xchunked": Case(posted(b"Transfer-Encoding: xchunked"), 501),
    "TE chunked, identity": Case(posted(b"Transfer-Encoding: chunked, identity"), 501),
    "TE identity, chunked": Case(posted(b"Transfer-Encoding: identity, chunked"), 501),
    "TE identity": Case(posted(b"Transfer-Encoding: identity"), 501),
    "TE chunked, chunked": Case(posted(b"Transfer-Encoding: chunked, chunked"), 501),
    "TE gzip, chunked": Case(posted(b"Transfer-Encoding: gzip, chunked"), 501),
    "TE chunked;x": Case(posted(b"Transfer-Encoding: chunked;x=y"), 501),
    "TE in quotes": Case(posted(b'Transfer-Encoding: "chunked"'), 501),
    "TE empty": Case(posted(b"Transfer-Encoding:"), 501),
    "TE comma": Case(posted(b"Transfer-Encoding: chunked,"), 501),
    "TE twice": Case(posted(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), 400),
    "TE twice, one odd": Case(posted(b"Transfer-Encoding: chunked", b"Transfer-Encoding: x"), 400),
    "TE with tabs": Case(posted(b"Transfer-Encoding:\tchunked\t"), ABC),
    "TE in upper case": Case(posted(b"TRANSFER-ENCODING: CHUNKED"), ABC),
    "TE with vertical tab": Case(posted(b"Transfer-Encoding: \x0bchunked"), 400),
    "TE with form feed": Case(posted(b"Transfer-Encoding: chunked\x0c"), 400),
    "TE with NUL": Case(posted(b"Transfer-Encoding: chunked\x00"), 400),
    "TE with 0xA0": Case(posted(b"Transfer-Encoding: \xa0chunked"), 501),
    "TE folded": Case(posted(b"Transfer-Encoding:", b" chunked"), 400),
    "TE before its colon": Case(posted(b"Transfer-Encoding : chunked"), 400),
    "TE behind a space": Case(posted(b" Transfer-Encoding: chunked"), 400),
    "TE behind a bare LF": Case(posted(b"X: y\nTransfer-Encoding: chunked"), 400),
    "TE behind a bare CR": Case(posted(b"X: y\rTransfer-Encoding: chunked"), 400),
    "TE with an underscore": Case(
        GET + fields(b"Transfer_Encoding: chunked"), 400
    ),
    "TE with a dot": Case(GET + fields(b"transfer.encoding: chunked"), 400),
    "Keep-Alive with an underscore": Case(GET + fields(b"Keep_Alive: 5"), 400),
    "Proxy-Authorization with an underscore": Case(GET + fields(b"PROXY_AUTHORIZATION: x"), 400),
    "an underscore elsewhere": Case(GET + fields(b"X_Forwarded_For: 1.2.3.4"), PLAIN),
    "TE in HTTP/1.0": Case(
        b"POST http://{H}/a HTTP/1.0\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    # -- fields ------------------------------------------------------------------------------------
    "bare line feeds": Case(GET.replace(b"\r", b"") + b"\n", 400),
    "one bare line feed": Case(GET + b"X: y\nY: z\r\n\r\n", 400),
    "bare LF at the end": Case(GET + b"\n" + SMUGGLED, 400),
    "bare CR": Case(GET + fields(b"X: y\rY: z"), 400),
    "CR CR LF": Case(GET + fields(b"X: y\r"), 400),
    "NUL in a value": Case(GET + fields(b"X: a\x00b"), 400),
    "NUL in a name": Case(GET + fields(b"X\x00: a"), 400),
    "escape in a value": Case(GET + fields(b"X: a\x1bb"), 400),
    "delete in a value": Case(GET + fields(b"X: a\x7fb"), 400),
    "non-ASCII name": Case(GET + fields("X-\u00e4: a".encode()), 400),
    "space in a name": Case(GET + fields(b"X Y: a"), 400),
    "space before a colon": Case(GET + fields(b"X : a"), 400),
    "no colon": Case(GET + fields(b"nothing"), 400),
    "no name": Case(GET + fields(b": a"), 400),
    "folded": Case(GET + fields(b"X: a", b" b"), 400),
    "folded with a tab": Case(GET + fields(b"X: a", b"\tb"), 400),
    "first line folded": Case(b"GET http://{H}/a HTTP/1.1\r\n X: y\r\nHost: {H}\r\n\r\n", 400),
    "a value with every byte": Case(
        GET + fields(b"X: " + bytes(range(0x80, 0x100))), [("GET", "/a", b"")]
    ),
    "Connection names the length": Case(
        POST + fields(b"Connection: content-length", b"Content-Length: 3") + b"abc", ABC
    ),
    "Connection names the host": Case(GET + fields(b"Connection: host, x", b"X: y"), PLAIN),
    "Connection names TE": Case(
        posted(b"Connection: transfer-encoding", b"Transfer-Encoding: chunked"), ABC
    ),
    "two Connections": Case(
        GET + fields(b"Connection: keep-alive", b"Connection: X-Smuggled", b"X-Smuggled: 1"), PLAIN
    ),
    "hop-by-hop": Case(
        GET
        + fields(
            b"TE: trailers", b"Trailer: X", b"Keep-Alive: 9", b"Proxy-Connection: keep-alive",
            b"Proxy-Authorization: Basic eDp5",
        ),
        PLAIN,
    ),
    "h2c": Case(
        GET
        + fields(
            b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"
        ),
        PLAIN,
    ),
    "h2c without Connection": Case(GET + fields(b"Upgrade: h2c", b"HTTP2-Settings: AAAA"), PLAIN),
    "an endless field": Case(GET + b"X: " + b"y" * 70_000, 431),
    "many fields": Case(GET + b"".join(b"x%d: y\r\n" % n for n in range(9_000)) + b"\r\n", 431),
    "tiny fields": Case(GET + b"a:b\r\n" * 4_500 + b"\r\n", 431, goes_on=True),
    # -- hosts and targets -------------------------------------------------------------------------
    "no Host": Case(b"GET http://{H}/a HTTP/1.1\r\n\r\n", 400),
    "no Host, HTTP/1.0": Case(b"GET /a HTTP/1.0\r\n\r\n", 400),
    "two Hosts": Case(GET + fields(b"Host: {H}"), 400),
    "two Hosts, different": Case(GET + fields(b"Host: other.test"), 400),
    "a Host that is none": Case(b"GET http://{H}/a HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    "a Host that is a list": Case(b"GET http://{H}/a HTTP/1.1\r\nHost: {H}, b\r\n\r\n", 400),
    "a Host with a user": Case(b"GET /a HTTP/1.1\r\nHost: user@{H}\r\n\r\n", 400),
    "a Host with a path": Case(b"GET /a HTTP/1.1\r\nHost: {H}/b\r\n\r\n", 400),
    "another Host": Case(b"GET http://{H}/a HTTP/1.1\r\nHost: other.test\r\n\r\n", PLAIN),
    "an empty Host": Case(b"GET http://{H}/a HTTP/1.1\r\nHost:\r\n\r\n", PLAIN),
    "origin form": Case(b"GET /a HTTP/1.1\r\nHost: {H}\r\n\r\n", PLAIN),
    "user in the target": Case(b"GET http://u:p@{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "fragment": Case(b"GET http://{H}/a#/smuggled HTTP/1.1\r\nHost: {H}\r\n\r\n", PLAIN),
    "no path": Case(b"GET http://{H}?x HTTP/1.1\r\nHost: {H}\r\n\r\n", [("GET", "/?x", b"")]),
    "ftp": Case(b"GET ftp://{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "file": Case(b"GET file:///etc/passwd HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "gopher": Case(b"GET gopher://{H}/_a HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "javascript": Case(b"GET javascript:alert(1) HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "two slashes too few": Case(b"GET http:/{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "authority form": Case(b"GET {H} HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "star form": Case(b"OPTIONS * HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "backslashes": Case(
        b"GET http://{H}\\@evil.test/ HTTP/1.1\r\nHost: {H}\r\n\r\n", 400
    ),
    "percent in the host": Case(b"GET http://a%0d%0ab/ HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "coded line ends": Case(
        b"GET http://{H}/a%0d%0aX:%20y HTTP/1.1\r\nHost: {H}\r\n\r\n",
        [("GET", "/a%0d%0aX:%20y", b"")],
    ),
    "dots and slashes": Case(
        b"GET http://{H}//x/../a/./%2e%2e/ HTTP/1.1\r\nHost: {H}\r\n\r\n",
        [("GET", "//x/../a/./%2e%2e/", b"")],
    ),
    # -- request lines -----------------------------------------------------------------------------
    "two spaces": Case(b"GET  http://{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "a tab": Case(b"GET\thttp://{H}/a\tHTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "space in front": Case(b" GET http://{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "space behind": Case(b"GET http://{H}/a HTTP/1.1 \r\nHost: {H}\r\n\r\n", 400),
    "space in the target": Case(b"GET http://{H}/a b HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "non-ASCII target": Case(b"GET http://{H}/\xe4 HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "HTTP/0.9": Case(b"GET http://{H}/a\r\n", 400),
    "HTTP/1.2": Case(b"GET http://{H}/a HTTP/1.2\r\nHost: {H}\r\n\r\n", 505),
    "HTTP/2.0": Case(b"GET http://{H}/a HTTP/2.0\r\nHost: {H}\r\n\r\n", 505),
    "HTTP/1.1.1": Case(b"GET http://{H}/a HTTP/1.1.1\r\nHost: {H}\r\n\r\n", 400),
    "HTTP/01.1": Case(b"GET http://{H}/a HTTP/01.1\r\nHost: {H}\r\n\r\n", 400),
    "http in lower case": Case(b"GET http://{H}/a http/1.1\r\nHost: {H}\r\n\r\n", 400),
    "a known method in lower case": Case(b"get http://{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 501),
    "connect in lower case": Case(b"connect {H} HTTP/1.1\r\nHost: {H}\r\n\r\n", 501),
    "a method of one's own": Case(
        b"frob http://{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", [("frob", "/a", b"")]
    ),
    "a method that is none": Case(b"G(T http://{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "an endless method": Case(b"G" * 70_000, 414),
    "a long method": Case(b"G" * 3_000 + b" http://{H}/a HTTP/1.1\r\nHost: {H}\r\n\r\n", 501),
    "a long address": Case(
        b"GET http://{H}/" + b"a" * 8_200 + b" HTTP/1.1\r\nHost: {H}\r\n\r\n", 414
    ),
    "an empty line before": Case(b"\r\n\r\n" + GET + b"\r\n", PLAIN),
    "TRACE with a body": Case(
        b"TRACE http://{H}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3\r\n\r\nabc", 400
    ),
    # -- chunks ------------------------------------------------------------------------------------
    "chunks": Case(CHUNKED + b"1\r\na\r\n002\r\nbc\r\n0\r\n\r\n", ABC),
    "chunk extension": Case(CHUNKED + b"3;x=y;z\r\nabc\r\n0;end\r\n\r\n", ABC),
    "chunk size: no digits": Case(CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n", 400),
    "chunk size: minus": Case(CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n", 400),
    "chunk size: plus": Case(CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n", 400),
    "chunk size: 0x": Case(CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n", 400),
    "chunk size: space in front": Case(CHUNKED + b" 3\r\nabc\r\n0\r\n\r\n", 400),
    "chunk size: empty": Case(CHUNKED + b"\r\nabc\r\n0\r\n\r\n", 400),
    "chunk size: 2^64 + 3": Case(CHUNKED + b"10000000000000003\r\nabc\r\n0\r\n\r\n", 413),
    "chunk size: 2^32 + 3": Case(CHUNKED + b"100000003\r\nabc\r\n0\r\n\r\n", 413),
    "chunk size: 30 digits": Case(CHUNKED + b"0" * 29 + b"3\r\nabc\r\n0\r\n\r\n", 400),
    "chunk: bare LF": Case(CHUNKED + b"3\nabc\r\n0\r\n\r\n", 400),
    "chunk: bare LF behind the data": Case(CHUNKED + b"3\r\nabc\n0\r\n\r\n", 400),
    "chunk: bare CR in an extension": Case(CHUNKED + b"3;\rx\r\nabc\r\n0\r\n\r\n", 400),
    "chunk: bare LF in an extension": Case(CHUNKED + b"3;\n0\n\n\r\nabc\r\n0\r\n\r\n", 400),
    "chunk: longer than its size": Case(CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n", 400),
    "chunk: shorter than its size": Case(CHUNKED + b"4\r\nabc\r\n0\r\n\r\n", 400),
    "an extension bomb": Case(CHUNKED + b"3;" + b"x" * 140_000 + b"\r\nabc\r\n0\r\n\r\n", 400),
    "many extensions": Case(
        CHUNKED + (b"1;" + b"x" * 3_000 + b"\r\na\r\n") * 200 + b"0\r\n\r\n", 400
    ),
    "trailer": Case(CHUNKED + b"3\r\nabc\r\n0\r\nX-Check: 1\r\n\r\n", ABC),
    "trailer: Content-Length": Case(CHUNKED + b"3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n", 400),
    "trailer: Host": Case(CHUNKED + b"3\r\nabc\r\n0\r\nHost: evil.test\r\n\r\n", 400),
    "trailer: TE": Case(CHUNKED + b"3\r\nabc\r\n0\r\nTransfer-Encoding: x\r\n\r\n", 400),
    "trailer: bare LF": Case(CHUNKED + b"3\r\nabc\r\n0\r\nX: y\n\n" + SMUGGLED, 400),
    "trailer: bare LF alone": Case(CHUNKED + b"3\r\nabc\r\n0\r\n\n" + SMUGGLED, 400),
    "trailer: a request": Case(CHUNKED + b"3\r\nabc\r\n0\r\n" + SMUGGLED, 400),
    "trailer: folded": Case(CHUNKED + b"3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n", 400),
    "trailers without end": Case(CHUNKED + b"3\r\nabc\r\n0\r\n" + b"X: y\r\n" * 30_000, 400),
    "no last chunk": Case(CHUNKED + b"3\r\nabc\r\n", CUT),
    "half a last chunk": Case(CHUNKED + b"3\r\nabc\r\n0\r\n", CUT),
    "half a body": Case(POST + b"Content-Length: 9\r\n\r\nabc", CUT),
    "half a head": Case(GET + b"X-Half", CUT),
    # -- pipelines, CONNECT, Expect ----------------------------------------------------------------
    "two requests": Case(
        GET + b"\r\n" + POST + b"Content-Length: 3\r\n\r\nabc", [*PLAIN, *ABC]
    ),
    "Expect": Case(
        POST + fields(b"Expect: 100-continue", b"Content-Length: 3") + b"abc", ABC
    ),
    "Expect of something else": Case(
        POST + fields(b"Expect: 200-ok", b"Content-Length: 3") + b"abc", 417
    ),
    "Expect twice": Case(
        POST + fields(b"Expect: 100-continue", b"Expect: y", b"Content-Length: 3") + b"abc", 417
    ),
    "Expect without a body": Case(GET + fields(b"Expect: 100-continue"), PLAIN),
    "CONNECT with a length": Case(
        b"CONNECT {H} HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3\r\n\r\nabc", 400
    ),
    "CONNECT in chunks": Case(
        b"CONNECT {H} HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
    ),
    "CONNECT without a port": Case(b"CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    "CONNECT to port 0": Case(b"CONNECT a.test:0 HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    "CONNECT to port 65536": Case(b"CONNECT a.test:65536 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "CONNECT to a minus": Case(b"CONNECT a.test:-1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "CONNECT to a URL": Case(b"CONNECT http://{H}/ HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "CONNECT with a user": Case(b"CONNECT u@{H} HTTP/1.1\r\nHost: {H}\r\n\r\n", 400),
    "CONNECT to half an IPv6": Case(b"CONNECT [::1:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "CONNECT to IPv6 without []": Case(b"CONNECT ::1:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
}  # fmt: skip


@dataclass
class Result:
    """What became of a case."""

    answers: list[tuple[int, bytes]]
    seen: list[Forwarded]
    complaints: list[str]


async def answers(reader: asyncio.StreamReader, *, most: int) -> list[tuple[int, bytes]]:
    """Status and body of up to `most` final responses, each with its length."""
    found: list[tuple[int, bytes]] = []
    try:
        while len(found) < most:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            status = int(head.split(b" ")[1])
            if status == 100:
                continue
            length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            found.append((status, await reader.readexactly(int(length or 0))))
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    return found


async def result(case: Case, proxy: Address, origin: RawOrigin) -> Result:
    """Write the case and the innocent request behind it; what came back, what the origin saw."""
    origin.seen.clear()
    origin.complaints.clear()
    reader, writer = await asyncio.open_connection(*proxy)
    host = origin.host.encode()
    cut = case.outcome == CUT
    raw = case.raw + (b"" if cut else SENTINEL)
    wanted = len(case.outcome) + 1 if isinstance(case.outcome, list) else 2
    writer.write(raw.replace(b"{H}", host))
    try:
        found = [] if cut else await answers(reader, most=wanted)
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    # A request of another connection goes after whatever the first one may have left behind.
    reader, writer = await asyncio.open_connection(*proxy)
    writer.write(SENTINEL.replace(b"{H}", host))
    after = await answers(reader, most=1)
    writer.close()
    assert after == [(200, b"GET /sentinel ")]
    seen = [(one.method, one.target, one.body.replace(host, b"{H}")) for one in origin.seen]
    return Result(found, seen, list(origin.complaints))


@functools.cache
def results() -> dict[str, Result | str]:
    """All cases, one after the other, through one pair."""

    async def go() -> dict[str, Result | str]:
        found: dict[str, Result | str] = {}
        async with RawOrigin().running() as origin, pair() as both:
            for name, case in CASES.items():
                try:
                    async with asyncio.timeout(60):
                        found[name] = await result(case, both.address, origin)
                except TimeoutError:
                    found[name] = "no answer, or half of one"
        return found

    return run(go(), timeout=120)


@pytest.mark.parametrize("name", CASES)
def test_one_reading_or_none(name: str) -> None:
    case, found = CASES[name], results()[name]
    assert isinstance(found, Result), found
    assert found.complaints == []
    if isinstance(case.outcome, int):
        assert [status for status, _ in found.answers] == [case.outcome, *[200] * case.goes_on]
        assert found.seen == [SENTINEL_SEEN] * (1 + case.goes_on)
    elif case.outcome == CUT:
        assert found.seen == [SENTINEL_SEEN]
    else:
        assert found.seen == [*case.outcome, SENTINEL_SEEN, SENTINEL_SEEN]
        assert [status for status, _ in found.answers] == [200] * (len(case.outcome) + 1)
        assert found.answers[-1] == (200, b"GET /sentinel ")

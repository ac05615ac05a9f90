"""h2spec, the conformance suite for HTTP/2 and HPACK, against the front: plain and over TLS."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from local_proxy.front.listener import Front
from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Https
from local_proxy.http.model import Duplex, Request, Response

H2SPEC = shutil.which("h2spec")
pytestmark = pytest.mark.skipif(
    H2SPEC is None, reason="no h2spec on this machine (scripts/system-packages builds it)"
)


class Core:
    """Answers what h2spec asks: some bytes, after the body."""

    async def handle(self, request: Request) -> Response:
        if request.body is not None:
            async for _ in request.body:
                pass
        return Response(200, [("content-type", "text/plain")], b"some bytes to send " * 5)

    async def connect(self, host: str, port: int, **how: object) -> Duplex | Response:
        return Response(502, [], b"")


NOT_HTTP2 = {"Sends invalid connection preface"}
"""At a port where HTTP/1.1 is spoken, too, this is a malformed request of that: answered 400."""


@pytest.mark.parametrize(
    ("flags", "excused"),
    [((), NOT_HTTP2), (("--tls", "--insecure"), set())],
    ids=["prior-knowledge", "tls"],
)
def test_h2spec(tmp_path: Path, flags: tuple[str, ...], excused: set[str]) -> None:
    report = tmp_path / "report.xml"

    async def main() -> None:
        https = Https(Authority.open(tmp_path / "ca"), now=asyncio.get_running_loop().time)
        front = Front(Core(), https=https)
        host, port = await front.listen("127.0.0.1", 0)
        assert H2SPEC is not None
        try:
            process = await asyncio.create_subprocess_exec(
                *(H2SPEC, "--strict", "-h", host, "-p", str(port), "-j", str(report), *flags),
                stdout=asyncio.subprocess.DEVNULL,
            )
            async with asyncio.timeout(60):
                await process.wait()
        finally:
            await front.close()

    asyncio.run(main())
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = {case.attrib["classname"] for case in cases if len(case)}
    assert failed == excused
    assert len(cases) >= 146

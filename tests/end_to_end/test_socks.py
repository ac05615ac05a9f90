"""SOCKS 5 through both proxies: tunnels, pages, and what the remote refuses."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from tests.end_to_end.pair import Pair, all_three, run

CURL = shutil.which("curl")


async def dial(
    both: Pair, host: str, port: int
) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
    """What is replied, and the streams."""
    reader, writer = await asyncio.open_connection(*both.address)
    name = host.encode()
    writer.write(b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name + port.to_bytes(2))
    assert await reader.readexactly(2) == b"\x05\x00"
    return (await reader.readexactly(10))[1], reader, writer


def test_a_program_reaches_its_server() -> None:
    async def go() -> None:
        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"I speak first\n")
            writer.write((await reader.read()).upper())
            writer.close()

        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, all_three() as (_, both):
            said, reader, writer = await dial(both, "127.0.0.1", port)
            assert said == 0
            assert await reader.readline() == b"I speak first\n"
            writer.write(b"hello")
            writer.write_eof()
            assert await reader.read() == b"HELLO"
            writer.close()

    run(go())


@pytest.mark.parametrize(("port", "said"), [(25, 2), (1, 4)])
def test_what_can_not_be_reached_is_said(port: int, said: int) -> None:
    async def go() -> None:
        async with all_three() as (_, both):
            told, reader, writer = await dial(both, "127.0.0.1", port)
            assert told == said
            assert await reader.read() == b""
            writer.close()

    run(go())


def test_a_page_at_the_port_of_http_is_one_to_be_adapted() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b"<!doctype html><p>Text<img src=/a.png>", "text/html")
            said, reader, writer = await dial(both, "127.0.0.1", 80)
            assert said == 0
            host = origin.base.partition("://")[2]
            fields = f"host: {host}\r\nsec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\n"
            writer.write(f"GET / HTTP/1.1\r\n{fields}connection: close\r\n\r\n".encode())
            answer = await reader.read()
            assert b"<p>Text<img src=/a.png>" in answer
            assert b"/.well-known/sluice/" in answer, "the page has its driver"
            writer.close()

    run(go())


@pytest.mark.skipif(CURL is None, reason="no curl on this machine")
def test_curl_takes_us_for_a_socks_proxy() -> None:
    async def go() -> None:
        assert CURL is not None
        async with all_three() as (origin, both):
            origin.serve("/file", b"x" * 100_000, "application/octet-stream")
            proxy = f"{both.address[0]}:{both.address[1]}"
            command = (CURL, "-sS", "--socks5-hostname", proxy, f"{origin.base}/file")
            process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
            output, _ = await process.communicate()
            assert output == b"x" * 100_000

    run(go())

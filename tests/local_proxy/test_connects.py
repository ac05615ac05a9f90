"""CONNECT on a client's stream in memory: every byte arrives, whatever it is."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog.testing
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Connects, Https
from local_proxy.http.client_stream import ClientStream
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Duplex, Request, Response
from tests.local_proxy.test_client_hello import HELLO


class Said:
    """A client that says some pieces and leaves; keeps what it hears."""

    def __init__(self, *pieces: bytes, silent: bool = False, after: float = 0.0) -> None:
        self.on_leave: Callable[[], object] | None = None
        self.ended = self.lost = False
        self._pieces: Iterator[bytes] = iter(pieces)
        self._silent = silent
        self._after = after
        """Seconds until the first piece."""
        self.heard = bytearray()
        self.written = asyncio.Event()
        self.how = "open"

    async def read(self) -> bytes:
        if self._after:
            await asyncio.sleep(self._after)
            self._after = 0.0
        piece = next(self._pieces, b"")
        if not piece and self._silent:
            await asyncio.Event().wait()
        self.ended = not piece
        return piece

    async def write(self, data: bytes) -> None:
        self.heard += data
        self.written.set()

    def end(self, last: bytes = b"") -> None:
        self.how = "half-closed"

    def close(self, last: bytes = b"") -> None:
        self.how = "closed"

    def abort(self) -> None:
        self.how = "aborted"


class Far:
    """A server that speaks first and ends when the client does."""

    def __init__(self, first: bytes = b"220 hello") -> None:
        self.got = bytearray()
        self.closed = 0
        self._says: asyncio.Queue[bytes] = asyncio.Queue()
        if first:
            self._says.put_nowait(first)

    def say(self, words: bytes) -> None:
        self._says.put_nowait(words)

    async def read(self) -> bytes:
        if self.got and self._says.empty():
            self._says.put_nowait(b"")
        return await self._says.get()

    async def write(self, data: bytes) -> None:
        self.got += data

    async def end(self) -> None:
        self._says.put_nowait(b"")

    async def close(self) -> None:
        self.closed += 1


class OneTunnel:
    """A core whose tunnels all lead to one far end."""

    def __init__(self, far: Far | None) -> None:
        self.far = far
        self.asked: list[tuple[str, int]] = []

    async def handle(self, request: Request) -> Response:
        raise AssertionError("nothing was to be adapted")

    async def connect(
        self, host: str, port: int, *, tls: bool = False, early: bytes = b""
    ) -> Duplex | Response:
        self.asked.append((host, port))
        if self.far is not None:
            self.far.got += early
        return self.far or error_page(502, "nobody there")


@pytest.fixture(scope="module")
def quiet() -> Iterator[None]:
    """No word of every client that is let through."""
    with structlog.testing.capture_logs():
        yield


STATE = tempfile.TemporaryDirectory()


async def carried(
    client: Said,
    core: OneTunnel,
    *,
    early: bytes = b"",
    port: int = 22,
    tunnel: str = "",
    meanwhile: Callable[[Https], object] = lambda https: None,
) -> list[str]:
    """Carry a CONNECT to its end; the origins that were served. `meanwhile`: happens between the
    answer to it and what the client says."""
    served: list[str] = []

    async def serve(stream: ClientStream, origin: str) -> None:
        served.append(origin)

    https = Https(
        Authority.open(Path(STATE.name) / "state"),
        tunnel=[tunnel] if tunnel else [],
        now=asyncio.get_running_loop().time,
    )
    serving = {"http/1.1": serve}
    connects = Connects(core, https=https, serve=serving, idle_time=5.0, silence=0.01)
    way = await connects.open("a.test", port, client="test")
    assert not isinstance(way, Response)
    meanwhile(https)
    await way.carry(client, early)
    await way.close()
    return served


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5), st.booleans())
def test_whatever_comes_first_arrives_unchanged(pieces: list[bytes], early: bool) -> None:
    """No hello names `a.test` by chance, so all of it is opaque."""

    async def go() -> None:
        far = Far()
        first, rest = (pieces[0], pieces[1:]) if early else (b"", pieces)
        client = Said(*rest)
        assert await carried(client, OneTunnel(far), early=first) == []
        assert far.got == b"".join(pieces)
        assert far.closed == 1
        assert client.heard.startswith(b"220 hello")

    asyncio.run(go())


@pytest.mark.usefixtures("quiet")
@given(st.integers(0, len(HELLO) - 1), st.integers(1, 255))
def test_a_damaged_hello_is_passed_on_or_ends_in_an_alert(at: int, flip: int) -> None:
    async def go() -> None:
        data = bytearray(HELLO)
        data[at] ^= flip
        far = Far()
        client = Said(bytes(data))
        core = OneTunnel(far)
        await carried(client, core)
        if core.asked:
            assert far.got == data
        else:  # it was a hello to us all the same
            assert client.how == "closed"
            assert bytes(client.heard[:1]) in (b"\x15", b"\x16")

    asyncio.run(go())


def test_a_silent_client_hears_a_server_that_speaks_first() -> None:
    async def go() -> None:
        far = Far()
        client = Said(silent=True)
        task = asyncio.ensure_future(carried(client, OneTunnel(far)))
        await client.written.wait()
        assert client.heard == b"220 hello"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(go())


def test_a_busy_client_that_says_late_what_it_speaks_is_served_all_the_same() -> None:
    """A browser on a slow machine takes longer than an SSH client that waits for the server."""

    async def go() -> None:
        far = Far(b"")
        core = OneTunnel(far)
        client = Said(HELLO, after=0.1)
        await carried(client, core, port=8443)
        assert bytes(client.heard[:1]) in (b"\x15", b"\x16")
        assert core.asked == [("a.test", 8443)]
        assert (far.got, far.closed) == (b"", 1)

    asyncio.run(go())


def test_what_a_client_says_late_and_is_for_nobody_here_is_passed_on() -> None:
    async def go() -> None:
        far = Far(b"")
        assert await carried(Said(b"GET / HTTP/1.0\r\n\r\n", after=0.1), OneTunnel(far)) == []
        assert far.got == b"GET / HTTP/1.0\r\n\r\n"
        assert far.closed == 1

    asyncio.run(go())


@pytest.mark.parametrize("port", [443, 8443])
def test_what_was_opened_before_a_client_refused_us_is_passed_on(port: int) -> None:
    """Browsers open several connections at once: the first one refused says it of all."""

    def refused(https: Https) -> None:
        https.rejected("b.test", "test", sure=True)

    async def go() -> None:
        far = Far(b"")
        client = Said(HELLO)
        assert await carried(client, OneTunnel(far), port=port, meanwhile=refused) == []
        assert far.got == HELLO
        assert client.heard == b""

    asyncio.run(go())


def test_half_a_hello_as_the_server_speaks_is_passed_on() -> None:
    async def go() -> None:
        far = Far(b"")
        client = Said(HELLO[:20], silent=True, after=0.05)
        asyncio.get_running_loop().call_later(0.2, far.say, b"220 hello")
        task = asyncio.ensure_future(carried(client, OneTunnel(far)))
        await client.written.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert far.got == HELLO[:20]
        assert client.heard == b"220 hello"
        assert far.closed == 1

    asyncio.run(go())


def test_who_leaves_before_anybody_has_spoken_leaves_nothing_open() -> None:
    async def go() -> None:
        far = Far(b"")
        await carried(Said(after=0.05), OneTunnel(far))
        assert far.closed == 1

    asyncio.run(go())


def test_a_connection_opened_for_nothing_costs_the_link_nothing() -> None:
    async def go() -> None:
        core = OneTunnel(Far())
        assert await carried(Said(), core, port=443) == []
        assert core.asked == []

    asyncio.run(go())


def test_a_tunnel_that_fails_after_its_200_is_broken_off() -> None:
    async def go() -> None:
        client = Said(b"EHLO me\r\n")
        await carried(client, OneTunnel(None))
        assert client.how == "aborted"

    asyncio.run(go())


@pytest.mark.parametrize(
    ("pattern", "host", "adapted"),
    [
        ("", "a.test", True),
        ("a.test", "a.test", False),
        ("A.Test.", "a.test.", False),
        ("a.test", "b.a.test", True),
        ("*.a.test", "b.a.test", False),
        ("*.a.test", "c.b.a.test", False),
        ("*.a.test", "a.test", False),
        ("*.a.test", "xa.test", True),
        ("*", "a.test", False),
        ("::1", "[::1]", False),
    ],
)
def test_patterns_of_hosts_that_are_never_adapted(
    tmp_path: Path, pattern: str, host: str, adapted: bool
) -> None:
    tunnel = [pattern] if pattern else []
    https = Https(Authority.open(tmp_path), tunnel=tunnel, now=lambda: 0.0)
    assert https.adapts(host, "any") is adapted

"""Stores keep bytes by name and may lose them; one that fails delays nobody and raises nothing."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bench.pairs.ports import free_port
from bench.pairs.valkey_server import MISSING, SERVER, valkey
from remote_proxy.store.memory import MemoryStore
from remote_proxy.store.opening import open_store
from remote_proxy.store.store import MAX_VALUE, Store, name
from remote_proxy.store.valkey import PATIENCE, REST, NoSuchStore, ValkeyStore

Check = Callable[[Store], Awaitable[None]]


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Store]:
    if kind == "memory":
        yield MemoryStore(1 << 20)
        return
    async with valkey(folder) as server:
        store = ValkeyStore(server.url)
        try:
            yield store
        finally:
            await store.close()


@pytest.fixture(params=["memory", "valkey"])
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Check], None]:
    if request.param == "valkey" and SERVER is None:
        pytest.skip(MISSING)

    def check(work: Check) -> None:
        async def go() -> None:
            async with opened(request.param, tmp_path) as store:
                await work(store)

        asyncio.run(go())

    return check


def test_bytes_come_back_until_they_are_forgotten(each: Callable[[Check], None]) -> None:
    async def work(store: Store) -> None:
        key = name("a")
        assert await store.get(key) is None
        await store.put(key, b"\x00\xff", seconds=60)
        assert await store.get(key) == b"\x00\xff"
        await store.put(key, b"", seconds=60)
        assert await store.get(key) == b""
        await store.forget(key)
        assert await store.get(key) is None
        found = store.statistics()
        assert (found.found, found.missed, found.failed, found.answers) == (2, 2, 0, True)

    each(work)


def test_nothing_is_kept_for_longer_than_it_is_to_be(each: Callable[[Check], None]) -> None:
    async def work(store: Store) -> None:
        await store.put(b"short", b"1", seconds=0.05)
        await store.put(b"never", b"1", seconds=0)
        await store.put(b"past", b"1", seconds=-5)
        await asyncio.sleep(0.1)
        assert [await store.get(key) for key in (b"short", b"never", b"past")] == [None] * 3

    each(work)


def test_too_large_a_value_is_not_kept_and_the_old_one_goes(
    each: Callable[[Check], None],
) -> None:
    async def work(store: Store) -> None:
        await store.put(b"a", b"1", seconds=60)
        await store.put(b"a", bytes(MAX_VALUE + 1), seconds=60)
        assert await store.get(b"a") is None

    each(work)


def test_one_alone_does_a_piece_of_work(each: Callable[[Check], None]) -> None:
    async def work(store: Store) -> None:
        assert not await store.claimed(b"a")
        assert await store.claim(b"a", seconds=60)
        assert not await store.claim(b"a", seconds=60)
        assert await store.claimed(b"a")
        assert await store.claim(b"b", seconds=60)
        await store.release(b"a")
        assert await store.claim(b"a", seconds=0.05)
        await asyncio.sleep(0.1)
        assert not await store.claimed(b"a")  # whoever had it has died
        assert await store.claim(b"a", seconds=60)

    each(work)


def test_names_are_those_of_their_parts() -> None:
    assert name("a", "b") == name(b"a", b"b")
    assert len({name("ab"), name("a", "b"), name("", "ab"), name("ab", "")}) == 4
    assert len(name("\udcff")) == 32


def test_memory_is_bounded_and_what_was_used_last_stays() -> None:
    async def go() -> None:
        store = MemoryStore(10_000)
        for key in (b"a", b"b", b"c"):
            await store.put(key, bytes(3_000), seconds=60)
        assert await store.get(b"a") is not None
        await store.put(b"d", bytes(3_000), seconds=60)
        assert store.used <= 10_000
        assert await store.get(b"a") is not None
        assert await store.get(b"b") is None
        await store.put(b"e", bytes(10_001), seconds=60)
        assert await store.get(b"a") is not None
        await store.close()
        assert store.used == 0

    asyncio.run(go())


def test_claims_that_are_over_are_not_kept() -> None:
    async def go() -> None:
        now = 0.0
        store = MemoryStore(10_000, now=lambda: now)
        for number in range(1_000):
            now += 1.0
            assert await store.claim(str(number).encode(), seconds=1.0)
        assert await store.claim(b"0", seconds=1.0)

    asyncio.run(go())


@pytest.mark.parametrize(
    "setting",
    ["disk", "http://127.0.0.1", "redis:", "redis://:port:/", "redis://host:x", "memory://"],
)
def test_what_is_no_store_is_said(setting: str) -> None:
    with pytest.raises(NoSuchStore, match=r"remote\.store"):
        open_store(setting, memory=1)


def test_a_setting_names_a_store() -> None:
    assert open_store("", memory=1) is None
    assert isinstance(open_store("memory", memory=1), MemoryStore)
    for address in ("redis://h", "rediss://u:p@h:1/2", "unix:///p", "valkey://h", "valkeys://h"):
        assert isinstance(open_store(address, memory=1), ValkeyStore)


@pytest.mark.skipif(SERVER is None, reason=MISSING)
def test_a_store_that_dies_has_nothing_and_is_used_again_when_it_is_back(tmp_path: Path) -> None:
    async def go() -> None:
        now = 0.0
        async with valkey(tmp_path) as server:
            store = ValkeyStore(server.url, now=lambda: now)
            await store.put(b"a", b"1", seconds=60)
            await server.kill()
            assert await store.get(b"a") is None
            assert await store.claim(b"a", seconds=60)  # everybody may begin
            assert not await store.claimed(b"a")
            await store.put(b"a", b"1", seconds=60)
            await store.forget(b"a")
            failed = store.statistics()
            assert (failed.answers, failed.failed) == (False, 1)  # it was asked once
            await server.start()
            now += REST
            assert await store.get(b"a") is None
            await store.put(b"a", b"2", seconds=60)
            assert await store.get(b"a") == b"2"
            assert store.statistics().answers
            await store.close()

    asyncio.run(go())


@pytest.mark.skipif(SERVER is None, reason=MISSING)
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")
def test_over_tls_it_is_the_right_server_and_wants_the_password(tmp_path: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=60,
    )
    port, known = free_port(), f"?ssl_ca_certs={tmp_path}/cert.pem"
    arguments = [
        *("--tls-port", str(port), "--tls-auth-clients", "no", "--requirepass", "se:c/ret"),
        *("--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem"),
        *("--tls-ca-cert-file", "cert.pem"),
    ]

    async def go() -> None:
        async with valkey(tmp_path, *arguments):
            for who, ca, answers in (
                (":se%3Ac%2Fret@", known, True),
                ("", known, False),
                (":se%3Ac%2Fret@", "", False),
            ):
                store = ValkeyStore(f"rediss://{who}localhost:{port}/0{ca}")
                with capture_logs() as logs:
                    await store.put(b"a", b"1", seconds=60)
                    assert await store.get(b"a") == (b"1" if answers else None)
                assert store.statistics().answers is answers
                assert "c%2Fret" not in str(logs) and "se:c" not in str(logs)
                await store.close()

    asyncio.run(go())


def test_a_store_that_never_answers_delays_one_and_once() -> None:
    async def go() -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            store = ValkeyStore(f"redis://127.0.0.1:{silent.getsockname()[1]}")
            began = loop.time()
            assert await store.get(b"a") is None
            took = loop.time() - began
            assert took >= PATIENCE / 2
            for _ in range(1_000):  # which would take minutes
                assert await store.get(b"a") is None
            assert store.statistics().failed == 1
            await store.close()

    asyncio.run(go())


def test_a_server_that_is_something_else_has_nothing() -> None:
    async def go() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            store = ValkeyStore(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            assert await store.get(b"a") is None
            assert not store.statistics().answers
            await store.close()

    asyncio.run(go())

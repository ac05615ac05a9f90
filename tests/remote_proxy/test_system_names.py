"""Tests of the system's name service: one channel for lookups that overlap, and no longer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import aiodns
import pytest

from emulation.memory.virtual_time import run
from remote_proxy.reach.system_names import SERVES, SystemResolver


@dataclass
class Node:
    """An address as c-ares gives it."""

    addr: tuple[bytes, int]
    family: int


@dataclass
class Found:
    """An answer as c-ares gives it."""

    nodes: list[Node]


@dataclass(eq=False)
class Channel:
    """One of c-ares, which answers after a second."""

    open: bool = True
    asked: list[tuple[str, int, int]] = field(default_factory=list)

    async def getaddrinfo(self, host: str, family: int, port: int, *, type: int) -> Found:
        assert self.open and type == socket.SOCK_STREAM
        self.asked.append((host, family, port))
        await asyncio.sleep(1.0)
        if host in ERRORS:
            raise aiodns.error.DNSError(ERRORS[host], "said by c-ares")
        six = Node((b"2001:db8::1", port), socket.AF_INET6)
        four = Node((b"192.0.2.1", port), socket.AF_INET)
        return Found([] if host == "none.test" else [six, four])

    async def close(self) -> None:
        self.open = False


ERRORS = {
    "unknown.test": aiodns.error.ARES_ENOTFOUND,
    "mail-only.test": aiodns.error.ARES_ENODATA,
    "bad..test": aiodns.error.ARES_EBADNAME,
    "dead.test": aiodns.error.ARES_ETIMEOUT,
}


@pytest.fixture
def channels(monkeypatch: pytest.MonkeyPatch) -> list[Channel]:
    made: list[Channel] = []

    def make() -> Channel:
        made.append(Channel())
        return made[-1]

    monkeypatch.setattr("remote_proxy.reach.system_names.aiodns.DNSResolver", make)
    return made


def with_resolver(work: Callable[[SystemResolver], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await work(SystemResolver())

    run(main())


def test_addresses_come_best_first_with_their_families(channels: list[Channel]) -> None:
    async def go(resolver: SystemResolver) -> None:
        found = await resolver.resolve("a.test", 443, socket.AF_INET6)
        assert [(one["host"], one["family"], one["port"]) for one in found] == [
            ("2001:db8::1", socket.AF_INET6, 443),
            ("192.0.2.1", socket.AF_INET, 443),
        ]
        assert {one["hostname"] for one in found} == {"a.test"}
        assert channels[0].asked == [("a.test", socket.AF_INET6, 443)]

    with_resolver(go)


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("unknown.test", socket.EAI_NONAME),
        ("mail-only.test", socket.EAI_NONAME),
        ("bad..test", socket.EAI_NONAME),
        ("none.test", socket.EAI_NONAME),
        ("dead.test", socket.EAI_AGAIN),
    ],
)
def test_names_that_nobody_has_are_told_from_servers_that_do_not_answer(
    channels: list[Channel], host: str, code: int
) -> None:
    async def go(resolver: SystemResolver) -> None:
        with pytest.raises(socket.gaierror) as raised:
            await resolver.resolve(host)
        assert raised.value.errno == code
        assert not channels[0].open

    with_resolver(go)


def test_lookups_that_overlap_share_a_channel_that_closes_with_the_last(
    channels: list[Channel],
) -> None:
    async def go(resolver: SystemResolver) -> None:
        first = asyncio.ensure_future(resolver.resolve("a.test"))
        await asyncio.sleep(0.5)
        second = asyncio.ensure_future(resolver.resolve("b.test"))
        await first
        assert len(channels) == 1 and channels[0].open
        await second
        assert not channels[0].open
        await resolver.resolve("c.test")
        assert len(channels) == 2 and not channels[1].open

    with_resolver(go)


def test_a_channel_serves_so_many_lookups_and_then_another_does(channels: list[Channel]) -> None:
    async def go(resolver: SystemResolver) -> None:
        tasks = [
            asyncio.ensure_future(resolver.resolve(f"{number}.test"))
            for number in range(SERVES + 1)
        ]
        await asyncio.sleep(0.5)
        assert [len(one.asked) for one in channels] == [SERVES, 1]
        await asyncio.gather(*tasks)
        assert not any(one.open for one in channels)

    with_resolver(go)


def test_closing_ends_what_is_under_way_and_it_can_be_asked_again(channels: list[Channel]) -> None:
    async def go(resolver: SystemResolver) -> None:
        asking = asyncio.ensure_future(resolver.resolve("a.test"))
        await asyncio.sleep(0.5)
        await resolver.close()
        assert not channels[0].open
        await asking
        await resolver.resolve("b.test")
        assert len(channels) == 2

    with_resolver(go)


def test_the_systems_own_names_need_no_name_server() -> None:
    async def main() -> None:
        found = await SystemResolver().resolve("localhost", 80, socket.AF_INET)
        assert [one["host"] for one in found] == ["127.0.0.1"]

    asyncio.run(main())

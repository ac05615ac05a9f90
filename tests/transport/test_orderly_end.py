"""A connection's last words arrive, whatever comes meanwhile, and its socket is closed at last."""

from __future__ import annotations

import asyncio
import gc
import socket
from contextlib import closing

import pytest

from tests.transport.test_last_words import connected
from transport.tcp import orderly_end
from transport.tcp.connection import TcpConnection
from transport.tcp.orderly_end import OrderlyEnd


def test_who_speaks_meanwhile_hears_them_and_no_reset() -> None:
    async def go() -> None:
        ours, theirs = connected()
        with closing(theirs):
            theirs.send(b"unread")
            TcpConnection(ours).finish(b"goodbye")
            theirs.send(b"late")
            await asyncio.sleep(0.02)
            theirs.send(b"later")
            assert theirs.recv(100) == b"goodbye"
            assert theirs.recv(100) == b""
            assert ours.fileno() >= 0
            theirs.shutdown(socket.SHUT_WR)
            await asyncio.sleep(0.02)
            assert ours.fileno() < 0

    asyncio.run(go())


def test_who_has_ended_already_is_not_waited_for() -> None:
    async def go() -> None:
        ours, theirs = connected()
        theirs.close()
        await asyncio.sleep(0.02)
        OrderlyEnd(ours, asyncio.get_running_loop())
        assert ours.fileno() < 0

    asyncio.run(go())


def test_a_broken_one_is_closed_at_once() -> None:
    async def go() -> None:
        ours, theirs = connected()
        ours.send(b"unread")
        theirs.close()  # resets it
        await asyncio.sleep(0.02)
        OrderlyEnd(ours, asyncio.get_running_loop())
        assert ours.fileno() < 0

    asyncio.run(go())


def test_who_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orderly_end, "LASTS", 0.05)

    async def go() -> None:
        ours, theirs = connected()
        with closing(theirs):
            OrderlyEnd(ours, asyncio.get_running_loop())
            assert ours.fileno() >= 0
            await asyncio.sleep(0.1)
            assert ours.fileno() < 0

    asyncio.run(go())


def test_a_loop_that_ends_meanwhile_takes_it_along() -> None:
    loop = asyncio.new_event_loop()
    ours, theirs = connected()
    with closing(theirs):
        OrderlyEnd(ours, loop)
        assert ours.fileno() >= 0
        loop.close()
        del loop
        gc.collect()
        assert ours.fileno() < 0


def test_so_many_are_waited_for_and_no_more() -> None:
    async def go() -> None:
        pairs = [connected() for _ in range(orderly_end.MOST + 2)]
        for ours, _ in pairs:
            OrderlyEnd(ours, asyncio.get_running_loop())
        assert [ours.fileno() < 0 for ours, _ in pairs[-3:]] == [False, True, True]
        for _, theirs in pairs:
            theirs.close()
        await asyncio.sleep(0.05)
        assert all(ours.fileno() < 0 for ours, _ in pairs)
        ours, theirs = connected()
        with closing(theirs):
            OrderlyEnd(ours, asyncio.get_running_loop())
            assert ours.fileno() >= 0

    asyncio.run(go())

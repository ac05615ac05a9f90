"""NAI-TCP and NAI-MTCP: over modelled TCP in virtual time, and over sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from emulation.memory.carrier import CarrierModel
from emulation.memory.tcp_model import SharedPath
from emulation.memory.virtual_time import run
from transport.nai.baselines.nai_mtcp import NaiMtcp
from transport.nai.baselines.nai_tcp import MessageFate, NaiTcp, Sent
from transport.nai.carriers.streams import (
    HEAD,
    LENGTH,
    CarrierStream,
    SocketStream,
    dial,
    listen,
    received,
)
from transport.nai.errors import CarrierError, NaiError, SegmentFault
from transport.nai.receiving.receiver import Received

RATE = 100_000.0
"""Bytes/second: 10 KB take 0.1 s."""


class Ends:
    """The sending side over so many connections a priority, and what has arrived."""

    def __init__(self, counts: dict[int, int] | None, rate: float = RATE) -> None:
        path = SharedPath(CarrierModel(rate=rate, delay=0.01))
        pairs = {
            level: [path.connect() for _ in range(n)] for level, n in (counts or {0: 1}).items()
        }
        near = {level: [one for one, _ in several] for level, several in pairs.items()}
        self.sender: NaiTcp | NaiMtcp = NaiMtcp(near) if counts else NaiTcp(near[0][0])
        self.line = path.line
        self.arrived: list[tuple[float, Received]] = []
        self._tasks = [
            asyncio.create_task(self._take(far)) for several in pairs.values() for _, far in several
        ]

    async def _take(self, far: CarrierStream) -> None:
        async for message in received(far):
            self.arrived.append((asyncio.get_running_loop().time(), message))

    async def close(self) -> None:
        self.sender.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def play(
    scenario: Callable[[Ends], Awaitable[list[Sent]]],
    counts: dict[int, int] | None = None,
    *,
    rate: float = RATE,
) -> tuple[list[str], Ends]:
    """What became of the messages after a minute."""

    async def main() -> tuple[list[str], Ends]:
        ends = Ends(counts, rate)
        sent = await scenario(ends)
        await asyncio.sleep(60.0 - asyncio.get_running_loop().time())
        await ends.close()
        return [one.fate.result().value for one in sent], ends

    return run(main())


def test_one_connection_sends_in_turn_whatever_the_priority() -> None:
    async def scenario(ends: Ends) -> list[Sent]:
        return [ends.sender.submit(bytes((n,)) * 10_000, priority=n, timer=2.0) for n in range(5)]

    fates, ends = play(scenario)
    assert fates == ["delivered"] * 5
    assert [one.data[0] for _, one in ends.arrived] == [0, 1, 2, 3, 4]
    assert [one.priority for _, one in ends.arrived] == [0, 1, 2, 3, 4]
    assert 0.5 < ends.arrived[-1][0] < 0.8  # 50 KB, a round trip a message


def test_half_of_its_time_is_the_longest_that_a_message_waits() -> None:
    async def scenario(ends: Ends) -> list[Sent]:
        first = ends.sender.submit(bytes(100_000), timer=0.5)  # takes a second
        return [
            first,
            ends.sender.submit(b"impatient", timer=1.9),
            ends.sender.submit(b"patient", timer=2.3),
            ends.sender.submit(b"has no timer"),
        ]

    fates, ends = play(scenario)
    # Sends are irrevocable: the first one goes on although it is late.
    assert fates == ["late", "discarded", "delivered", "delivered"]
    assert [one.data[:3] for _, one in ends.arrived] == [bytes(3), b"pat", b"has"]


def test_a_send_ends_with_the_receivers_acknowledgement() -> None:
    async def scenario(ends: Ends) -> list[Sent]:
        sent = ends.sender.submit(bytes(30_000))  # all of it fits the kernel's buffer
        await asyncio.sleep(0.25)
        assert not sent.fate.done()
        await sent.fate
        assert asyncio.get_running_loop().time() == pytest.approx(ends.arrived[0][0] + 0.01)
        return [sent]

    assert play(scenario)[0] == ["delivered"]


def test_a_message_whose_time_is_over_is_ended_early_with_a_connection_a_priority() -> None:
    async def scenario(ends: Ends) -> list[Sent]:
        large = ends.sender.submit(bytes(400_000), timer=1.0)
        await asyncio.sleep(1.5)
        return [large, ends.sender.submit(b"next", timer=1.0)]

    fates, ends = play(scenario, {0: 1})
    assert fates == ["given up", "delivered"]
    assert [one.data for _, one in ends.arrived] == [b"next"]
    assert ends.line.statistics().carried < 150_000  # a second of the link, and the kernel's buffer


def test_priorities_have_connections_of_their_own_and_the_high_one_several() -> None:
    async def scenario(ends: Ends) -> list[Sent]:
        low = ends.sender.submit(bytes(100_000), priority=0)
        return [low, *(ends.sender.submit(bytes(20_000), priority=1) for _ in range(3))]

    ends_by_streams = [play(scenario, {0: 1, 1: high})[1] for high in (1, 3)]
    for ends in ends_by_streams:
        assert [one.priority for _, one in ends.arrived] == [1, 1, 1, 0]
    # Three at once are each later than the first of three in a row: contention.
    one, three = (ends.arrived[0][0] for ends in ends_by_streams)
    assert three > 1.3 * one


def test_what_cannot_be_sent_is_refused_in_words() -> None:
    async def main() -> None:
        near, _ = SharedPath(CarrierModel()).connect()
        with pytest.raises(NaiError, match="without a connection"):
            NaiMtcp({1: []})
        async with NaiMtcp({1: [near]}) as sender:
            with pytest.raises(NaiError, match=r"priority 2; for \[1\]"):
                sender.submit(b"", priority=2)
            with pytest.raises(NaiError, match="not a number"):
                sender.submit(b"", priority=1, timer=float("nan"))
        with pytest.raises(CarrierError, match="closed"):
            sender.submit(b"", priority=1)

    run(main())


class Fed:
    """A stream that holds what a peer has sent, given a byte or all at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        self._data, self._most, self.written = data, most, b""

    async def write(self, data: bytes) -> None:
        self.written += data

    async def read(self, most: int) -> bytes:
        size = min(most, self._most)
        found, self._data = self._data[:size], self._data[size:]
        return found

    def close(self) -> None: ...


async def all_of(stream: Fed, memory: int = 1000) -> list[bytes]:
    return [message.data async for message in received(stream, memory=memory)]


@pytest.mark.parametrize("most", [1, 1 << 20])
def test_messages_are_cut_from_the_stream_however_it_comes(most: int) -> None:
    whole = HEAD.pack(1, 5, -2) + LENGTH.pack(2) + b"ab" + LENGTH.pack(3) + b"cde"
    given_up = HEAD.pack(2, 9, 0) + LENGTH.pack(4) + b"abcd" + LENGTH.pack(0)
    empty = HEAD.pack(3, 0, 0)
    stream = Fed(whole + given_up + empty, most)
    assert asyncio.run(all_of(stream)) == [b"abcde", b""]
    assert stream.written == b"\x06\x06"  # what was given up is not acknowledged
    for size in range(1, len(whole)):
        with pytest.raises(CarrierError, match="within a message"):
            asyncio.run(all_of(Fed(whole[:size], most)))


def test_a_peer_that_breaks_the_protocol_is_told_apart() -> None:
    with pytest.raises(SegmentFault, match="raise `memory`"):
        asyncio.run(all_of(Fed(HEAD.pack(1, 1001, 0), 1 << 20)))
    with pytest.raises(SegmentFault, match="more than those"):
        asyncio.run(all_of(Fed(HEAD.pack(1, 3, 0) + LENGTH.pack(4) + b"abcd", 1 << 20)))


@pytest.mark.parametrize(("answer", "error"), [(b"?", SegmentFault), (b"", CarrierError)])
def test_a_false_acknowledgement_loses_all_that_wait(answer: bytes, error: type[Exception]) -> None:
    async def main() -> None:
        sender = NaiTcp(Fed(answer, 1))
        sent = [sender.submit(b"first"), sender.submit(b"second")]
        assert [await one.fate for one in sent] == [MessageFate.LOST, MessageFate.LOST]
        assert isinstance(sender.error, error)
        with pytest.raises(CarrierError, match="closed"):
            sender.submit(b"third")

    asyncio.run(main())


def test_the_same_over_sockets() -> None:
    async def main() -> tuple[list[MessageFate], list[Received]]:
        arrived: list[Received] = []
        tasks: list[asyncio.Task[None]] = []

        async def take(stream: SocketStream) -> None:
            async for message in received(stream):
                arrived.append(message)
            stream.close()

        server = await listen(
            "127.0.0.1", 0, lambda one: tasks.append(asyncio.create_task(take(one)))
        )
        port = server.sockets[0].getsockname()[1]
        streams = {level: [await dial("127.0.0.1", port)] for level in (0, 1)}
        async with NaiMtcp(streams) as sender:
            sent = [
                sender.submit(bytes((level,)) * size, priority=level, timer=30.0)
                for level, size in ((0, 3_000_000), (1, 100), (1, 0), (0, 5))
            ]
            fates = [await one.fate for one in sent]
        await asyncio.gather(*tasks)
        server.close()
        await server.wait_closed()
        return fates, arrived

    fates, arrived = asyncio.run(main())
    assert fates == [MessageFate.DELIVERED] * 4
    assert sorted(len(one.data) for one in arrived) == [0, 5, 100, 3_000_000]


def test_nobody_to_connect_to_is_an_error_that_names_whom() -> None:
    async def main() -> None:
        server = await listen("127.0.0.1", 0, lambda one: one.close())
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(CarrierError, match=f"no connection to 127.0.0.1:{port}"):
            await dial("127.0.0.1", port)

    asyncio.run(main())

"""Which interfaces carry paths, and a connection's paths over them: real sockets on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import pytest

from emulation.memory import virtual_time
from pairing.identity import device_identity
from tests.watched import run, until
from transport.link.interface import LinkError, NotTrusted
from transport.multipath.device_end import DeviceEnd
from transport.paths import several, usable
from transport.paths.budget import MonthlyBudget
from transport.paths.several import PathKeeper, dial_paths
from transport.paths.terms import AllTerms
from transport.spp.handshake.keys import ClientKeys, ServerKeys
from transport.stream.accepting_end import Reception
from transport.stream.dialling_end import read_preamble
from transport.stream.preamble import Preamble, What
from transport.stream.stream_link import StreamLink

DEVICE, OTHER, REMOTE = (device_identity(seed * 32) for seed in (b"d", b"o", b"r"))
KEYS = ClientKeys(DEVICE.pem, pin=REMOTE.pin)


def test_only_interfaces_that_are_there_and_up_are_used() -> None:
    assert usable.usable(["lo", "nonsuch0", "lo"]) == ["lo"]
    assert usable.usable([]) == []
    assert "lo" not in usable.usable([usable.AUTO])


def reception() -> Reception:
    return Reception(lambda link: None, patience=1.0, congestion=None, new_token=lambda: bytes(16))


def with_remote(
    scenario: Callable[[Reception, int], Awaitable[None]], known: bytes = DEVICE.certificate
) -> None:
    async def main() -> None:
        accepting = reception()
        keys = ServerKeys(REMOTE.pem, {known: "d"})
        listener = await accepting.listen_udp("127.0.0.1", 0, keys=keys)
        try:
            await scenario(accepting, listener.address[1])
        finally:
            accepting.close()
            listener.close()

    run(main())


def test_a_connection_has_a_path_for_each_interface_and_ends_with_them() -> None:
    async def scenario(accepting: Reception, port: int) -> None:
        end = await dial_paths("127.0.0.1", port, keys=KEYS, interfaces=lambda: ["lo"], timeout=5)
        assert [path.name for path in end.paths] == ["lo"]
        await until(lambda: accepting.arriving == 1)
        end.close()
        await until(lambda: not accepting.arriving)

    with_remote(scenario)


def test_a_path_that_is_gone_is_dialled_again() -> None:
    async def scenario(accepting: Reception, port: int) -> None:
        names = ["lo"]
        end = await dial_paths("127.0.0.1", port, keys=KEYS, interfaces=lambda: names, timeout=5)
        second = await dial_paths("127.0.0.1", port, keys=KEYS, interfaces=lambda: names, timeout=5)
        (path,) = end.paths
        end.leave(path)
        with pytest.raises(LinkError):
            await asyncio.wait_for(end.receive(1), 60)  # it was the last one
        second.close()
        await asyncio.sleep(0)

    with_remote(scenario)


def test_without_an_interface_or_an_answer_there_is_no_connection() -> None:
    async def scenario(accepting: Reception, port: int) -> None:
        with pytest.raises(LinkError, match="none of the interfaces"):
            await dial_paths("127.0.0.1", port, keys=KEYS, interfaces=list, timeout=1)
        with pytest.raises(LinkError, match="did not answer"):
            await dial_paths("127.0.0.1", 1, keys=KEYS, interfaces=lambda: ["lo"], timeout=0.3)

    with_remote(scenario)


def test_a_remote_that_does_not_know_this_device_says_so() -> None:
    async def scenario(accepting: Reception, port: int) -> None:
        end = await dial_paths("127.0.0.1", port, keys=KEYS, interfaces=lambda: ["lo"], timeout=5)
        with pytest.raises(NotTrusted):
            await asyncio.wait_for(end.receive(1), 60)

    with_remote(scenario, known=OTHER.certificate)


@pytest.mark.parametrize("revoked", [True, False])
def test_paths_that_end_at_once_are_dialled_again_less_and_less_and_a_refusal_is_final(
    revoked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialled: list[float] = []

    class Ended:
        """A connection that is over as soon as it is made."""

        error = NotTrusted("who are you?") if revoked else None
        open = False
        round_trip = None
        changed = staticmethod(lambda: None)

        async def closed(self) -> None: ...

    async def connect(*_: object, **__: object) -> Ended:
        dialled.append(asyncio.get_running_loop().time())
        return Ended()

    async def main() -> None:
        monkeypatch.setattr(several, "connect", connect)
        keeper = PathKeeper("remote.test", 1, keys=KEYS, interfaces=lambda: ["lo"], timeout=1)
        joined: list[str] = []
        monkeypatch.setattr(keeper.end, "join", lambda _, *, name, **__: joined.append(name))
        await keeper.open()
        await asyncio.sleep(4)
        keeper.end.close()
        assert len(joined) == len(dialled)

    virtual_time.run(main())
    assert len(dialled) == (1 if revoked else 4)  # at 0, .5, 1.5 and 3.5 s


def test_an_interface_that_has_spent_its_budget_is_left_alone_until_the_next_month() -> None:
    budget, calendar = (
        MonthlyBudget(5_000, month="2026-11", spent=5_000),
        [datetime(2026, 11, 30, 23)],
    )
    terms = AllTerms({"lo": "metered"}, {"lo": budget}, now=lambda: calendar[0])

    async def scenario(accepting: Reception, port: int) -> None:
        async def dial() -> DeviceEnd:
            return await dial_paths(
                "127.0.0.1", port, keys=KEYS, interfaces=lambda: ["lo"], terms=terms, timeout=5
            )

        with pytest.raises(LinkError, match="lo has carried all that it may this month"):
            await dial()
        assert budget.spent == 5_000
        calendar[0] = datetime(2026, 12, 31)
        end = await dial()
        assert 0 < budget.spent < 1_000, "of December"
        for _ in range(4):  # the remote has nothing to ask for; what goes up is counted, too
            await end.send(bytes(1_000))
        with pytest.raises(LinkError):
            await asyncio.wait_for(end.receive(1), 60)  # it was the last one
        assert 5_000 <= budget.spent < 7_000

    with_remote(scenario)


def test_links_begin_on_it_as_on_any_connection() -> None:
    links: list[StreamLink] = []

    async def main() -> None:
        accepting = Reception(
            links.append, patience=1.0, congestion=None, new_token=lambda: b"k" * 16
        )
        keys = ServerKeys(REMOTE.pem, {DEVICE.certificate: "d"})
        listener = await accepting.listen_udp("127.0.0.1", 0, keys=keys)
        end = await dial_paths(
            "127.0.0.1", listener.address[1], keys=KEYS, interfaces=lambda: ["lo"], timeout=5
        )
        await end.send(Preamble(What.OPEN).encode())
        answer = await read_preamble(end)
        assert answer == Preamble(What.OPEN, b"k" * 16)
        (link,) = links
        assert link.connection is not None
        assert link.connection.kind == "paths"
        end.close()
        accepting.close()
        listener.close()
        await asyncio.sleep(0)

    run(main())

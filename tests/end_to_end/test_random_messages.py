"""Well-formed messages that make no sense, said to either end of a running pair: each is obeyed, or
ends the session by a word of what was wrong, and nothing fails that nobody sees."""

from __future__ import annotations

import asyncio
import enum
import random
import typing
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.link.components import ComponentFailed
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from transport.link.interface import LinkError
from wire import messages as m
from wire.errors import PeerError
from wire.frames import MAX_COMPONENT, Control, Data
from wire.session import FROM, Side

WORLDS = 40
STEPS = 60
ODD = 0.1
"""Share of the numbers that are none that anybody would say."""
ENDS = (LinkError, ComponentFailed, asyncio.CancelledError)
"""As which a page that is loading may end."""
URL = "http://one.test/"
PAGE = page(URL, text=20_000, large=200_000)
MADE = prepared([PAGE])
LINK = LinkModel(rate_up=200_000, rate_down=200_000, delay=0.02)
NUMBERS = (-1, 100, 65_536, MAX_COMPONENT, MAX_COMPONENT + 1, 2**31 - 1, 2**62, -(2**31))
SECONDS = (0.0, 0.1, 1.0, -1.0, 1e308, float("inf"), float("nan"))
URLS = (URL, *PAGE.files)
WORDS = ("", "low", "original", "none", "edf", "image/jpeg", "GET", "br", "x" * 300, *URLS)
FIELD = b"\x00\x06accept\x07image/*"
"""HPACK's literal without indexing (RFC 7541, 6.2.2)."""


class RandomMessages:
    """Makes what one side may say."""

    def __init__(self, side: Side, chance: random.Random) -> None:
        never = (m.Hello, m.Goodbye, m.Packed)
        self._kinds = [kind for kind in FROM[side] if kind not in never]
        self._chance = chance
        self._asked = 1
        self._of_type: dict[Any, Callable[[], Any]] = {
            type(None): lambda: None,
            Any: lambda: chance.choice([1, "x", None, [], {}]),
            bool: lambda: chance.random() < 0.5,
            int: lambda: chance.choice(NUMBERS) if chance.random() < ODD else chance.randrange(14),
            float: lambda: chance.choice(SECONDS),
            str: lambda: chance.choice(WORDS),
            bytes: lambda: chance.randbytes(chance.choice((0, 1, 6, 32))),
        }

    def next(self) -> m.Message:
        """One that passes for well-formed."""
        while True:
            try:
                return m.decode(m.encode(self._message()))
            except (PeerError, OverflowError):
                pass

    def _message(self) -> m.Message:
        message: m.Message = self._struct(self._chance.choice(self._kinds))
        if isinstance(message, m.Request) and self._chance.random() < 0.5:
            self._asked += 2
            message = msgspec.structs.replace(
                message, component=self._asked, url=self._chance.choice(URLS), resume=None
            )
        if hasattr(message, "headers"):
            message = msgspec.structs.replace(message, headers=FIELD * self._chance.randrange(2))
        return message

    def _struct(self, kind: type[Any]) -> Any:
        types = typing.get_type_hints(kind, include_extras=True)
        fields = msgspec.structs.fields(kind)
        said = [one.name for one in fields if one.required or self._chance.random() < 0.5]
        return kind(**{name: self._value(types[name]) for name in said})

    def _value(self, kind: Any) -> Any:
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if kind in self._of_type:
            return self._of_type[kind]()
        if origin is typing.Annotated:
            return self._value(inner[0])
        if origin is typing.Literal:
            return self._chance.choice(inner)
        if origin is list:
            return [self._value(inner[0]) for _ in range(self._chance.randrange(3))]
        if origin is tuple:
            return tuple(self._value(one) for one in inner)
        if origin is dict:
            return {self._value(inner[0]): self._value(inner[1])}
        if inner:
            return self._value(self._chance.choice(inner))
        if issubclass(kind, enum.Enum):
            return self._chance.choice(list(kind))
        return self._struct(kind)


async def said_to(pair: Pair, side: Side, chance: random.Random) -> int:
    """Says them until the session ends of it; how many."""
    local = pair.local.uplink.session
    assert local is not None
    messages = RandomMessages(Side.LOCAL if side is Side.REMOTE else Side.REMOTE, chance)
    hears = pair.remote.frames_received if side is Side.REMOTE else local.frames_received
    for number in range(STEPS):
        frame: Data | Control = Control(m.encode(messages.next()))
        if chance.random() < 0.1:
            frame = Data(chance.randrange(8), bytes(chance.randrange(900)), chance.random() < 0.3)
        hears([frame], now=asyncio.get_running_loop().time())
        await asyncio.sleep(chance.choice((0.0, 0.0, 0.01, 0.1)))
        if local.closed.done():
            return number
    return STEPS


@pytest.mark.parametrize("side", list(Side))
def test_messages_that_make_no_sense_are_obeyed_or_end_the_session(side: Side) -> None:
    said = 0

    async def go(chance: random.Random) -> int:
        unseen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: unseen.append(told))
        services = Services(Shelf([PAGE]), MADE)
        async with memory_pair(LINK, services, [Default()]) as pair:
            loading = asyncio.ensure_future(pair.load(URL))
            await asyncio.sleep(chance.random() * 0.3)
            count = await said_to(pair, side, chance)
            await asyncio.sleep(1.0)
            loading.cancel()
            (ended,) = await asyncio.gather(loading, return_exceptions=True)
            assert isinstance(ended, (int, *ENDS)), ended
        assert unseen == []
        return count

    for seed in range(WORLDS):
        said += run(go(random.Random(f"{side.value} {seed}")))
    assert said > 5 * WORLDS

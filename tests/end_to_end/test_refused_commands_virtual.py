"""Commands that only the remote can refuse, in a running pair, in virtual time.

The policy that gave one hears of it, and no other."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bench.origins.synthetic import Prepared, Shelf, page
from bench.pairs.pair import memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from policies.api import (
    Command,
    CommandRefused,
    Event,
    SessionOpened,
    SessionView,
    SetQuantum,
    SetWeight,
)
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from wire import messages as m

LINK = LinkModel(rate_up=50_000, rate_down=50_000, delay=0.05)
PAGE = page("http://page.test/", text=2_000, large=100_000)


class Commands:
    """Says these as the session opens and hears which are refused. `again`: says those again."""

    def __init__(self, name: str, *commands: Command, again: bool = False) -> None:
        self.name = name
        self._commands = commands
        self._again = again
        self.heard: list[CommandRefused] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield from self._commands
        if isinstance(event, CommandRefused):
            self.heard.append(event)
            if self._again:
                yield event.command


def load(*policies: Commands) -> list[m.Message]:
    """Load a page under these; what came to the device of refusals."""
    refusals: list[m.Message] = []

    async def go() -> None:
        services = Services(Shelf([PAGE]), Prepared({}))
        async with memory_pair(LINK, services, [Default(), *policies]) as pair:
            await pair.complete(await pair.load(PAGE.url))
            said = [m.decode(payload) for payload in pair.tap.heard]
            refusals.extend(one for one in said if isinstance(one, m.Refused))

    run(go())
    return refusals


@pytest.mark.parametrize("again", [False, True])
def test_who_says_a_quantum_that_the_remote_refuses_hears_it_once(again: bool) -> None:
    wrong = SetQuantum(("browser",), 20_000)
    giver = Commands("giver", wrong, SetQuantum((), 512), again=again)
    other = Commands("other", SetQuantum(("tunnels",), 256))
    said = load(other, giver)
    reason = "quantum of 20000 bytes: must be 64 to 16384, or 0"
    assert giver.heard == [CommandRefused(wrong, reason)]
    assert other.heard == []
    assert len(said) == 1 + again, "the answer is refused, too, and not told"


def test_where_nothing_is_refused_nothing_is_said_of_it() -> None:
    giver = Commands("giver", SetQuantum(("browser",), 256), SetWeight(("office",), 2.0))
    assert load(giver) == []
    assert giver.heard == []

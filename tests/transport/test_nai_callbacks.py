"""Tests of how a sender calls the application back: it may answer later, and it may fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from emulation.memory.virtual_time import run
from tests.transport.nai_world import Known, sender
from transport.nai.atp import AtpSender
from transport.nai.messages.callbacks import Callbacks
from transport.nai.messages.message import (
    Cancel,
    Continue,
    Expiry,
    MessageState,
    NaiMessage,
    Verdict,
)


class Driven:
    """A sender at 1000 bytes/s, its callbacks, and the errors that the loop was told of."""

    def __init__(self) -> None:
        self.atp: AtpSender
        self.known: Known
        self.atp, _, self.known = sender(1000.0)
        self.answers = 0
        self.callbacks = Callbacks(self.atp, self.answered)
        self.errors: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.errors.append(context))

    def answered(self) -> None:
        self.answers += 1

    def refused(self, on_timer: Callable[[NaiMessage, Expiry], Any]) -> NaiMessage:
        """A message that can't be in time."""
        message = NaiMessage(bytes(5000), timer=1.0, on_timer=on_timer)
        self.atp.submit(message, asyncio.get_running_loop().time())
        return message


def test_a_verdict_holds_at_once_and_the_sender_is_woken() -> None:
    async def main() -> None:
        driven, asked = Driven(), list[Expiry]()

        def keep(_: NaiMessage, expiry: Expiry) -> Verdict:
            asked.append(expiry)
            return Continue()

        message = driven.refused(keep)
        driven.callbacks.call()
        assert asked == [Expiry.REFUSED]
        assert message.state is MessageState.QUEUED
        assert driven.answers == 1
        driven.callbacks.call()  # nothing is new
        assert (len(asked), driven.answers) == (1, 1)

    run(main())


def test_who_needs_time_to_answer_stops_nobody() -> None:
    async def main() -> None:
        driven = Driven()

        async def later(_: NaiMessage, __: Expiry) -> Verdict:
            await asyncio.sleep(5.0)
            return Continue()

        slow, quick = driven.refused(later), driven.refused(lambda *_: Cancel())
        driven.callbacks.call()
        assert slow.state is MessageState.SUSPENDED
        assert quick.state is MessageState.REJECTED
        before = driven.answers
        await asyncio.sleep(6.0)
        assert slow.state is MessageState.QUEUED
        assert driven.answers == before + 1

    run(main())


def test_an_answer_to_an_old_question_is_worth_nothing() -> None:
    async def main() -> None:
        driven = Driven()

        asked: list[Expiry] = []

        async def later(_: NaiMessage, expiry: Expiry) -> Verdict:
            asked.append(expiry)
            await asyncio.sleep(5.0 if len(asked) == 1 else 100.0)
            return Cancel() if expiry is Expiry.REFUSED else Continue()

        message = driven.refused(later)
        driven.callbacks.call()
        await asyncio.sleep(1.0)
        driven.known.tell(100_000.0)
        driven.atp.turn(1.0)
        driven.atp.resume(message, 1.0)
        assert message.state.under_way
        driven.known.tell(1000.0)
        driven.atp.turn(1.0)
        driven.callbacks.call()
        await asyncio.sleep(6.0)
        assert asked == [Expiry.REFUSED, Expiry.EARLY]
        assert message.state is MessageState.SUSPENDED
        await asyncio.sleep(100.0)
        assert message.state is MessageState.QUEUED

    run(main())


def test_a_callback_that_raises_cancels_its_message_and_is_reported() -> None:
    async def main() -> None:
        driven = Driven()

        def broken(_: NaiMessage, __: Expiry) -> Verdict:
            raise KeyError("mine")

        async def broken_later(_: NaiMessage, __: Expiry) -> Verdict:
            raise KeyError("later")

        messages = [driven.refused(broken), driven.refused(broken_later)]
        driven.callbacks.call()
        await asyncio.sleep(1.0)
        assert [one.state for one in messages] == [MessageState.REJECTED] * 2
        assert [str(one.error) for one in messages] == ["'mine'", "'later'"]
        assert [str(one["exception"]) for one in driven.errors] == ["'mine'", "'later'"]

    run(main())


def test_watches_are_told_of_the_bandwidth_and_may_fail_by_themselves() -> None:
    async def main() -> None:
        driven, told = Driven(), list[float]()

        def broken(_: float) -> None:
            raise KeyError("mine")

        async def broken_later(_: float) -> None:
            raise KeyError("later")

        for callback in (broken, broken_later, told.append):
            driven.atp.watch_bandwidth(500.0, 2000.0, callback)
        driven.known.tell(100.0)
        driven.atp.turn(0.0)
        driven.callbacks.call()
        await asyncio.sleep(1.0)
        assert told == [100.0]
        assert [str(one["exception"]) for one in driven.errors] == ["'mine'", "'later'"]

    run(main())


def test_those_that_have_not_answered_are_stopped() -> None:
    async def main() -> None:
        driven, ends = Driven(), list[str]()

        async def never(_: NaiMessage, __: Expiry) -> Verdict:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ends.append("stopped")
            return Cancel()

        message = driven.refused(never)
        driven.callbacks.call()
        await asyncio.sleep(1.0)
        await driven.callbacks.stop()
        assert ends == ["stopped"]
        assert message.state is MessageState.SUSPENDED
        assert driven.errors == []

    run(main())

"""A pair that has nothing to do does nothing: in virtual time, all timers counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

BROADBAND = LinkModel(rate_up=250_000, rate_down=2_500_000, delay=0.02)
HOUR = 3600


def timers(loop: asyncio.AbstractEventLoop) -> Counter[str]:
    """Counts timers from now on, by who sets them."""
    counted: Counter[str] = Counter()
    call_at = loop.call_at

    def counting(when: float, callback: Callable[..., object], *more: Any, **named: Any) -> Any:
        task = asyncio.current_task()
        coroutine = task.get_coro() if task is not None else callback
        counted[getattr(coroutine, "__qualname__", str(coroutine))] += 1
        return call_at(when, callback, *more, **named)

    loop.call_at = counting  # type: ignore[method-assign]
    return counted


def test_an_idle_hour_is_a_ping_now_and_then() -> None:
    pages = [page("http://page.test/", text=6_000, large=60_000)]
    made = prepared(pages)

    async def go() -> Counter[str]:
        async with memory_pair(BROADBAND, Services(Shelf(pages), made), [Default()]) as pair:
            await pair.load(pages[0].url)
            await asyncio.sleep(60)
            counted = timers(asyncio.get_running_loop())
            await asyncio.sleep(HOUR)
            return counted

    counted = run(go())
    assert counted["Uplink.keep_alive"] >= HOUR // 300, "a link that is dead is found out"
    assert counted.total() < HOUR / 20  # .05 a second, of both ends


def test_what_the_link_can_do_is_followed_while_it_is_used() -> None:
    pages = [page("http://page.test/", text=6_000, large=4_000_000)]
    made = prepared(pages)

    async def go() -> tuple[float | None, int]:
        async with memory_pair(BROADBAND, Services(Shelf(pages), made), [Default()]) as pair:
            await asyncio.sleep(60)
            loading = asyncio.ensure_future(pair.load(pages[0].url))
            await asyncio.sleep(1.5)
            measured = pair.remote.rate, pair.remote.tree.multiplexer.quantum
            await loading
            return measured

    rate, quantum = run(go())
    assert rate is not None
    assert 0.9 < rate / BROADBAND.rate_down < 1.1
    assert quantum > 8_000

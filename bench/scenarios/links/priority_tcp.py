"""The links of bench/scenarios/links/priority.py over the kernel's own TCP: the same question, real
time.

Where TUN devices can be made (root), packets of two namespaces cross the link, headers and all;
links with a hidden buffer, and all of them elsewhere, go through a relay that terminates TCP, which
counts payload alone. Quanta are fitted as a session does it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from bench.scenarios.links.gate import ChunkWatch, EndlessOutbox, Silent
from bench.scenarios.links.gate_virtual import UNFITTED, fit
from bench.scenarios.links.priority import Case
from emulation.lines.profiles import Profile
from emulation.worlds.cables import World
from emulation.worlds.world import AUTO, emulate
from transport.link.interface import LinkError
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection

_STEP: Final = 0.05
"""Seconds between two looks."""
_FIT_EVERY: Final = 5
"""Looks."""
_CHUNK_EVERY: Final = 0.73
"""Seconds; no multiple of what is periodic here."""
_WAIT: Final = 10.0
"""Seconds for what is on its way at the end."""


def profile_of(case: Case) -> Profile:
    """The case's link, as worlds know it."""
    model = case.model
    return Profile(
        case.name,
        "",
        rate_down=model.rate_down,
        rate_up=model.rate_up,
        delay=model.delay,
        queue=model.queue,
    )


@dataclass(slots=True)
class _Run:
    """What is noted on the way. Seconds and bytes."""

    asked: list[float] = field(default_factory=list)
    carried: float = 0.0
    """That the link could have carried since the warm-up."""
    fitted_to: float | None = None
    """Bytes/second of the link as it was measured, to which quanta are fitted; None: not yet."""


async def measure(case: Case, *, seconds: float) -> dict[str, Any]:
    """`seconds` of a backlog with urgent quanta in between, after the case's warm-up.

    Raises OSError where no link can be made, LinkError.
    """
    backend = AUTO if case.model.droptail else "relay"
    async with emulate(profile_of(case), backend=backend) as world:
        near, far = await _joined(world)
        watch, ended = ChunkWatch(), ChunkWatch()
        backlog = EndlessOutbox(UNFITTED, bypass=False)
        near.start(Silent(), watch)
        far.start(backlog, ended)
        run, payload = await _drive(case, world, far, backlog, watch, seconds=seconds)
        lateness = world.statistics().lateness
        segment = far.statistics().chunks.segment
        backend = world.backend
        near.close()
        await ended.closed.wait()
    delays = sorted(done - at for at, done in zip(run.asked, watch.chunks, strict=False))
    if len(delays) < len(run.asked):
        raise LinkError(f"{len(run.asked) - len(delays)} of {len(run.asked)} quanta did not arrive")
    return {
        "link": case.name,
        "over": backend,
        "quantum": backlog.quantum,
        "fitted_to": run.fitted_to,
        "segment": segment,
        "median_s": round(delays[len(delays) // 2], 4),
        "p90_s": round(delays[int(len(delays) * 0.9)], 4),
        "chunks": len(delays),
        "goodput": round(payload / run.carried, 4),
        "relay_late_ms": [round(late * 1e3, 2) for late in lateness],
    }


async def _drive(
    case: Case,
    world: World,
    far: StreamLink,
    backlog: EndlessOutbox,
    watch: ChunkWatch,
    *,
    seconds: float,
) -> tuple[_Run, int]:
    """The run itself: rates, quanta, urgent chunks; payload that came after the warm-up."""
    loop, run, rate = asyncio.get_running_loop(), _Run(), case.model.rate_down
    began, before, looked = loop.time(), 0, 0.0
    for step in range(1, round((case.warm_up + seconds) / _STEP) + 1):
        await asyncio.sleep(began + step * _STEP - loop.time())
        now = loop.time() - began
        if now < case.warm_up:
            before = watch.payload
        else:
            run.carried += rate * (now - max(looked, case.warm_up))
        looked = now
        if case.swing is not None:
            every, rates = case.swing
            wanted = rates[int(now / every) % len(rates)]
            if wanted != rate:
                rate = wanted
                world.set_rate(down=rate)
        if step % _FIT_EVERY == 0:
            run.fitted_to = fit(backlog, far.statistics()) or run.fitted_to
        if now >= case.warm_up + len(run.asked) * _CHUNK_EVERY:
            run.asked.append(loop.time())
            backlog.add_chunk(backlog.quantum)
            far.wake()
    payload = watch.payload - before
    end = loop.time() + _WAIT
    while (  # noqa: ASYNC110  # the inbox is a list that grows
        len(watch.chunks) < len(run.asked) and loop.time() < end
    ):
        await asyncio.sleep(_STEP)
    return run, payload


async def _joined(world: World) -> tuple[StreamLink, StreamLink]:
    """Links of one connection, its ends in the world's hosts."""
    loop = asyncio.get_running_loop()
    with world.far.new_socket() as listening:
        listening.bind((world.far.address, 0))
        listening.listen()
        listening.setblocking(False)
        calling = world.near.new_socket()
        calling.setblocking(False)
        address = await world.reach(listening.getsockname())
        _, (accepted, _) = await asyncio.gather(
            loop.sock_connect(calling, address), loop.sock_accept(listening)
        )
    return StreamLink(TcpConnection(calling)), StreamLink(TcpConnection(accepted))

"""How soon is the first answer of a session there, and the first after a minute of rest?

In virtual time, over links with the headers of IP and TCP. A session opens and rests; then a
request crosses, and 16 KB of answer wait for the link at once, as the text of a page does. Beside
it what a connection of its own takes that has an initial window of ten segments (RFC 6928), the
connection made already. The other question is what knowing the link costs: how late a quantum is
that a switch puts first within the first second of a session.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from bench.reports.report import Check
from bench.scenarios.links.gate import ChunkWatch, EndlessOutbox
from bench.scenarios.links.gate_virtual import UNFITTED, fit
from emulation.memory.memory import LinkModel, memory_links
from emulation.memory.virtual_time import run as run_virtually
from transport.link.quantum import SEGMENT
from wire.frames import Control, Data

ANSWER: Final = 16_384
"""Bytes."""
WINDOW: Final = 10
"""Segments that a new connection may send at once."""
_HEADER: Final = 52
_HELLO: Final = 100
"""Bytes, about, that both ends say when a session opens."""
_REQUEST: Final = 400
_REST: Final = 2.0
"""Seconds from the session's opening to the first request."""
_LONG_REST: Final = 60.0
_FIT_EVERY: Final = 0.25
_SWITCHES: Final = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85)
"""Seconds after the first request's arrival."""
_LATE: Final = 1.1
"""Times a direct answer: what counts as alike."""


def _link(down_bits: float, up_bits: float, *, rtt: float, queue: int = 65_536) -> LinkModel:
    return LinkModel(
        rate_up=up_bits / 8,
        rate_down=down_bits / 8,
        delay=rtt / 2,
        queue=queue,
        droptail=True,
        segment=SEGMENT,
        header=_HEADER,
    )


LINKS: Final = {
    "56k": _link(56e3, 33.6e3, rtt=0.1),
    "384k": _link(384e3, 128e3, rtt=0.1),
    "1.6M": _link(1.6e6, 750e3, rtt=0.15),
    "5M": _link(5e6, 1e6, rtt=0.04),
    "satellite": _link(1.024e6, 256e3, rtt=0.6, queue=262_144),
    "lte": _link(12e6, 5e6, rtt=0.06, queue=180_000),
    "20M": _link(20e6, 5e6, rtt=0.04, queue=180_000),
    "100M": _link(100e6, 20e6, rtt=0.01, queue=500_000),
}


class TalkOutbox:
    """An outbox: what was said, then what is left of an answer; silent else."""

    def __init__(self, quantum: int = UNFITTED) -> None:
        self.quantum = quantum
        self.words = [Control(bytes(_HELLO))]
        self.answer = 0
        """Bytes that wait."""

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        if self.words:
            return self.words.pop(0)
        if urgent or not self.answer:
            return None
        size = min(self.quantum, self.answer)
        self.answer -= size
        return Data(2, bytes(size))


class RequestWatch(ChunkWatch):
    """The far inbox: notes requests, told apart from Hello by their size."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        if any(len(frame.payload) == _REQUEST for frame in frames):
            self.asked.set()


class WholeInbox(ChunkWatch):
    """The near inbox: notes when `wanted` bytes of data are here."""

    def __init__(self) -> None:
        super().__init__()
        self.here = 0
        self.wanted = 0
        self.done = asyncio.Event()

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        super().frames_received(frames, now=now)
        self.here += sum(len(frame.payload) for frame in frames if isinstance(frame, Data))
        if self.wanted and self.here >= self.wanted:
            self.done.set()


@dataclass(frozen=True, slots=True)
class StartOutcome:
    """Seconds, and bytes."""

    at_once: float
    """From a request said with the session's Hello until its answer is here."""
    first: float
    """From a request a while later."""
    rested: float
    """The same of a request a minute after that."""
    up: float
    """From the first byte of a 16 KB upload until its last, a while after the opening."""
    padding_down: int
    """Bytes sent before anybody asked, but for Hello and reports."""
    padding_up: int
    seen: float
    """Bytes/second that the answering end takes the link for before anybody has asked."""


async def _answers(model: LinkModel, *, rest: float) -> StartOutcome:
    loop = asyncio.get_running_loop()
    near, far = memory_links(model)
    asking, answering, asked, whole = TalkOutbox(512), TalkOutbox(), RequestWatch(), WholeInbox()
    near.start(asking, whole)
    far.start(answering, asked)

    async def fit_quantum() -> None:
        while True:
            await asyncio.sleep(_FIT_EVERY)
            fit(answering, far.statistics())

    async def answer() -> float:
        whole.wanted, began = whole.here + ANSWER, loop.time()
        whole.done.clear()
        asked.asked.clear()
        asking.words.append(Control(bytes(_REQUEST)))
        near.wake()
        await asked.asked.wait()
        answering.answer = ANSWER
        far.wake()
        await whole.done.wait()
        return loop.time() - began

    fitting = asyncio.create_task(fit_quantum())
    at_once = await answer() if not rest else 0.0
    await asyncio.sleep(rest or _REST)
    idle = [link.outgoing.statistics().carried for link in (near, far)]
    seen = far.statistics().seen
    first = await answer()
    await asyncio.sleep(_LONG_REST)
    rested = await answer()
    fitting.cancel()
    return StartOutcome(at_once, first, rested, 0.0, idle[1], idle[0], seen)


async def _upload(model: LinkModel) -> float:
    loop = asyncio.get_running_loop()
    near, far = memory_links(model)
    sending, whole = TalkOutbox(512), WholeInbox()
    near.start(sending, ChunkWatch())
    far.start(TalkOutbox(), whole)
    await asyncio.sleep(_REST)
    began, whole.wanted, sending.answer = loop.time(), whole.here + ANSWER, ANSWER
    near.wake()
    await whole.done.wait()
    return loop.time() - began


async def _switches(model: LinkModel, rest: float) -> list[float]:
    """How late a quantum of high priority is, one after the other, from the session's start on."""
    loop = asyncio.get_running_loop()
    near, far = memory_links(model)
    asking, backlog, asked, watch = (
        TalkOutbox(512),
        Late(UNFITTED, bypass=False),
        RequestWatch(),
        ChunkWatch(),
    )
    near.start(asking, watch)
    far.start(backlog, asked)
    await asyncio.sleep(rest)
    fit(backlog, far.statistics())
    asking.words.append(Control(bytes(_REQUEST)))
    near.wake()
    await asked.asked.wait()
    backlog.open, began, marks = True, loop.time(), []
    far.wake()
    for at in _SWITCHES:
        await asyncio.sleep(began + at - loop.time())
        marks.append(loop.time())
        backlog.add_chunk(backlog.quantum)
        far.wake()
        fit(backlog, far.statistics())
    await asyncio.sleep(6.0)
    return [done - at for at, done in zip(marks, watch.chunks, strict=True)]


class Late(EndlessOutbox):
    """A backlog that is there once somebody has asked for it; Hello before."""

    open = False
    _said = False

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        if not self._said:
            self._said = True
            return Control(bytes(_HELLO))
        return super().next_frame(now=now, urgent=urgent) if self.open else None


def direct(model: LinkModel) -> float:
    """Seconds the same answer takes with an initial window of ten segments and slow start."""
    segment, up = SEGMENT, (_REQUEST + _HEADER) / model.rate_up + model.delay
    sent_at = [up] * WINDOW
    free, arrived = up, 0.0
    for number in range(-(-ANSWER // segment)):
        size = min(segment, ANSWER - number * segment) + _HEADER
        free = max(free, sent_at[number]) + size / model.rate_down
        arrived = free + model.delay
        sent_at += [arrived + model.delay + _HEADER / model.rate_up] * 2
    return arrived


def measure(model: LinkModel) -> tuple[StartOutcome, list[float]]:
    """A session's answers, and its first second's switches."""
    soon, later = (run_virtually(_answers(model, rest=rest)) for rest in (0.0, _REST))
    up = run_virtually(_upload(model))
    outcome = StartOutcome(
        soon.at_once,
        later.first,
        later.rested,
        up,
        later.padding_down,
        later.padding_up,
        later.seen,
    )
    return outcome, run_virtually(_switches(model, _REST))


def run(*, scale: float = 1.0) -> dict[str, Any]:
    """Every link; `scale`: as many of them, the first ones, one at least."""
    runs, checks = [], dict[str, Check]()
    print(
        f"{'link':<11}{'at once':>9}{'first':>9}{'after 60 s':>12}{'direct':>9}{'16 KB up':>10}"
        f"{'switch: median, most':>23}{'unasked: down, up':>25}"
    )
    for name, model in list(LINKS.items())[: max(1, round(len(LINKS) * scale))]:
        outcome, late = measure(model)
        straight = direct(model)
        row: dict[str, Any] = {
            "link": name,
            **{key: round(value, 4) for key, value in asdict(outcome).items()},
            "direct": round(straight, 4),
            "switch_median": round(statistics.median(late), 4),
            "switch_most": round(max(late), 4),
        }
        runs.append(row)
        print(
            f"{name:<11}{row['at_once']:>7.3f} s{row['first']:>7.3f} s{row['rested']:>10.3f} s"
            f"{row['direct']:>7.3f} s{row['up']:>8.3f} s"
            f"{row['switch_median']:>15.3f} s{row['switch_most']:>6.3f}"
            f"{row['padding_down']:>17} B{row['padding_up']:>6}"
        )
        for when, took in (("first", outcome.first), ("after 60 s", outcome.rested)):
            ratio = round(took / straight, 2)
            checks[f"{name}: {ANSWER >> 10} KB, {when}"] = Check(
                ratio, "times direct", f"<= {_LATE:g}", ratio <= _LATE
            )
    return {"runs": runs, "checks": checks}

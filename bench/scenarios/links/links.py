"""Checks that the emulated links are what their profiles say, for each backend that can be had
here.

Goals of a network device's packets are absolute; a relay's are wider, since it sees streams, and
its event loop shares a processor. What can't run here is named, not failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.reports.report import Check
from emulation.accuracy import accuracy, stream_accuracy
from emulation.accuracy.accuracy import altered, link
from emulation.lines.profiles import TRACE, Profile, profile
from emulation.memory import virtual_time
from emulation.worlds import netem_world
from emulation.worlds.cables import NoBackend, World
from emulation.worlds.world import BACKENDS, emulate

RATES: Final = (56e3, 384e3, 5e6, 20e6, 100e6)
"""Bits/second."""
STREAM_RATES: Final = (384e3, 5e6, 20e6)
RATE_OFF: Final = 0.1
"""Per cent."""
DELAY_ADDED_MS: Final = 0.5
STREAM_RATE_OFF: Final = 1.0
STREAM_DELAY_ADDED_MS: Final = 2.0
QUEUE_OFF: Final = 2
"""Packets."""
STREAM_QUEUE_OFF: Final = 20.0
"""Per cent: the kernel's part of it depends on how segments coalesce."""
TRACE_OFF: Final = 0.5
"""Per cent, over ten of its steps."""
_SECONDS: Final = 2.0
_FAST: Final = 50e6
"""Bits/second above which a second is enough."""
_SINGLES: Final = 100
_PACKETS: Final = 3000
_TRACE: Final = "# duration_s 1\n0 625000\n0.25 125000\n0.5 0\n0.75 1250000\n"


@dataclass
class LinkFindings:
    """What was measured, as rows and checks; printed as they come."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    checks: dict[str, Check] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def off(self, name: str, measured: float, meant: float, *, most: float) -> None:
        """In per cent of what was meant."""
        self.within(name, 100 * (measured / meant - 1), "% off", most=most)

    def within(self, name: str, value: float, unit: str, *, most: float) -> None:
        ok = abs(value) <= most
        self.checks[name] = Check(round(value, 4), unit, f"at most {most:.3g}", ok)
        self.rows.append({"what": name, "value": value, "unit": unit, "most": most})
        print(f"  {name:<44}{value:>10.4f} {unit:<6} (goal: at most {most:.3g})", flush=True)

    def late(self, name: str, world: World) -> None:
        """The emulator's lateness: for the reader, without a goal."""
        median, most_of, most = (1000 * value for value in world.statistics().lateness)
        self.rows.append({"what": f"{name}: lateness", "ms": [median, most_of, most]})
        print(f"  {name + ': lateness of deliveries':<44}{median:>10.4f} ms median, ", end="")
        print(f"{most_of:.3f} p99, {most:.3f} most", flush=True)

    def note(self, text: str) -> None:
        self.notes.append(text)
        print(f"  {text}", flush=True)


async def run(*, backend: str | None = None) -> dict[str, Any]:
    """The scenario, of one backend or of all."""
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"no backend {backend!r}; there are {', '.join(BACKENDS)}")
    findings = LinkFindings()
    for name in BACKENDS if backend is None else (backend,):
        print(name)
        try:
            await _MEASURES[name](findings)
        except NoBackend as error:
            findings.note(f"{name} is not measured here: {error}")
    return {"runs": findings.rows, "checks": findings.checks, "notes": findings.notes}


async def _tun(findings: LinkFindings) -> None:
    await _packets(findings, "tun")
    async with _traced() as traced, emulate(traced, backend="tun") as world:
        share = await asyncio.to_thread(accuracy.followed, world, seconds=2.5)
        findings.off("tun, trace: bytes", share, 1.0, most=TRACE_OFF)


async def _netem(findings: LinkFindings) -> None:
    if missing := await asyncio.to_thread(netem_world.probe):
        raise NoBackend(missing)
    await _packets(findings, "netem")


async def _packets(findings: LinkFindings, backend: str) -> None:
    """What a backend of packets must keep to. Raises NoBackend."""
    for rate_bits in RATES:
        thin = rate_bits < 128e3
        one = link(rate_bits, mtu=576 if thin else 1500)
        name = f"{backend}, {one.name}"
        async with emulate(one, backend=backend) as world:
            added = await asyncio.to_thread(accuracy.added_delay, world, count=_SINGLES)
            seconds = _SECONDS / 2 if rate_bits > _FAST else _SECONDS
            rate = await asyncio.to_thread(accuracy.rate, world, seconds=seconds)
            findings.off(f"{name}: rate", rate, one.rate_down, most=RATE_OFF)
            median_ms = 1000 * added.median
            findings.within(f"{name}: delay added", median_ms, "ms", most=DELAY_ADDED_MS)
            if backend != "netem":  # a kernel does not say
                findings.late(name, world)
    await _two_paths(findings, backend)
    queued = link(384e3, delay=0.001, queue=65_536)
    async with emulate(queued, backend=backend) as world:
        took = await asyncio.to_thread(accuracy.accepted, world)
        off = (took - queued.queue) / queued.mtu
        findings.within(f"{backend}, queue of 64 KB", off, "packets off", most=QUEUE_OFF)
    await _fates(findings, backend)


async def _two_paths(findings: LinkFindings, backend: str) -> None:
    both = (link(5e6), link(2e6, delay=0.05))
    async with emulate(*both, backend=backend) as world:
        rates = await asyncio.to_thread(accuracy.rates, world, seconds=_SECONDS)
    for number, (rate, one) in enumerate(zip(rates, both, strict=True), 1):
        findings.off(f"{backend}, path {number} of 2: rate", rate, one.rate_down, most=RATE_OFF)


async def _fates(findings: LinkFindings, backend: str) -> None:
    lossy = altered(link(20e6), loss=0.02)
    runs = altered(lossy, loss_run=3.0)
    late = altered(link(20e6), reorder=0.02, reorder_delay=0.005)
    kinds = (("loss", lossy), ("loss in runs", runs), ("reordering", late))
    for name, one in kinds:
        if backend == "netem" and one.reorder:
            findings.note("netem has no reordering by packets that are held back")
            continue
        async with emulate(one, backend=backend) as world:
            fates = await asyncio.to_thread(accuracy.fates, world, count=_PACKETS)
        share = fates.lost if one.loss else fates.overtaken
        off = 100 * (share - max(one.loss, one.reorder))
        title = f"{backend}, {name} of 2 %"
        findings.within(title, off, "points off", most=100 * fates.allowed)


async def _relay(findings: LinkFindings) -> None:
    for rate_bits in STREAM_RATES:
        one = link(rate_bits, queue=65_536)
        name = f"relay, {one.name}"
        async with emulate(one, backend="relay") as world:
            added = await stream_accuracy.added_delay(world, count=_SINGLES // 3)
        async with emulate(one, backend="relay") as world:
            busy = await stream_accuracy.busy(world, seconds=_SECONDS)
            findings.off(f"{name}: rate", busy.rate, one.rate_down, most=STREAM_RATE_OFF)
            ms = 1000 * added.median
            findings.within(f"{name}: delay added", ms, "ms", most=STREAM_DELAY_ADDED_MS)
            findings.late(name, world)
            if one.rate_down * one.delay < one.queue / 4:  # else flight hides the queue
                queue = busy.hidden - one.rate_down * one.delay
                findings.off(f"{name}: queue", queue, one.queue, most=STREAM_QUEUE_OFF)
    findings.note("relay: losses are delays there, in tests/emulation/test_impairments.py")


async def _memory(findings: LinkFindings) -> None:
    for rate_bits in STREAM_RATES:
        one = link(rate_bits)
        rate, late = await asyncio.to_thread(_in_virtual_time, one)
        findings.off(f"memory, {one.name}: rate", rate, one.rate_down, most=RATE_OFF)
        findings.within(f"memory, {one.name}: delay added", 1000 * late, "ms", most=0.001)


def _in_virtual_time(one: Profile) -> tuple[float, float]:
    return virtual_time.run(stream_accuracy.in_memory(one, seconds=_SECONDS))


@asynccontextmanager
async def _traced() -> AsyncIterator[Profile]:
    """A link whose rate changes four times a second, nothing among it, with a deep queue."""
    with TemporaryDirectory(prefix="trace-") as folder:
        path = Path(folder, "steps.trace")
        await asyncio.to_thread(path.write_text, _TRACE)
        yield altered(profile(f"{TRACE}{path}"), queue=4_000_000)


_MEASURES: Final[dict[str, Callable[[LinkFindings], Any]]] = {
    "tun": _tun,
    "netem": _netem,
    "relay": _relay,
    "memory": _memory,
}

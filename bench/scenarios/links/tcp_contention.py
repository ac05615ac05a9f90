"""Why not several TCP connections: how unequally they share a link (ATP, section 4.1, figure 2).

Three flows of the kernel's TCP send 32 KB messages in a loop over 256 KB/s; one of them pauses 100
or 150 ms between the end of a send and the next. Equal shares would be steady curves. Each pause
has a link of its own, measured side by side. 1 KB is 1024 bytes: 32 KB at a third of the link take
0.375 s, as the paper reckons.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from bench.reports.exhibits import Curve, Curves, Exhibit, Mark
from bench.reports.report import Check
from emulation.lines.profiles import Profile
from emulation.worlds.world import AUTO, emulate

MESSAGE: Final = 32 << 10
RATE: Final = 256 << 10
PAUSES: Final = (0.1, 0.15)
"""Seconds, of the third flow."""
FLOWS: Final = 3
_SEND_BUFFER: Final = 32 << 10
"""Bytes asked for, as FreeBSD 4.5 has them; Linux would grow it to megabytes, and a send would
return long before anything has left."""
_LOOK: Final = 0.1
"""Seconds between two points of a curve."""
_WINDOW: Final = 20
"""Looks over which shares are reckoned: 2 s."""
_SETTLED: Final = 5.0
"""Seconds after which sends and shares count: how flows start is another matter."""
_CLOSE: Final = 1.5
"""Seconds before and after the longest send that are shown magnified."""
PAPER_SENDS: Final = "0.22, 0.42, 1.09"
"""Seconds with pauses of 150 ms: least, mean, most."""


@dataclass(slots=True)
class ContentionRun:
    """The result of one run."""

    pause: float
    backend: str = ""
    arrived: list[list[int]] = field(default_factory=lambda: [[0] for _ in range(FLOWS)])
    """Bytes at the receiver by flow, at each look; the last flow is the one that pauses."""
    sent: list[float] = field(default_factory=list)
    """When sends of the last flow returned, seconds from the start; once all have settled."""

    @property
    def sends(self) -> list[float]:
        """Seconds from one return to the next, pause included."""
        return [after - before for before, after in pairwise(self.sent)]

    def shares(self) -> list[float]:
        """The last flow's of all that arrived, in each window."""
        found = []
        first = round(_SETTLED / _LOOK)
        for at in range(first + _WINDOW, len(self.arrived[0]), _WINDOW):
            parts = [flow[at] - flow[at - _WINDOW] for flow in self.arrived]
            found.append(parts[-1] / max(1, sum(parts)))
        return found


async def measure(pause: float, *, seconds: float, backend: str = AUTO) -> ContentionRun:
    """One contest. Raises OSError."""
    loop = asyncio.get_running_loop()
    contest, counts = ContentionRun(pause), [0] * FLOWS
    profile = Profile(
        "256 KB/s", "50 packets", rate_down=RATE, rate_up=RATE, delay=0.005, queue=75_000
    )
    async with (
        emulate(profile, backend=backend) as world,
        contextlib.AsyncExitStack() as stack,
        asyncio.TaskGroup() as tasks,
    ):
        contest.backend = world.backend
        listener = stack.enter_context(world.far.new_socket())
        listener.bind((world.far.address, 0))
        listener.listen(FLOWS)
        listener.setblocking(False)
        where = await world.reach(listener.getsockname())
        running = []
        for flow in range(FLOWS):
            near = stack.enter_context(world.near.new_socket())
            near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            near.setblocking(False)
            await loop.sock_connect(near, where)
            far = stack.enter_context((await loop.sock_accept(listener))[0])
            far.setblocking(False)
            running += [
                tasks.create_task(_take(far, counts, flow)),
                tasks.create_task(_send(near, contest if flow == FLOWS - 1 else None)),
            ]
        start = loop.time()
        for look in range(1, round(seconds / _LOOK) + 1):
            await asyncio.sleep(start + look * _LOOK - loop.time())
            for flow, count in enumerate(counts):
                contest.arrived[flow].append(count)
        contest.sent = [at - start for at in contest.sent if at >= start + _SETTLED]
        for task in running:
            task.cancel()
    return contest


async def _send(near: socket.socket, contest: ContentionRun | None) -> None:
    """Messages in a loop; of the contest's own flow with pauses."""
    loop, message = asyncio.get_running_loop(), bytes(MESSAGE)
    while True:
        await loop.sock_sendall(near, message)
        if contest is not None:
            contest.sent.append(loop.time())
            await asyncio.sleep(contest.pause)


async def _take(far: socket.socket, counts: list[int], flow: int) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(far, 1 << 16):
        counts[flow] += len(data)


def run(
    *, seconds: float = 120.0, backend: str = AUTO, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Both pauses at once, each over its own link."""

    async def all_of_them() -> list[ContentionRun]:
        pauses = (measure(pause, seconds=seconds, backend=backend) for pause in PAUSES)
        return await asyncio.gather(*pauses)

    contests = asyncio.run(all_of_them())
    rows = [_row(one) for one in contests]
    for row in rows:
        say("  ".join(f"{name} {value}" for name, value in row.items()))
    exhibits: list[Exhibit] = [_curves(one) for one in contests]
    exhibits.append(_magnified(contests[-1]))
    notes = [f"links emulated by {contests[0].backend}", f"the paper's sends: {PAPER_SENDS} s"]
    judged = contests[0].backend != "relay"
    if not judged:
        notes.append("a relay serves its connections in turn, so nothing is judged: needs root")
    checks = _checks(contests) if judged else {}
    return {"runs": rows, "exhibits": exhibits, "notes": notes, "checks": checks}


def _row(contest: ContentionRun) -> dict[str, Any]:
    total = sum(flow[-1] for flow in contest.arrived)
    shares, sends = contest.shares(), contest.sends
    return {
        "pause_ms": round(1000 * contest.pause),
        "flows_kb": [flow[-1] >> 10 for flow in contest.arrived],
        "send_least_s": round(min(sends), 3),
        "send_mean_s": round(statistics.fmean(sends), 3),
        "send_most_s": round(max(sends), 3),
        "share": round(contest.arrived[-1][-1] / total, 3),
        "share_in_2_s_least": round(min(shares), 3),
        "share_in_2_s_most": round(max(shares), 3),
    }


def _curves(contest: ContentionRun) -> Curves:
    lines = [
        Curve(
            "delay" if flow == FLOWS - 1 else f"no delay, {flow + 1}",
            [(round(look * _LOOK, 1), count / 1024) for look, count in enumerate(counts)],
            flow,
        )
        for flow, counts in enumerate(contest.arrived)
    ]
    most = max(counts[-1] for counts in contest.arrived) / 1024
    return Curves(f"Pause of {1000 * contest.pause:.0f} ms", "KB", lines, most)


def _magnified(contest: ContentionRun) -> Curves:
    """Around the longest send; marks are returns of sends."""
    sends = contest.sends
    number = sends.index(max(sends))
    begin = max(0.0, contest.sent[number] - _CLOSE)
    end = contest.sent[number + 1] + _CLOSE
    first, last = int(begin / _LOOK), min(len(contest.arrived[0]) - 1, int(end / _LOOK))
    lines = []
    for line, counts in zip(_curves(contest).lines, contest.arrived, strict=True):
        points = line.points[first : last + 1]
        base = counts[first] / 1024
        moved = [(round(at - first * _LOOK, 1), value - base) for at, value in points]
        lines.append(Curve(line.label, moved, line.tone))
    marks = [Mark(round(at - first * _LOOK, 2), "sent") for at in contest.sent if begin < at < end]
    most = max(line.points[-1][1] for line in lines)
    title = f"Pause of {1000 * contest.pause:.0f} ms, from {begin:.1f} s: the longest send"
    return Curves(title, "KB", lines, most, marks)


def _checks(contests: Sequence[ContentionRun]) -> dict[str, Check]:
    checks = {}
    for one in contests:
        pause = f"pause of {1000 * one.pause:.0f} ms"
        times = max(one.sends) / min(one.sends)
        checks[f"{pause}: longest send to the shortest"] = Check(
            round(times, 2), "times (4.95 there at 150 ms)", ">= 2: unpredictable", times >= 2
        )
        apart = max(one.shares()) / max(0.001, min(one.shares()))
        checks[f"{pause}: largest share in 2 s to the least"] = Check(
            round(apart, 2), "times", ">= 1.5: not constant", apart >= 1.5
        )
    return checks

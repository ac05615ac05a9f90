"""How late is a quantum of high priority that was chosen behind an unlimited backlog?

In virtual time, over links that a laptop can't offer too: rates that swing, satellites, queues
below the bandwidth-delay product. It is data, so it waits for the gate as all data does; control
messages don't. Packets carry the headers of IP and TCP, and goodput is payload against the whole
rate: 0.965 is the most that 1448 bytes in 1500 can reach. Reports go back over such a link too.

Links measure themselves and fit the quantum, as a session does, in the clear and with records of
TLS as between paired devices; `quantum` gives all of them one by hand, to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bench.reports.report import Check
from bench.scenarios.links.gate_virtual import GateOutcome, simulate
from emulation.memory.memory import LinkModel
from transport.tcp.tls import RECORD_OVERHEAD

SEGMENT: Final = 1448
"""Bytes of payload in a packet of 1500."""
HEADER: Final = 52
"""Bytes of IP and TCP, with timestamps."""
HIDDEN: Final = 262_144
"""Bytes that something that terminates TCP may hold."""
_PATIENCE: Final = 0.12
"""Seconds beyond one way that count as soon on paths where the prototype failed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One link, and the goals on it."""

    name: str
    model: LinkModel
    median: float
    """Seconds, the goal."""
    goodput: float
    """Of the link's rate, the goal."""
    seconds: float = 30.0
    warm_up: float = 3.0
    swing: tuple[float, Sequence[float]] | None = None

    @property
    def link(self) -> str:
        """What it is an instance of."""
        return self.name.partition(",")[0]


def _link(
    rate: float,
    *,
    up: float | None = None,
    rtt: float = 0.08,
    queue: int = 65_536,
    droptail: bool = True,
    record: int = 0,
) -> LinkModel:
    return LinkModel(
        rate_up=up or rate,
        rate_down=rate,
        delay=rtt / 2,
        queue=queue,
        droptail=droptail,
        segment=SEGMENT,
        header=HEADER,
        record=record,
    )


_hidden = partial(_link, queue=HIDDEN, droptail=False)
_secured = partial(_hidden, record=RECORD_OVERHEAD)

CASES: Final = (
    Case("56k", _link(7_000), 0.34, 0.91),
    Case("56k, terminated", _hidden(7_000), 0.34, 0.91),
    Case("384k", _link(48_000), 0.09, 0.92),
    Case("384k, terminated", _hidden(48_000), 0.09, 0.92),
    Case("5M", _link(625_000), 0.055, 0.94),
    Case("5M, terminated", _hidden(625_000), 0.055, 0.94),
    Case("5M-1M, every 4 s", _hidden(625_000), 0.06, 0.80, swing=(4.0, (625_000, 125_000))),
    Case(
        "satellite, 1M, queue 32 KB of 75",
        _link(125_000, up=32_000, rtt=0.6, queue=32_768),
        0.3 + _PATIENCE,
        0.85,
        warm_up=8.0,
    ),
    Case(
        "satellite, 5M, queue 64 KB of 375",
        _link(625_000, up=64_000, rtt=0.6),
        0.3 + _PATIENCE,
        0.85,
        warm_up=8.0,
    ),
    Case(
        "lte, 20M, queue 64 KB of 150",
        _link(2_500_000, up=1_250_000, rtt=0.06),
        0.03 + _PATIENCE,
        0.85,
        seconds=15.0,
    ),
    Case("56k, terminated, TLS", _secured(7_000), 0.34, 0.91),
    Case("384k, terminated, TLS", _secured(48_000), 0.09, 0.92),
    Case("5M, terminated, TLS", _secured(625_000), 0.055, 0.94),
)


LINKS: Final = tuple(dict.fromkeys(case.link for case in CASES))


def measure(case: Case, *, quantum: int | None = None) -> tuple[GateOutcome, GateOutcome]:
    """The same run twice: chunks of one quantum, chunks of 1 KB."""
    one, kilobyte = (
        simulate(
            case.model,
            quantum=quantum,
            chunk=chunk,
            bypass=False,
            seconds=case.seconds,
            warm_up=case.warm_up,
            swing=case.swing,
        )
        for chunk in (None, 1024)
    )
    return one, kilobyte


def cases(name: str | None = None) -> list[Case]:
    """All, or those of one link. Raises ValueError for an unknown one."""
    found = [case for case in CASES if name is None or case.link == name]
    if not found:
        raise ValueError(f"no link {name!r}; there are {', '.join(LINKS)}")
    return found


def run(
    *, scale: float = 1.0, quantum: int | None = None, profile: str | None = None
) -> dict[str, Any]:
    """Every case; `scale`: as many of them, the first ones. `quantum`: by hand, bytes."""
    wanted = cases(profile)
    runs, checks = [], dict[str, Check]()
    print(
        f"{'link':<34}{'quantum':>8}{'median':>8}{'p90':>6}{'goal':>6}"
        f"{'1 KB':>8}{'p90':>6}{'goodput':>9}{'goal':>6}{'dropped':>9}"
    )
    for case in wanted[: round(len(wanted) * scale)]:
        one, kilobyte = measure(case, quantum=quantum)
        row = {
            "link": case.name,
            "quantum": one.quantum,
            "median_s": round(one.median, 4),
            "p90_s": round(one.p90, 4),
            "kilobyte_median_s": round(kilobyte.median, 4),
            "kilobyte_p90_s": round(kilobyte.p90, 4),
            "goodput": round(one.goodput, 4),
            "dropped": one.dropped,
        }
        runs.append(row)
        print(_line(row, case))
        checks |= judge(case, median=one.median, goodput=one.goodput)
    return {"runs": runs, "checks": checks}


def judge(case: Case, *, median: float, goodput: float, over: str = "") -> dict[str, Check]:
    """Its figures against its goals, seconds and a share of the rate. `over`: what carried it."""
    late, good = round(median, 3), round(goodput, 3)
    name = f"{case.name}{over}"
    return {
        f"{name}: a quantum of high priority arrives after": Check(
            late, "s, median", f"<= {case.median:g}", late <= case.median
        ),
        f"{name}: goodput": Check(
            good, "of the rate", f">= {case.goodput:g}", good >= case.goodput
        ),
    }


def _line(row: dict[str, Any], case: Case) -> str:
    return (
        f"{row['link']:<34}{row['quantum']:>6} B{1e3 * row['median_s']:>5.0f} ms"
        f"{1e3 * row['p90_s']:>6.0f}{1e3 * case.median:>6.0f}"
        f"{1e3 * row['kilobyte_median_s']:>5.0f} ms"
        f"{1e3 * row['kilobyte_p90_s']:>6.0f}{row['goodput']:>9.3f}{case.goodput:>6g}"
        f"{row['dropped']:>9}"
    )

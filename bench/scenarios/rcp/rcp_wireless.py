"""RCP's figure 5a: what losses of a wireless hop cost, with and without notice of them (ELN).

One flow to a mobile host, whose last hop of 2 Mbit/s loses packets both ways. With ELN that hop
says what it has lost: RCP's receiver decides by it at once for every hole; TCP's can tell the
sender of one segment in an acknowledgement, which may be lost as well. In virtual time.

Throughput counts the packets that the data fills, headers included: RCP's hold 1,160 bytes of it,
sealed, the model's TCP 1,176 in the clear, and how a path's losses are repaired is the question.

Linux tells no transport what a radio has lost. Where such notices would come from: the driver's
receive errors with the frame's header intact, or a link layer that numbers its frames.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from emulation.dumbbell.flows import PACKET, RcpFlow, SackFlow
from emulation.dumbbell.worlds import AIR_RATE, MobileHost

LOSSES: Final = (0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
KINDS: Final[dict[str, tuple[type[RcpFlow] | type[SackFlow], bool]]] = {
    "TCP": (SackFlow, False),
    "TCP-ELN": (SackFlow, True),
    "RCP": (RcpFlow, False),
    "RCP-ELN": (RcpFlow, True),
}
ABOVE: Final = 0.02
"""The loss from which on RCP with notices is to be faster, not only as fast."""
_KBIT: Final = 125.0


@dataclass(frozen=True, slots=True)
class LossyRun:
    """One run: which flow, what is lost, which chance."""

    kind: str
    loss: float
    seed: int
    seconds: float


def throughput(one: LossyRun) -> float:
    """Bytes/second of one run, of packets that its data fills."""
    flow, eln = KINDS[one.kind]
    host = MobileHost(flow, loss=one.loss, eln=eln, seed=one.seed)
    packets = host.delivered(one.seconds) / flow.data
    return packets * PACKET / one.seconds


def run(
    *,
    seed: int = 1,
    runs: int = 10,
    seconds: float = 300.0,
    losses: Sequence[float] = LOSSES,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`runs` runs of each kind at each share of losses, the same chances for all kinds."""
    cases = [
        LossyRun(kind, loss, seed + number, seconds)
        for loss in losses
        for kind in KINDS
        for number in range(runs)
    ]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(cases, pool.map(throughput, cases), strict=True))
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    for loss in losses:
        rates = {
            kind: [rate for one, rate in found.items() if (one.loss, one.kind) == (loss, kind)]
            for kind in KINDS
        }
        means = {kind: statistics.fmean(ones) for kind, ones in rates.items()}
        rows.append(
            {"loss": loss}
            | {kind: round(mean / AIR_RATE, 4) for kind, mean in means.items()}
            | {f"{kind}_e95": round(e95(ones) / AIR_RATE, 4) for kind, ones in rates.items()}
        )
        say(f"{loss:>7.2%}  " + "  ".join(f"{kind} {rows[-1][kind]:.3f}" for kind in KINDS))
        checks |= _checks(loss, means)
    return {"runs": rows, "exhibits": [_chart(rows)], "checks": checks}


def _checks(loss: float, means: dict[str, float]) -> dict[str, Check]:
    """Asks that RCP is no slower than TCP, with notices and without; faster where much is lost."""
    checks = {}
    for ours, theirs, above in (("RCP-ELN", "TCP-ELN", loss >= ABOVE), ("RCP", "TCP", False)):
        ratio = means[ours] / means[theirs]
        goal = "> 1" if above else ">= 1"
        checks[f"5a: {loss:.2%} lost, {ours}"] = Check(
            round(ratio, 3), f"of {theirs}'s throughput", goal, ratio > 1 if above else ratio >= 1
        )
    return checks


def _chart(rows: Sequence[dict[str, Any]]) -> Bars:
    """Figure 5a."""
    series = [
        Curve(kind, [(float(n), row[kind] * AIR_RATE / _KBIT) for n, row in enumerate(rows)], tone)
        for tone, kind in enumerate(KINDS)
    ]
    labels = [f"{row['loss']:.2%}" for row in rows]
    return Bars("Figure 5a: throughput by loss", "kbit/s", labels, series, AIR_RATE / _KBIT)

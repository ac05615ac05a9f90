"""Estimates what a TCP connection carries from the facts about it, by the model that fits. Pure.

While there are few loss events, their rate says little and the first slow start is most of what
happened: Cardwell's model. Later Padhye's. Sources: Bolliger and Gross, sections 2 and 3;
cardwell.py and padhye.py beside this name the models' own. Knows no sensor.
"""

from __future__ import annotations

import math
from typing import Final

from monitor.estimate import BandwidthEstimate
from monitor.facts import ConnectionFacts
from monitor.models.cardwell import Transfer
from monitor.models.padhye import TcpPath, TimeoutsSeen

ENOUGH: Final = 30.0
"""Loss events from which on their rate is known well: the standard error of p is a fifth, that of
1/sqrt(p) a tenth."""
LEAST_SEGMENTS: Final = 10
"""Segments below which nothing can be said: the initial window."""
CARDWELL: Final = "cardwell"
PADHYE: Final = "padhye"


def estimate(facts: ConnectionFacts) -> BandwidthEstimate | None:
    """Bytes/second of new data that the connection carries.

    None: too little was sent to tell; or counting began later than the connection, so that no
    slow start tells, and there has been no loss since.
    """
    if not tells(facts):
        return None
    if facts.loss_events >= ENOUGH:
        return long_run(facts)
    if facts.from_start:
        return transfer(facts)
    return long_run(facts) if facts.loss_events >= 1 else None


def tells(facts: ConnectionFacts) -> bool:
    """Whether enough was sent to tell anything."""
    return facts.segments >= LEAST_SEGMENTS and facts.retransmitted < facts.segments


def long_run(facts: ConnectionFacts, *, loss: float | None = None) -> BandwidthEstimate:
    """By Padhye's model: its steady rate. `loss` goes before the connection's own loss rate.

    Raises ValueError where neither losses nor a window say what limits it.
    """
    known = facts.loss_rate if loss is None else loss
    if not known and facts.window is None:
        raise ValueError("a connection without losses and without a window has no known limit")
    rate = path_of(facts).observed(known, _seen(facts))
    return _estimate(facts, rate * _new_bytes(facts), PADHYE, facts.loss_events)


def transfer(facts: ConnectionFacts) -> BandwidthEstimate:
    """By Cardwell's model: what was sent so far, over the time that it should have taken."""
    made = Transfer(path_of(facts))
    took = made.latency(
        facts.segments, facts.loss_rate, first_loss=_first_loss(facts), seen=_seen(facts)
    )
    rate = facts.segments / took * _new_bytes(facts)
    return _estimate(facts, rate, CARDWELL, facts.loss_events)


def path_of(facts: ConnectionFacts) -> TcpPath:
    """The models' parameters, as these facts have them."""
    return TcpPath(
        rtt=facts.rtt,
        timeout=facts.retransmission_timeout,
        acks=facts.acks_per_growth,
        window=facts.window or math.inf,
    )


def _seen(facts: ConnectionFacts) -> TimeoutsSeen | None:
    """Timeouts as they happened; None while there were no loss events to have any."""
    if facts.loss_events < 1:
        return None
    share = min(1.0, facts.timeouts / facts.loss_events)
    return TimeoutsSeen(share, facts.timeout_seconds / facts.timeouts if facts.timeouts else 0.0)


def _first_loss(facts: ConnectionFacts) -> float | None:
    known = facts.first_loss
    return None if known is None or not facts.loss_events else min(known, facts.segments)


def _new_bytes(facts: ConnectionFacts) -> float:
    """Bytes that a segment sent brings on, on average."""
    return facts.segment_size * (1 - facts.retransmitted / facts.segments)


def _estimate(facts: ConnectionFacts, rate: float, source: str, events: float) -> BandwidthEstimate:
    """With a confidence that grows as the error of 1/sqrt(p) shrinks."""
    confidence = 1 - 0.5 / math.sqrt(max(1.0, events))
    return BandwidthEstimate(rate, facts.at, confidence, source)

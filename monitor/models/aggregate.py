"""Estimates what several TCP connections between two hosts carry together. Pure.

They share a path, so each one's losses tell of the others' too: a connection with few loss events
of its own is reckoned at the rate that all of them had together (Bolliger and Gross, section 2.1:
observers aggregate what connections that share a path have seen). Knows no host: who calls has
chosen the connections.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from monitor.estimate import BandwidthEstimate
from monitor.facts import ConnectionFacts
from monitor.models import model

SOURCE: Final = "connections"


def together(connections: Iterable[ConnectionFacts]) -> BandwidthEstimate | None:
    """Bytes/second of all of them, as of the newest; None when nothing can be said of any.

    Confidence is the mean of theirs, each by its rate.
    """
    facts = list(connections)
    loss = shared_loss(facts)
    estimates = [one for of in facts if (one := _of_one(of, loss)) is not None]
    rate = sum(one.rate for one in estimates)
    if not rate:
        return None
    sure = sum(one.rate * one.confidence for one in estimates) / rate
    return BandwidthEstimate(rate, max(one.at for one in estimates), sure, SOURCE)


def shared_loss(connections: Iterable[ConnectionFacts]) -> float | None:
    """Loss events for each segment that any of them sent; None while these are too few to tell."""
    facts = list(connections)
    events = sum(one.loss_events for one in facts)
    if events < model.ENOUGH:
        return None
    return events / sum(one.segments for one in facts)


def _of_one(facts: ConnectionFacts, loss: float | None) -> BandwidthEstimate | None:
    if loss is None or facts.loss_events >= model.ENOUGH:
        return model.estimate(facts)
    return model.long_run(facts, loss=loss) if model.tells(facts) else None

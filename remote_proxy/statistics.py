"""A picture of one session's work at a moment, and of its link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from remote_proxy.reach.limits import UsageStatistics
from transport.link.interface import LinkStatistics


@dataclass(slots=True)
class SessionStatistics:
    """A snapshot for logs and tests."""

    device: str
    deliveries: int
    held: int
    payload_sent: int
    usage: UsageStatistics
    documents: int = field(default=0)
    refused: Mapping[str, int] = field(default_factory=dict)
    """What there was no room or time for (transcoders.make.registry.Transcoders.refused)."""
    pictures: Mapping[str, int] = field(default_factory=dict)
    """By what decided whether they were adapted (jobs/economy.py)."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One device's session, for whoever counts."""

    session: SessionStatistics
    link: LinkStatistics
    rate: float | None
    """Bytes/second that its link carries; None: not known yet."""


@dataclass(frozen=True, slots=True)
class SharedWork:
    """What devices, and remotes with one store, have had of each other's; counts since the start of
    this process."""

    store: str
    """"memory", "valkey"."""
    answers: bool
    """The store does."""
    found: int
    missed: int
    failed: int
    """Questions to the store."""
    given: int
    """Answers that no origin was asked for."""
    unchanged: int
    """That an origin was asked about, and it had nothing new."""
    waited: int
    """Of those given, that were under way for another."""
    asked: int
    """Requests that went to origins."""
    bytes_given: int
    spared: int
    """Pictures' forms that had not to be made."""


@dataclass(frozen=True, slots=True)
class ClusterWork:
    """What a cluster has made; counts since the start."""

    there: bool
    """Its scheduler answers."""
    done: int
    """Forms of pictures that it made."""
    lost: int
    """That were made here, for it was away."""

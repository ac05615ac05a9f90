"""A snapshot in Prometheus' text format, version 0.0.4. Pure.

Few enough lines that a client library, with its global registry, would not make them fewer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from local_proxy.status.snapshot import ShownBudget, ShownPath, ShownTransport, StatusSnapshot

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[dict[str, str], float]


def exposition(status: StatusSnapshot) -> str:
    """All metrics of the local proxy."""
    link, savings = status.link, status.savings
    rates = [
        ({"direction": direction}, estimate.rate)
        for direction, estimate in (("down", link.down), ("up", link.up))
        if estimate is not None
    ]
    delays = [
        ({"which": which}, delay)
        for which, delay in (("latest", link.delay), ("lowest", link.min_delay))
        if delay is not None
    ]
    policies = [(index, policy) for index, policy in enumerate(status.policies)]
    families = [
        _family("build_info", "gauge", "Version.", [({"version": status.version}, 1)]),
        _family("uptime_seconds", "gauge", "Since the start.", [({}, status.uptime)]),
        _family("link_up", "gauge", "1 while connected.", [({}, float(link.connected))]),
        _family("link_state_seconds", "gauge", "Since it went up or down.", [({}, link.seconds)]),
        _family(
            "link_bytes_total",
            "counter",
            "Bytes of frames over the slow link, without what carries them.",
            [({"direction": "down"}, link.received), ({"direction": "up"}, link.sent)],
        ),
        _family("bandwidth_bytes_per_second", "gauge", "Estimates of the link's rate.", rates),
        _family(
            "available_bytes_per_second",
            "gauge",
            "What others leave of the link.",
            [({"direction": "down"}, link.available.rate)] if link.available else [],
        ),
        _family(
            "line_shared",
            "gauge",
            "1 while other programs fill the line's queue.",
            [({"direction": way}, float(way in link.shared)) for way in ("down", "up")],
        ),
        _family("delay_seconds", "gauge", "From sending a byte to hearing of it.", delays),
        *_transport(link.tcp),
        *_paths(link.paths),
        *_budgets(link.budgets),
        _family(
            "origin_bytes_total",
            "counter",
            "Bytes that origins sent for what was delivered.",
            [({}, savings.origin_bytes)],
        ),
        _family(
            "delivered_bytes_total",
            "counter",
            "Bytes that it took on the link.",
            [({}, savings.link_bytes)],
        ),
        _family(
            "pictures_total",
            "counter",
            "Pictures of this session, by why they are adapted or not.",
            [({"why": one.why}, one.count) for one in status.pictures],
        ),
        _family("texts", "gauge", "Texts kept of earlier visits.", [({}, status.texts.count)]),
        _family("texts_bytes", "gauge", "That they take, packed.", [({}, status.texts.bytes)]),
        _family(
            "texts_spared_bytes",
            "counter",
            "Of texts, that did not cross because they were here.",
            [({}, status.texts.spared)],
        ),
        _family("documents", "gauge", "Open documents.", [({}, len(status.documents))]),
        _family(
            "policy_on",
            "gauge",
            "1 while the policy reacts, 0 once it was switched off.",
            [({"policy": p.name, "index": str(i)}, float(p.on)) for i, p in policies],
        ),
        _family(
            "policy_slowest_seconds",
            "gauge",
            "Its longest reaction.",
            [({"policy": p.name, "index": str(i)}, p.slowest) for i, p in policies],
        ),
        _family(
            "policy_commands_total",
            "counter",
            "Commands that it gave.",
            [({"policy": p.name, "index": str(i)}, p.commands) for i, p in policies],
        ),
    ]
    return "".join(families)


def _budgets(budgets: list[ShownBudget]) -> list[str]:
    days = [one for one in budgets if one.day]
    budgets = [one for one in budgets if not one.day]
    spent: list[Sample] = [({"path": one.name}, one.spent) for one in budgets]
    sizes: list[Sample] = [({"path": one.name}, one.size) for one in budgets]
    day_spent: list[Sample] = [({}, one.spent) for one in days]
    day_sizes: list[Sample] = [({}, one.size) for one in days]
    today = [
        _family("day_budget_spent_bytes", "gauge", "That crossed the link today.", day_spent),
        _family("day_budget_bytes", "gauge", "That may cross the link in a day.", day_sizes),
    ]
    if not budgets:
        return today if days else []
    return [
        *(today if days else ()),
        _family("path_budget_spent_bytes", "gauge", "That crossed this month.", spent),
        _family("path_budget_bytes", "gauge", "That may cross a metered path in a month.", sizes),
    ]


def _paths(paths: list[ShownPath]) -> list[str]:
    if not paths:
        return []
    carried: list[Sample] = [({"path": path.name}, path.carried) for path in paths]
    trips: list[Sample] = [({"path": path.name}, path.round_trip) for path in paths]
    answers: list[Sample] = [({"path": path.name}, float(path.answers)) for path in paths]
    return [
        _family("path_bytes", "gauge", "That came over each path of the connection.", carried),
        _family("path_round_trip_seconds", "gauge", "Of each path.", trips),
        _family("path_answers", "gauge", "1 while the remote answers over it.", answers),
    ]


def _transport(tcp: ShownTransport | None) -> list[str]:
    """What TCP says of the link's present connection."""
    if tcp is None:
        return []
    rounds = (("smoothed", tcp.rtt), ("variation", tcp.rttvar), ("lowest", tcp.min_rtt))
    segments = (("sent", tcp.segments), ("again", tcp.retransmitted))
    rates: list[Sample] = [({}, tcp.delivered.rate)] if tcp.delivered is not None else []
    return [
        _family("tcp_round_trip_seconds", "gauge", "Of the link, says TCP.", _which(rounds)),
        _family("tcp_segments", "gauge", "Of data, on this connection.", _which(segments)),
        _family("tcp_delivered_bytes_per_second", "gauge", "Acknowledged by the remote.", rates),
    ]


def _which(values: Iterable[tuple[str, float]]) -> list[Sample]:
    return [({"which": which}, value) for which, value in values]


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> str:
    lines = [f"sluice_{name}{_labels(labels)} {_number(value)}\n" for labels, value in samples]
    if not lines:
        return ""
    return f"# HELP sluice_{name} {text}\n# TYPE sluice_{name} {kind}\n" + "".join(lines)


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    pairs = (f'{key}="{_escaped(value)}"' for key, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))

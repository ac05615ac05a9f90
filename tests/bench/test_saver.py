"""The bench of the saver: what it judges, and when it says nothing."""

from __future__ import annotations

from typing import Any

from bench.pairs.peers import NAMES, peers
from bench.scenarios.pages.saver import judge


def row(peer: str, size: int, seconds: float | None, *ssim: float) -> dict[str, Any]:
    return {"peer": peer, "bytes_down": size, "load_s": seconds, "ssim": list(ssim)}


def test_bytes_time_and_each_picture_are_judged_against_ziproxy() -> None:
    rows = [
        row("ziproxy", 100, 5.0, 0.96, 0.98), row("sluice-saver", 89, 4.6, 0.97, 0.97),
    ]  # fmt: skip
    found = judge(rows)
    assert [one.ok for one in found.values()] == [True, False, False]
    assert found["pictures more like the origin's"].value == 1
    better = judge([rows[0], row("sluice-saver", 91, 4.0, 0.97, 0.99)])
    assert [one.ok for one in better.values()] == [False, True, True]


def test_a_load_without_an_end_is_none_that_is_sooner() -> None:
    rows = [row("ziproxy", 100, 5.0, 0.96), row("sluice-saver", 80, None, 0.97)]
    assert not judge(rows)["all of it"].ok


def test_without_ziproxy_nothing_is_judged() -> None:
    assert judge([row("sluice-saver", 80, 4.0, 0.97)]) == {}


def test_the_saver_is_a_peer_by_name() -> None:
    assert "sluice-saver" in NAMES
    (peer,) = peers(["sluice-saver"])
    assert peer.name == "sluice-saver"

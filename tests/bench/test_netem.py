"""The check of netem judges figures that it gets from another kernel."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench.scenarios.links import netem
from emulation.uml import kernel

LINKS: list[dict[str, Any]] = [
    {"what": "netem, 5 Mbit/s: rate", "value": -0.15, "unit": "% off", "most": 0.1},
    {"what": "netem, 100 Mbit/s: rate", "value": -30.0, "unit": "% off", "most": 0.1},
    {"what": "netem, 5 Mbit/s: delay added", "value": 0.6, "unit": "ms", "most": 0.5},
    {"what": "netem, loss of 2 %", "value": 0.1, "unit": "points off", "most": 0.4},
    {"what": "netem: lateness", "ms": [0, 0, 0]},
]


def load(peer: str, backend: str, text: float, final: float | None) -> dict[str, Any]:
    return {"peer": peer, "backend": backend, "text_s": text, "painted_s": 2.0, "final_s": final}


def test_each_figure_has_its_goal() -> None:
    loads = [
        load("direct", "netem", 1.09, 3.0),
        load("direct", "tun", 1.0, None),
        load("sluice", "netem", 1.2, 3.0),
        load("sluice", "tun", 1.0, 3.1),
    ]
    checks = netem.judge(LINKS, loads)
    assert {name: check.ok for name, check in checks.items()} == {
        "netem, 5 Mbit/s: rate": True,
        "netem, 5 Mbit/s: delay added": False,
        "netem, loss of 2 %": True,
        "page load, direct, text_s: netem of tun": True,
        "page load, direct, painted_s: netem of tun": True,
        "page load, sluice, text_s: netem of tun": False,
        "page load, sluice, painted_s: netem of tun": True,
        "page load, sluice, final_s: netem of tun": True,
    }


def test_without_such_a_kernel_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "missing", lambda: "it is not here")
    assert asyncio.run(netem.run()) == {"checks": {}, "runs": []}
    assert "not here: it is not here" in capsys.readouterr().out

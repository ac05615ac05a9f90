"""README.md's policy is taken from the file and run."""

from __future__ import annotations

import re
from pathlib import Path

from policies.api import Kind, Rule, SessionOpened, SetPlan
from policies.host.loader import load
from policies.testing import Estimate, replay

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_it_holds_pictures_while_the_link_is_slow(tmp_path: Path) -> None:
    code = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
    assert len(code) == 1
    file = tmp_path / "text_only.py"
    file.write_text(code[0], "utf-8")
    rates = (50_000, 5_000, 6_000, 50_000)
    recording = [(0.0, SessionOpened()), *((n + 1.0, Estimate(r)) for n, r in enumerate(rates))]
    sent = replay(load(str(file)), recording).sent
    plans = [command.rules for _, command in sent if isinstance(command, SetPlan)]
    assert plans == [(Rule(kind=Kind.IMAGE, level="none"),), ()]

"""A plan decides what becomes of a component, and what is asked of transcoders for it."""

from __future__ import annotations

import pytest

from policies.api.plan import PlanError, Rule, to_wire
from scheduling.plan import Plan, picture_options
from wire.skeleton import Kind, Use


def plan(*rules: Rule) -> Plan:
    made = Plan()
    made.replace(to_wire(rules))
    return made


def level(made: Plan, *, kind: Kind = Kind.IMAGE, document: int = 1, length: int | None = 9) -> str:
    return made.decide(2, document, kind, Use.ELEMENT, length).level


def test_without_rules_all_is_sent_to_the_last_byte() -> None:
    assert level(Plan()) == "original"


def test_the_later_of_two_rules_wins() -> None:
    rules = (Rule(kind=Kind.IMAGE, level="none"), Rule(document=1, level="low"))
    assert level(plan(*rules)) == "low"
    assert level(plan(*reversed(rules))) == "none"
    assert level(plan(*rules), kind=Kind.TEXT, document=3) == "original"


def test_a_size_that_is_not_known_matches_no_rule_about_sizes() -> None:
    made = plan(Rule(at_least=5, level="none"))
    assert (level(made), level(made, length=4), level(made, length=None)) == (
        *("none", "original"),
        "original",
    )


def test_a_rule_that_is_none_is_refused_and_the_old_ones_stay() -> None:
    made = plan(Rule(level="low"))
    with pytest.raises(PlanError, match="level"):
        made.replace([{"level": "fine"}])
    assert level(made) == "low"


def test_what_is_asked_of_the_transcoder_depends_on_who_sees_it() -> None:
    decision = plan(Rule(fit_layout=True, quality=40)).decide(2, 1, Kind.IMAGE, Use.ELEMENT)
    chromium = picture_options(
        decision, width=300, height=200, accept="image/avif,image/webp", webp=True
    )
    assert (chromium.layout, chromium.quality) == ((300, 200), 40)
    assert chromium.avif and chromium.webp
    plain = picture_options(decision, width=0, height=200, accept="image/*", webp=True)
    assert plain.layout is None, "a size that is not known is no size to fit"
    assert not plain.avif and not plain.webp


def test_a_picture_that_is_not_to_be_sent_may_be_made_all_the_same() -> None:
    """Whoever resumes it wants its levels."""
    decision = plan(Rule(level="none")).decide(2, 1, Kind.IMAGE, Use.ELEMENT)
    assert picture_options(decision, width=0, height=0, accept="").stop == "original"

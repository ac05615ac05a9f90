"""Plans: which rules match, which win, and how they travel."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.api.plan import (
    Decision,
    PlanError,
    Rule,
    Subject,
    decide,
    described,
    from_wire,
    resolve,
    to_wire,
)
from wire.messages import SetPlan, decode, encode
from wire.skeleton import Kind, Use

PICTURE = Subject(component=4, document=1, kind=Kind.IMAGE, use=Use.ELEMENT, length=5000)


def test_without_rules_everything_is_sent_and_whole() -> None:
    assert decide((), PICTURE) == Decision(level="original", fetch="push", untouched=False)


def test_later_rules_win_field_by_field() -> None:
    rules = [
        Rule(kind=Kind.IMAGE, level="low", quality=60),
        Rule(level="medium", tier=2),
        Rule(kind=Kind.TEXT, level="none"),
    ]
    assert decide(rules, PICTURE) == Decision(level="medium", quality=60, tier=2)


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (Rule(), True),
        (Rule(kind=Kind.FONT), False),
        (Rule(use=Use.ELEMENT, kind=Kind.IMAGE), True),
        (Rule(use=Use.BACKGROUND, kind=Kind.IMAGE), False),
        (Rule(document=1), True),
        (Rule(document=3), False),
        (Rule(not_document=1), False),
        (Rule(document="front"), False),
        (Rule(document="back"), True),
        (Rule(components=(2, 4)), True),
        (Rule(components=()), False),
        (Rule(at_least=5000, at_most=5000), True),
        (Rule(at_least=5001), False),
        (Rule(at_most=4999), False),
    ],
)
def test_all_conditions_must_hold(rule: Rule, matches: bool) -> None:
    assert rule.matches(PICTURE) is matches


def test_a_rule_about_size_waits_until_it_is_known() -> None:
    unknown = Subject(component=4, document=1, kind=Kind.IMAGE, use=Use.ELEMENT)
    assert not Rule(at_most=10**9).matches(unknown)
    assert not Rule(at_least=0).matches(unknown)


RULES = st.builds(
    Rule,
    kind=st.none() | st.sampled_from(Kind),
    document=st.sampled_from(["front", "back", None, 1, 3]),
    components=st.none() | st.lists(st.integers(1, 9)).map(tuple),
    level=st.sampled_from([None, "none", "low", "original"]),
    untouched=st.sampled_from([None, True, False]),
    tier=st.none() | st.integers(-5, 5),
)
SUBJECTS = st.builds(
    lambda component, document, kind, front: Subject(
        component=component, document=document, kind=kind, use=Use.OTHER, front=document == front
    ),
    st.integers(1, 9),
    st.sampled_from([1, 3, 5]),
    st.sampled_from(Kind),
    st.just(3),
)


@given(st.lists(RULES, max_size=6), SUBJECTS)
def test_the_remote_decides_as_the_local_does(rules: list[Rule], subject: Subject) -> None:
    """Resolved, encoded and decoded, without knowing what is in front."""
    message = decode(encode(SetPlan(to_wire(resolve(rules, front=3)))))
    assert isinstance(message, SetPlan)
    blind = Subject(
        component=subject.component, document=subject.document, kind=subject.kind, use=subject.use
    )
    assert decide(from_wire(message.rules), blind) == decide(rules, subject)


def test_with_nothing_in_front_all_are_behind() -> None:
    rules = [Rule(document="front", level="high"), Rule(document="back", tier=1)]
    assert decide(resolve(rules, front=None), PICTURE) == Decision(tier=1)


@pytest.mark.parametrize(
    "wire",
    [
        [{"level": "lowest"}],
        [{"kind": 3}],
        [{"no": 1}],
        [{"quality": 0}],
        [{"at_least": -1}],
        [{"components": ["a"]}],
        [3],
        [{"document": "middle"}],
    ],
)
def test_rules_from_the_wire_are_checked(wire: list[Any]) -> None:
    with pytest.raises(PlanError, match="plan: "):
        from_wire(wire)
    assert from_wire([{}]) == (Rule(),)


def test_what_is_not_said_costs_nothing() -> None:
    assert to_wire([Rule(kind=Kind.IMAGE, level="none")]) == [{"kind": "image", "level": "none"}]


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (Rule(kind=Kind.IMAGE, level="none"), "kind=image: level=none"),
        (Rule(document="back", use=Use.BACKGROUND, tier=2), "use=background document=back: tier=2"),
        (Rule(components=(3, 4), fetch="ask"), "components=3,4: fetch=ask"),
        (Rule(at_least=9, within=2.5, untouched=False), "at_least=9: untouched=False within=2.5"),
        (Rule(fit_layout=True), "everything: fit_layout=True"),
        (Rule(kind=Kind.FONT), "kind=font: nothing"),
    ],
)
def test_a_rule_is_a_line_to_read(rule: Rule, line: str) -> None:
    assert described(rule) == line

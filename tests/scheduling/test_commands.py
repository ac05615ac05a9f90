"""Commands of policies change the very next quantum."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from policies.api.plan import Rule, to_wire
from scheduling.commands import MAX_PARTS, Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from wire import messages as m
from wire.skeleton import Kind, Use


@dataclass
class Picture:
    """A component that is to be placed."""

    component: int
    order: int = 0
    document: int = 1
    use: Use = Use.ELEMENT


class Device:
    """One device's tree under command."""

    def __init__(self) -> None:
        self.tree = Tree(quantum=1000)
        self.plan = Plan()
        self.commands = Obedience(self.tree, self.plan)

    def enter(self, one: Picture, *, kind: Kind = Kind.IMAGE, nbytes: int = 100) -> None:
        self.commands.entered(one, kind)
        order = self.commands.place(one, kind)
        leaf = self.tree.leaf(one.document, one.component, kind=kind.value, order=order)
        self.tree.hierarchy.enqueue(leaf, nbytes)

    def sending(self) -> list[str]:
        names = []
        while (grant := self.tree.multiplexer.next_quantum(0.0)) is not None:
            names.append(grant.leaf.name)
        return names


def told(*rules: Rule) -> m.SetPlan:
    return m.SetPlan(to_wire(rules))


def test_a_plan_holds_back_what_is_under_way_and_lets_it_go_again() -> None:
    device = Device()
    device.enter(Picture(2))
    device.enter(Picture(4), kind=Kind.TEXT)
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="none")))
    assert device.sending() == ["4"]
    device.commands.obey(told())
    assert device.sending() == ["2"]


def test_a_fetch_overrules_the_plan_for_its_component_alone() -> None:
    device = Device()
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="none")))
    for component in (2, 4):
        device.enter(Picture(component))
    device.commands.fetch(m.Fetch(4, "original"), running=True, now=0.0)
    assert device.sending() == ["4"]


def test_tiers_come_before_the_order_of_the_document() -> None:
    device = Device()
    device.plan.replace(to_wire([Rule(components=(4,), tier=1)]))
    places = [device.commands.place(Picture(c, order=o), Kind.IMAGE) for c, o in ((4, 0), (2, 9))]
    assert places == [MAX_PARTS, 9]


def test_who_is_deferred_waits_until_it_is_resumed() -> None:
    device = Device()
    device.enter(Picture(2))
    device.commands.hold(m.Hold(2, True), running=True)
    assert device.sending() == []
    device.commands.hold(m.Hold(2, False), running=True)
    assert device.sending() == ["2"]


@pytest.mark.parametrize(
    "command",
    [
        m.SetScheduler(["browser"], "no such scheduler", {}),
        m.SetWeight(["browser"], -1.0),
        m.SetQuantum([], 7),
        m.SetPlan([{"level": "fine"}]),
    ],
)
def test_what_can_t_be_carried_out_changes_nothing(command: m.Message) -> None:
    device = Device()
    before = device.tree.hierarchy.statistics(), device.tree.multiplexer.quantum
    device.commands.obey(command)
    assert (device.tree.hierarchy.statistics(), device.tree.multiplexer.quantum) == before


def test_a_quantum_that_a_policy_sets_stays_until_it_leaves_the_choice_again() -> None:
    device = Device()
    device.commands.obey(m.SetQuantum([], 256))
    assert (device.commands.fixed_quantum, device.tree.multiplexer.quantum) == (256, 256)
    device.commands.obey(m.SetQuantum([], 0))
    assert device.commands.fixed_quantum == 0


def test_what_has_left_is_forgotten() -> None:
    device = Device()
    device.enter(Picture(2))
    device.commands.sweep(live=())
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="none")))
    assert device.sending() == ["2"], "the plan no longer knows of it"

"""Commands of policies change the very next quantum."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from policies.api.plan import Rule, to_wire
from scheduling.commands import Obedience
from scheduling.places import MAX_PARTS
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

    def __init__(self, *, quantum: int = 1000) -> None:
        self.tree = Tree(quantum=quantum)
        self.plan = Plan()
        self.commands = Obedience(self.tree, self.plan)

    def enter(self, one: Picture, *, kind: Kind = Kind.IMAGE, nbytes: int = 100) -> None:
        self.commands.entered(one, kind)
        order = self.commands.place(one, kind)
        leaf = self.tree.leaf(one.document, one.component, kind=kind.value, order=order)
        self.tree.hierarchy.enqueue(leaf, nbytes)

    def enter_picture(self, component: int) -> None:
        """One of 10 KB, in levels of 1, 4 and 10."""
        self.enter(Picture(component), nbytes=10_000)
        ends = {"low": 1_000, "medium": 4_000, "original": 10_000}
        self.tree.set_marks(1, component, [*ends.values()], [*ends.values()], ends=ends)

    def bytes_sent(self) -> dict[str, int]:
        """Bytes of each component that the tree lets go, by its name."""
        sent: dict[str, int] = {}
        while (grant := self.tree.multiplexer.next_quantum(0.0)) is not None:
            sent[grant.leaf.name] = sent.get(grant.leaf.name, 0) + grant.length
        return sent

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
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="none")), now=0.0)
    assert device.sending() == ["4"]
    device.commands.obey(told(), now=0.0)
    assert device.sending() == ["2"]


def test_a_fetch_overrules_the_plan_for_its_component_alone() -> None:
    device = Device()
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="none")), now=0.0)
    for component in (2, 4):
        device.enter(Picture(component))
    device.commands.fetch(m.Fetch(4, "original"), running=True, now=0.0)
    assert device.sending() == ["4"]


def test_a_plan_stops_what_is_under_way_at_a_level_and_lets_it_go_on() -> None:
    device = Device()
    device.enter_picture(2)
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="low")), now=0.0)
    assert device.bytes_sent() == {"2": 1_000}
    assert device.tree.parked == 9_000
    device.commands.obey(
        told(Rule(kind=Kind.IMAGE, level="high")), now=0.0
    )  # it has none of its own
    assert device.bytes_sent() == {"2": 3_000}
    device.commands.obey(told(), now=0.0)
    assert device.bytes_sent() == {"2": 6_000}
    assert device.tree.parked == 0


def test_a_fetch_stops_at_its_level_whatever_the_plan_says_later() -> None:
    device = Device()
    device.enter_picture(2)
    device.enter_picture(4)
    device.commands.fetch(m.Fetch(2, "low"), running=True, now=0.0)
    assert device.bytes_sent() == {"2": 1_000, "4": 10_000}
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="medium")), now=0.0)
    assert device.bytes_sent() == {}
    device.commands.fetch(m.Fetch(2, "original"), running=True, now=0.0)
    assert device.bytes_sent() == {"2": 9_000}


def test_pictures_that_a_program_waits_for_come_one_after_the_other() -> None:
    device = Device()
    for component in (2, 4, 6):
        device.enter_picture(component)
    device.commands.obey(m.SetScheduler(["browser", "*"], "low_fidelity_first"), now=0.0)
    for component in (4, 6):
        device.commands.fetch(m.Fetch(component, "original", urgency=1), running=True, now=0.0)
    order = device.sending()
    assert order[:3] == ["4", "6", "2"], "all are coarse first"
    assert order[3:21] == ["4"] * 9 + ["6"] * 9
    assert order[21:] == ["2"] * 9


def test_a_fetch_before_the_picture_is_made_decides_how_far_it_is_made() -> None:
    device = Device()
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="low")), now=0.0)
    about = (2, 1, Kind.IMAGE, Use.ELEMENT)
    assert device.commands.decide(*about).level == "low"
    device.commands.fetch(m.Fetch(2, "medium"), running=True, now=0.0)
    assert device.commands.decide(*about).level == "medium"
    device.commands.want(4, "original")
    assert device.commands.decide(4, *about[1:]).level == "original"
    device.commands.forget(2)
    assert device.commands.decide(*about).level == "low"


@pytest.mark.parametrize(("goes_on", "late"), [(False, {"4": 10_000}), (True, {"2": 10_000})])
def test_a_fetch_that_is_wanted_late_as_well_is_never_held(
    goes_on: bool, late: dict[str, int]
) -> None:
    device = Device()
    fetch = m.Fetch(2, "original", timer=5.0, goes_on=goes_on)
    assert device.commands.fetch(fetch, running=True, now=0.0, rate=1_000.0) is None
    assert device.commands.expire(1.0, rate=1_000.0) == [], "it has still to enter the tree"
    device.enter_picture(2)
    expired = device.commands.expire(1.0, rate=10.0)
    assert [one.component for one in expired] == ([] if goes_on else [2])
    device.commands.late(6.0)
    if not goes_on:
        device.enter_picture(4)
    assert device.bytes_sent() == late


@pytest.mark.parametrize(
    ("urgency", "order"), [(1, "6,6,4,4,2"), (2, "4,6,4,6,2"), (3, "4,6,4,6,2")]
)
def test_an_urgent_fetch_is_held_back_by_no_scheduler(urgency: int, order: str) -> None:
    device = Device(quantum=50)
    device.commands.obey(m.SetScheduler([], "text_first"), now=0.0)
    device.commands.obey(m.SetScheduler(["browser", "*"], "low_fidelity_first"), now=0.0)
    device.enter(Picture(2), nbytes=50)
    device.enter(Picture(4))
    device.enter(Picture(6, document=3), kind=Kind.TEXT)
    device.commands.fetch(m.Fetch(4, "original", urgency), running=True, now=0.0)
    assert ",".join(device.sending()) == order


def test_a_fetch_that_is_urgent_no_longer_waits_for_text_again() -> None:
    device = Device(quantum=50)
    device.commands.obey(m.SetScheduler([], "text_first"), now=0.0)
    device.enter(Picture(2))
    device.enter(Picture(6, document=3), kind=Kind.TEXT)
    for urgency in (2, 0):
        device.commands.fetch(m.Fetch(2, "original", urgency), running=True, now=0.0)
    assert device.sending() == ["6", "6", "2", "2"]


def test_an_urgent_fetch_that_is_deferred_waits_until_it_is_resumed() -> None:
    device = Device(quantum=50)
    device.commands.obey(m.SetScheduler([], "text_first"), now=0.0)
    device.enter(Picture(2))
    device.enter(Picture(6, document=3), kind=Kind.TEXT, nbytes=50)
    device.commands.fetch(m.Fetch(2, "original", 2), running=True, now=0.0)
    device.commands.hold(m.Hold(2, True), running=True)
    assert device.sending() == ["6"]
    device.commands.hold(m.Hold(2, False), running=True)
    assert device.sending() == ["2", "2"]


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
    ("command", "why"),
    [
        (m.SetScheduler(["browser"], "no such scheduler", {}), "no such scheduler"),
        (m.SetScheduler(["browser", "1", "2"], "fifo", {}), "a component has no scheduler"),
        (m.SetScheduler(["browser", "*", "*"], "fifo", {}), "a component has no scheduler"),
        (m.SetScheduler(["tunnels", "1"], "fifo", {}), "single tunnels can't be set"),
        (m.SetWeight(["tunnels", "1"], 2.0), "single tunnels can't be set"),
        (m.SetWeight(["browser"], -1.0), "weight -1.0: must be"),
        (m.SetWeight([], 2.0), "the root has no siblings"),
        (m.SetWeight(["a", "b", "c", "d"], 2.0), "no node has such a path"),
        (m.SetQuantum([], 7), "quantum of 7 bytes: must be"),
        (m.SetQuantum(["browser"], 16_385), "quantum of 16385 bytes: must be"),
        (m.SetPlan([{"level": "fine"}]), "plan: "),
    ],
)
def test_what_can_t_be_carried_out_changes_nothing_and_says_why(
    command: m.Message, why: str
) -> None:
    device = Device()
    before = device.tree.hierarchy.statistics(), device.tree.multiplexer.quantum
    assert why in device.commands.obey(command, now=0.0)
    assert (device.tree.hierarchy.statistics(), device.tree.multiplexer.quantum) == before


def test_a_quantum_that_a_policy_sets_stays_until_it_leaves_the_choice_again() -> None:
    device = Device()
    device.commands.obey(m.SetQuantum([], 256), now=0.0)
    assert (device.commands.fixed_quantum, device.tree.multiplexer.quantum) == (256, 256)
    device.commands.obey(m.SetQuantum([], 0), now=0.0)
    assert device.commands.fixed_quantum == 0


def test_what_speaks_of_a_component_that_has_left_is_no_refusal() -> None:
    assert Device().commands.obey(m.Raise(99, 1), now=0.0) == ""


def test_what_has_left_is_forgotten() -> None:
    device = Device()
    device.enter(Picture(2))
    device.commands.sweep(live=())
    device.commands.obey(told(Rule(kind=Kind.IMAGE, level="none")), now=0.0)
    assert device.sending() == ["2"], "the plan no longer knows of it"

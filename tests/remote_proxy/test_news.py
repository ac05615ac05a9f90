"""Tests of what the remote tells a device: when, and only what the device understands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from monitor.estimate import BandwidthEstimate
from remote_proxy.jobs.economy import Economy
from remote_proxy.jobs.refusals import Refusals
from remote_proxy.news import DeviceNews
from scheduling.guarantees import GuaranteeNews
from wire import abilities
from wire import messages as m


@dataclass
class Listener:
    """A device that understands some messages."""

    understands: set[str]
    device: str = "phone"
    heard: list[m.Message] = field(default_factory=list)

    def accepts(self, what: str) -> bool:
        return what in self.understands

    def say(self, message: m.Message) -> None:
        self.heard.append(message)


class Measured(NamedTuple):
    """What is known of its link."""

    outgoing: BandwidthEstimate | None
    available: BandwidthEstimate | None
    shared: bool


class World:
    """One device's news with what they are made of."""

    def __init__(self, *understands: str) -> None:
        self.listener = Listener(set(understands))
        self.refusals = Refusals()
        self.economy = Economy()
        self.estimate: BandwidthEstimate | None = None
        self.available: BandwidthEstimate | None = None
        self.shared = False
        self.looks = 0
        self.too_soon: list[tuple[int, float]] = []
        self.guarantees: list[GuaranteeNews] = []
        self.news = DeviceNews(
            self.listener,
            self.refusals,
            self.economy,
            refused=dict,
            measured=lambda: Measured(self.estimate, self.available, self.shared),
            too_soon=lambda: self.too_soon,
            guarantees=lambda: self.guarantees,
            later=self.look,
        )

    def look(self) -> None:
        self.looks += 1

    def carries(self, rate: float, confidence: float = 0.9) -> None:
        self.estimate = BandwidthEstimate(rate, 0.0, confidence, "reports")


def test_times_that_cannot_be_kept_are_told_to_who_understands_it() -> None:
    world = World(abilities.TIMELY)
    world.too_soon = [(1, 7.1234), (3, 1e12)]
    world.news.tell(0.0)
    assert world.listener.heard == [m.TooSoon(1, 7.12), m.TooSoon(3, m.MAX_SECONDS)]
    older = World(abilities.NOTICES)
    older.too_soon = [(1, 7.0)]
    older.news.tell(0.0)
    assert older.listener.heard == []


def test_rates_are_told_to_who_understands_it() -> None:
    world = World(abilities.RESERVES)
    world.guarantees = [GuaranteeNews(("browser", "1", "3"), 1234.56, held=True)]
    world.news.tell(0.0)
    assert world.listener.heard == [m.Guaranteed(["browser", "1", "3"], 1234.6, True)]
    older = World(abilities.TIMELY)
    older.guarantees = world.guarantees
    older.news.tell(0.0)
    assert older.listener.heard == []


def test_nothing_is_told_where_nothing_is_known() -> None:
    world = World(abilities.NOTICES, abilities.BANDWIDTH, abilities.DECISIONS)
    world.news.tell(0.0)
    assert (world.listener.heard, world.looks) == ([], 0)


def test_a_device_hears_what_it_understands_alone() -> None:
    world = World(abilities.NOTICES)
    world.refusals.add("low busy")
    world.carries(50_000.0)
    world.economy.late()
    world.news.tell(0.0)
    assert [type(said) for said in world.listener.heard] == [m.Notice]


def test_a_refused_command_is_told_at_once_to_who_understands_it() -> None:
    world, older = World(abilities.REFUSALS), World(abilities.NOTICES)
    for one in (world, older):
        one.news.refused(3, "x" * 1000)
        one.news.refused(4, "")
    assert world.listener.heard == [m.Refused(3, "x" * m.MAX_REFUSAL)]
    assert older.listener.heard == []


def test_a_link_that_nobody_is_sure_of_is_not_told() -> None:
    world = World(abilities.BANDWIDTH)
    world.carries(50_000.0, confidence=0.1)
    world.news.tell(0.0)
    assert world.listener.heard == []
    world.carries(50_000.4)
    world.news.tell(0.1)
    assert world.listener.heard == [m.Carries(50_000, 90)]


def test_what_came_too_soon_is_told_at_a_later_look_for_which_it_asks() -> None:
    world = World(abilities.BANDWIDTH)
    world.carries(50_000.0)
    world.news.tell(0.0)
    world.carries(20_000.0)
    world.news.tell(0.1)
    assert (len(world.listener.heard), world.looks) == (1, 1)
    world.news.tell(1.0)
    assert world.listener.heard[1:] == [m.Carries(20_000, 90)]
    assert world.looks == 1


def test_that_others_use_the_line_is_told_when_it_changes_and_not_too_often() -> None:
    world, older = World(abilities.CONTENDED), World(abilities.AVAILABLE)
    for one in (world, older):
        one.news.tell(0.0)
        one.shared = True
        one.news.tell(0.5)
        one.news.tell(1.0)
        one.shared = False
        one.news.tell(2.4)
    assert world.listener.heard == [m.Contended(True)]
    assert world.looks == 1
    world.news.tell(2.5)
    assert world.listener.heard == [m.Contended(True), m.Contended(False)]
    assert (older.listener.heard, older.looks) == ([], 0)


def test_what_others_leave_is_told_to_who_understands_it() -> None:
    world, older = World(abilities.AVAILABLE), World(abilities.BANDWIDTH)
    for one in (world, older):
        one.available = BandwidthEstimate(30_000.4, 0.0, 1.0, "imtcp")
        one.news.tell(0.0)
    assert world.listener.heard == [m.Leaves(30_000, 100)]
    assert older.listener.heard == []
    world.available = BandwidthEstimate(10_000.0, 0.1, 0.5, "imtcp")
    world.news.tell(0.1)
    assert (len(world.listener.heard), world.looks) == (1, 1)
    world.news.tell(1.0)
    assert world.listener.heard[1:] == [m.Leaves(10_000, 50)]


def test_what_others_leave_is_told_again_after_a_while_though_it_is_the_same() -> None:
    world = World(abilities.AVAILABLE, abilities.BANDWIDTH)
    for now in (0.0, 29.0, 31.0, 32.0):
        world.available = BandwidthEstimate(30_000.0, now, 1.0, "imtcp")
        world.news.tell(now)
    assert world.listener.heard == [m.Leaves(30_000, 100)] * 2

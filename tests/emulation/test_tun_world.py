"""Tests of a world behind TUN devices, as far as it only tells its relay and counts."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from emulation.accuracy.accuracy import link
from emulation.worlds.cables import Cable
from emulation.worlds.hosts import Space
from emulation.worlds.netns import NoNamespaces
from emulation.worlds.tun_relay import Command, PathSettings, RelayAnswer, WayStatistics
from emulation.worlds.tun_world import TunRelayProcess, TunWorld

pytestmark = pytest.mark.alone

CABLES = [Cable("phone", "station", link(1e6)), Cable("station", "server", link(2e6))]
HOSTS = {
    "phone": Space("one", ["10.204.0.1"]),
    "station": Space("two", ["10.204.0.2", "10.204.1.1"]),
    "server": Space("three", ["10.204.1.2"]),
}
ANSWER = RelayAnswer(
    up=[
        WayStatistics(carried=10, dropped_packets=1, lost_packets=2, connections=1),
        WayStatistics(carried=20, backlog=7, peak_backlog=9),
    ],
    down=[
        WayStatistics(carried=100, connections=2, backlog=3, peak_backlog=5),
        WayStatistics(carried=200, dropped_packets=4, lost_packets=6),
    ],
    lateness=(0.001, 0.002, 0.003),
    realtime=False,
)


class Carrier:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Command] = []

    def ask(self, command: Command) -> RelayAnswer:
        self.told.append(command)
        return ANSWER


def world() -> tuple[TunWorld, Carrier]:
    carrier = Carrier()
    return TunWorld(HOSTS, CABLES, cast(TunRelayProcess, carrier)), carrier


def test_the_first_cable_s_ends_are_near_and_far_and_addresses_are_their_own() -> None:
    made, carrier = world()
    assert (made.near.name, made.far.name) == ("one", "two")
    assert asyncio.run(made.reach(("10.204.0.2", 80))) == ("10.204.0.2", 80)
    assert carrier.told == []


def test_rates_are_told_of_the_path_that_they_are_of() -> None:
    made, carrier = world()
    made.set_rate(up=5.0, path=1)
    made.set_rate(down=0.0)
    made.rewind()
    assert carrier.told == [Command(1, 5.0, None), Command(0, None, 0.0), Command(rewind=True)]


def test_counts_are_those_of_one_path_or_of_all() -> None:
    made, _ = world()
    first, second, both = made.statistics(0), made.statistics(1), made.statistics()
    assert (first.bytes_up, first.bytes_down, first.connections) == (10, 100, 3)
    assert (first.dropped_up, first.lost_up, first.queued_down) == (1, 2, 3)
    assert (second.dropped_down, second.lost_down, second.peak_queued_up) == (4, 6, 9)
    assert (both.bytes_up, both.bytes_down, both.connections) == (30, 300, 3)
    assert (both.queued_up, both.queued_down, both.peak_queued_down) == (7, 3, 5)
    assert first.lateness == both.lateness == (0.001, 0.002, 0.003)


def test_a_relay_without_its_namespaces_is_no_backend_and_says_why() -> None:
    nowhere = PathSettings("sluice-0-0-nowhere", "sluice-0-1-nowhere", "path0", link(1e6), 1)
    with pytest.raises(NoNamespaces, match=r"no TUN device can be had here: error .*nowhere"):
        TunRelayProcess([nowhere])

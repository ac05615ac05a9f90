"""Servers are taken for there as long as they were reached lately."""

from __future__ import annotations

from local_proxy.requests.reached_servers import LATELY, MOST, ReachedServers


def test_a_server_that_was_reached_is_there_for_a_while() -> None:
    servers = ReachedServers()
    assert not servers.lately("a.test", 443, now=0.0)
    servers.reached("A.test", 443, now=0.0)
    assert servers.lately("a.TEST", 443, now=LATELY - 1)
    assert not servers.lately("a.test", 443, now=LATELY)
    assert not servers.lately("b.test", 443, now=1.0)
    servers.reached("a.test", 443, now=LATELY)
    assert servers.lately("a.test", 443, now=LATELY + 1)


def test_one_that_is_lost_is_not() -> None:
    servers = ReachedServers()
    servers.reached("a.test", 443, now=0.0)
    servers.lost("A.test")
    servers.lost("a.test")
    assert not servers.lately("a.test", 443, now=1.0)


def test_other_ports_are_not_taken_for_open() -> None:
    servers = ReachedServers()
    servers.reached("a.test", 22, now=0.0)
    assert not servers.lately("a.test", 22, now=1.0)
    servers.reached("a.test", 443, now=0.0)
    assert not servers.lately("a.test", 22, now=1.0)


def test_only_so_many_are_remembered_the_latest() -> None:
    servers = ReachedServers()
    for number in range(MOST + 5):
        servers.reached(f"{number}.test", 443, now=float(number % 2))
    servers.reached("5.test", 443, now=2.0)
    servers.reached("new.test", 443, now=2.0)
    assert len(servers) == MOST
    assert servers.lately("5.test", 443, now=2.0)
    assert not servers.lately("6.test", 443, now=2.0)

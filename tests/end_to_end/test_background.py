"""Browsers fetch for themselves: recognised, one document of its own, behind every page."""

from __future__ import annotations

import asyncio

import pytest

from local_proxy.requests.browser_chatter import is_chatter
from policies.api import SessionOpened
from policies.api.commands import SetScheduler, SetWeight
from policies.builtin.default import Default
from policies.testing import replay
from remote_proxy.jobs.job import Job
from scheduling.tree import Tree
from tests.end_to_end.pair import all_three, run, until
from wire import messages as m
from wire.applications import Application
from wire.frames import MAX_COMPONENT
from wire.skeleton import Kind


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("update.googleapis.com", True),
        ("Firefox.Settings.Services.Mozilla.com.", True),
        ("r4---sn-4g5e6nsz.gvt1.com", True),
        ("www.googleapis.com", False),
        ("accounts.google.com", False),
        ("notgvt1.com", False),
        ("example.com", False),
        ("", False),
    ],
)
def test_only_hosts_that_no_page_needs_are_chatter(host: str, expected: bool) -> None:
    assert is_chatter(host) is expected


def test_chatter_has_a_document_that_no_component_can_open() -> None:
    assert m.BACKGROUND > MAX_COMPONENT
    request = m.Request(3, m.BACKGROUND, "GET", "http://update.googleapis.com/", b"")
    assert Job.requested(request, [], None).kind is Kind.OTHER
    page = m.Request(3, 3, "GET", "http://a.test/", b"")
    assert Job.requested(page, [], None).kind is None


def order_of_service(*, policy: bool) -> list[int]:
    """Documents in the order of their quanta: a page of 20 kB, chatter of 5 kB, both at once."""
    tree = Tree(quantum=500)
    if policy:
        for command in replay(Default(), [(0.0, SessionOpened())]).commands():
            if isinstance(command, SetScheduler):
                tree.set_scheduler(command.path, command.name, dict(command.params))
            elif isinstance(command, SetWeight):
                tree.set_weight(command.path, command.weight)
    chatter = tree.leaf(
        *(m.BACKGROUND, 3), kind="other", order=0, application=Application.BACKGROUND
    )
    picture = tree.leaf(1, 5, kind="image", order=0)
    tree.hierarchy.enqueue(chatter, 5_000)
    tree.hierarchy.enqueue(picture, 20_000)
    served = []
    while (grant := tree.multiplexer.next_quantum(0.0)) is not None:
        served.append(int(grant.leaf.parent.name) if grant.leaf.parent else 0)
    return served


def test_chatter_waits_for_pages_and_then_has_the_whole_link() -> None:
    fair, behind = order_of_service(policy=False), order_of_service(policy=True)
    assert fair[:20].count(m.BACKGROUND) == 10
    assert behind[:41].count(m.BACKGROUND) <= 1
    assert behind.count(m.BACKGROUND) == 10


def test_the_local_proxy_sets_it_apart() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            await both.connected()
            origin.serve("/", b"page", "text/plain")
            asked = asyncio.ensure_future(both.client.get("http://detectportal.firefox.com/x"))
            tunnel = asyncio.ensure_future(both.client.connect("update.googleapis.com:443"))
            deliveries = both.session.deliveries
            await until(lambda: deliveries.documents.get(m.BACKGROUND) == 2)
            await both.client.get(origin.base + "/")
            assert set(deliveries.documents) == {0, m.BACKGROUND}
            for task in (asked, tunnel):
                task.cancel()
            await asyncio.gather(asked, tunnel, return_exceptions=True)

    run(go())

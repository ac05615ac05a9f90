"""Downloads: told from what somebody looks at, and behind every page, also behind their own."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import local_proxy.link.session
from remote_proxy.jobs.delivery import LONG
from tests.end_to_end.pair import all_three, run, until
from wire import abilities
from wire import messages as m
from wire.applications import Application
from wire.origin_request import OriginRequest

TEXT = random.Random(3).randbytes(20 * LONG).hex().encode()
"""Of which coding can't make little."""
ATTACHED = [("content-disposition", 'attachment; filename="a"')]


def test_a_download_that_a_page_began_is_not_the_pages() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b"<title>page</title>")
            origin.serve("/a.csv", TEXT, "text/csv", headers=ATTACHED)
            page = origin.base + "/"
            assert (await both.browser.navigate(page)).status == 200
            tree = both.session.tree
            async with both.client.open(origin.base + "/a.csv", [("referer", page)]) as answer:
                first = len(await anext(answer.stream))
                node = tree.hierarchy.find(("other", str(m.UNATTRIBUTED)))
                assert node is not None
                await until(lambda: [leaf.kind for leaf in node.children.values()] == ["other"])
                rest = [len(chunk) async for chunk in answer.stream]
            assert first + sum(rest) == len(TEXT)

    run(go())


def test_a_device_that_knows_one_application_finds_downloads_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its policies weigh them there: a node of another application would have a page's share."""
    before = (abilities.NOTICES, abilities.DECISIONS, abilities.BANDWIDTH)
    monkeypatch.setattr(local_proxy.link.session, "ACCEPTS", before)
    as_now = OriginRequest.message

    def bare(request: OriginRequest, *args: Any) -> m.Request:
        return as_now(replace(request, application=Application.BROWSER), *args)

    monkeypatch.setattr(OriginRequest, "message", bare)

    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b"<title>page</title>")
            origin.serve("/a.csv", TEXT, "text/csv", headers=ATTACHED)
            page = origin.base + "/"
            assert (await both.browser.navigate(page)).status == 200
            tree = both.session.tree
            async with both.client.open(origin.base + "/a.csv", [("referer", page)]) as answer:
                await anext(answer.stream)
                node = tree.hierarchy.find(("browser", str(m.UNATTRIBUTED)))
                assert node is not None
                await until(lambda: [leaf.kind for leaf in node.children.values()] == ["other"])
                assert tree.hierarchy.find(("other", str(m.UNATTRIBUTED))) is None

    run(go())


def test_a_long_text_that_no_page_asked_for_lets_pictures_pass() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/a.log", TEXT, "text/plain")
            async with both.client.open(origin.base + "/a.log") as answer:
                first = len(await anext(answer.stream))
                tree = both.session.tree
                node = tree.hierarchy.find(("other", str(m.UNATTRIBUTED)))
                assert node is not None
                await until(lambda: [leaf.kind for leaf in node.children.values()] == ["other"])
                rest = [len(chunk) async for chunk in answer.stream]
            assert first + sum(rest) == len(TEXT)

    run(go())

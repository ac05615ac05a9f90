"""Sends what policies decide for a page that saves data ahead of its request, slow as they may be.

The remote fetches a page's parts as soon as it knows of them, so what comes later is too late.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from local_proxy.requests.ask import REACTION
from tests.end_to_end.pair import FakeOrigin, all_three, run, until

SLOW = f"""
import time

from policies.api import DocumentOpened
from policies.builtin.default import Default


class Slow(Default):
    name = "slow"

    def react(self, event, view):
        if isinstance(event, DocumentOpened):
            time.sleep({REACTION / 4})  # of a busy machine
        yield from super().react(event, view)
"""
HTML = (
    b"<!doctype html><style>@font-face { font-family: f; src: url(/f.woff2) }"
    b"body { font-family: f }</style><p>text"
)


def slow(folder: Path) -> list[str]:
    (folder / "slow.py").write_text(SLOW)
    return [f"{folder}/slow.py:Slow"]


def serve(origin: FakeOrigin) -> str:
    origin.serve("/", HTML)
    origin.serve("/f.woff2", bytes(5000), "font/woff2")
    return origin.base + "/"


def test_a_saver_has_no_fonts_even_if_policies_are_slow(tmp_path: Path) -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}, policy=slow(tmp_path)) as (origin, both):
            page = serve(origin)
            answer = await both.browser.navigate(page)
            assert answer.status == 200
            await until(lambda: bool(both.local.runtime.rules))
            await until(lambda: both.known(page).complete)
            asked = [*both.browser.part(page), ("sec-fetch-dest", "font")]
            assert (await both.client.get(page + "f.woff2", asked)).status == 403
            assert origin.counts()["/f.woff2"] == 0

    run(go())


def test_a_session_that_ends_meanwhile_is_waited_for_and_the_document_opened_again(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}, policy=slow(tmp_path), patience=30.0) as (
            origin,
            both,
        ):
            page = serve(origin)
            asking = asyncio.ensure_future(both.browser.navigate(page))
            await until(lambda: bool(both.local.documents))
            session = both.local.uplink.session
            assert session is not None
            session.close()
            answer = await asking
            assert answer.status == 200
            assert origin.counts()["/"] == 1
            assert len(both.local.documents) == 1
            assert both.local.uplink.session is not session

    run(go())


def test_who_asks_meanwhile_keeps_the_session(tmp_path: Path) -> None:
    """Requests go in the order of their numbers: one that overtook the page broke the protocol."""

    async def go() -> None:
        async with all_three(sites={"127.0.0.1": "saver"}, policy=slow(tmp_path)) as (origin, both):
            page = serve(origin)
            origin.serve("/other", b"other", "text/plain")
            session = both.local.uplink.session
            pages = [asyncio.ensure_future(both.browser.navigate(page))]
            await until(lambda: bool(both.local.documents))
            pages.append(asyncio.ensure_future(both.browser.navigate(f"{page}other")))
            others = [asyncio.ensure_future(both.client.get(f"{page}other")) for _ in range(3)]
            host, port = origin.address
            tunnel = asyncio.ensure_future(both.client.connect(f"{host}:{port}"))
            assert {(await answer).status for answer in pages} == {200}
            assert {(await answer).body for answer in others} == {b"other"}
            status, _, writer = await tunnel
            writer.close()
            assert status == 200
            assert both.local.uplink.session is session
            assert len(both.remote.sessions) == 1

    run(go())


def test_a_browser_that_leaves_meanwhile_leaves_no_document(tmp_path: Path) -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}, policy=slow(tmp_path)) as (origin, both):
            page = serve(origin)
            asking = asyncio.ensure_future(both.browser.navigate(page))
            await until(lambda: bool(both.local.documents))
            asking.cancel()
            await until(lambda: not both.local.documents)
            assert origin.counts()["/"] == 0
            await both.serves(origin)

    run(go())

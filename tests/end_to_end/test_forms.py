"""Forms in a real browser: the page that one leads to comes with its answer, a round trip sooner,
and its origin sees what it would see of the browser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.end_to_end.origin import Asked
from tests.end_to_end.pair import until
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_https_chromium import picture
from tests.end_to_end.test_moved_pages import DELAY, PAGE, World, in_chromium, world
from tests.end_to_end.test_standing_in import firefox, in_firefox

FORM = b"""<!doctype html><title>form</title><link rel=stylesheet href=/style.css>
<form method=post action="/taken"><input name=word value=yes></form>"""
SEND = "void setTimeout(() => document.forms[0].submit())"


def takes(at: World, to: str, *fields: tuple[str, str], page: bytes = FORM) -> list[bytes]:
    """A page with a form, which leads `to` another one; the bodies that were sent."""
    sent: list[bytes] = []

    async def handler(asked: Asked) -> None:
        if asked.method == "GET":
            await asked.answer(PAGE)
            return
        at.link.asked("/taken")
        sent.append(await asked.body())
        await asked.answer(status=303, headers=[("location", to), *fields])

    at.safe.serve("/form", page)
    at.safe.paths["/taken"] = handler
    return sent


async def opened(at: World) -> None:
    """The form is shown, with what it needs."""
    await at.tab.call("Page.navigate", url=at.safe.base + "/form")
    await becomes(at.tab, "document.title === 'form'")
    await becomes(at.tab, "getComputedStyle(document.body).color === 'rgb(1, 2, 3)'")


async def arrived(at: World) -> None:
    """So is the page that it leads to."""
    await becomes(at.tab, "document.title === 'there and sound'")
    await becomes(at.tab, "document.images[0].naturalWidth === 800")


@in_chromium
def test_the_page_that_a_form_leads_to_is_there_without_being_asked_for(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            sent = takes(at, "/shown#there", ("set-cookie", "id=7; path=/; httponly"))
            at.page("/shown")
            await opened(at)
            for turn in range(2):  # what the site's pages share is here the second time
                at.link.hold("/taken", "/shown")
                await at.tab.evaluate(SEND)
                await arrived(at)
                assert at.link.early == ["/shown"] * (turn + 1)
                assert await at.tab.evaluate("location.hash") == "#there"
                asked = at.of("/shown")[-1]
                assert (len(at.of("/shown")), len(sent)) == (turn + 1, turn + 1)
                assert (asked.method, asked.header("cookie")) == ("GET", "id=7")
                assert asked.header("referer") == at.safe.base + "/form"
                assert asked.header("sec-fetch-site") == "same-origin"
                assert not (asked.header("origin") or asked.header("content-type"))
                await opened(at)
            assert sent == [b"word=yes"] * 2
            assert len(at.of("/style.css")) == 1
            await until(lambda: len(at.both.local.documents) == 1)

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_a_form_may_lead_to_its_own_address(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            takes(at, "/taken")
            await opened(at)
            await at.tab.evaluate(SEND)
            await arrived(at)
            assert [one.method for one in at.of("/taken")] == ["POST", "GET"]
            assert await at.tab.evaluate("location.pathname") == "/taken"

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
@pytest.mark.parametrize("shown", [True, False])
def test_a_file_that_is_made_of_a_form_is_fetched_once(shown: bool, tmp_path: Path) -> None:
    """As it may be had but once."""

    async def go() -> None:
        async with world(tmp_path) as at:
            takes(at, "/report")
            there = [] if shown else [("content-disposition", "attachment; filename=report.txt")]
            body = b"a report of 2026\n" * 4000
            at.safe.serve("/report", body, "text/plain", headers=there)
            await at.tab.call("Browser.setDownloadBehavior", **_into(tmp_path))
            await opened(at)
            await at.tab.evaluate(SEND)
            if shown:
                await becomes(at.tab, f"document.body?.textContent.length === {len(body)}")
            else:
                file = tmp_path / "report.txt"
                await until(lambda: file.exists() and file.stat().st_size == len(body))
            await asyncio.sleep(2 * DELAY)
            assert len(at.of("/report")) == 1

    asyncio.run(asyncio.wait_for(go(), 60))


def _into(folder: Path) -> dict[str, str]:
    folder.chmod(0o777)
    return {"behavior": "allow", "downloadPath": str(folder)}


@in_chromium
def test_where_a_cookie_can_not_be_foretold_the_browser_asks(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            takes(at, "/shown", ("set-cookie", "id=7; path=/shown"))
            at.page("/shown")
            await opened(at)
            await at.tab.evaluate(SEND)
            await arrived(at)
            assert [one.header("cookie") for one in at.of("/shown")] == ["id=7"]
            assert at.link.at["/shown"] - at.link.at["/taken"] > 2 * DELAY

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_what_a_page_needs_that_answers_a_form_is_promised(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:

            async def taken(asked: Asked) -> None:
                at.link.asked("/taken")
                await asked.body()
                await asked.answer(PAGE)

            async def pictured(asked: Asked) -> None:
                at.link.asked("/picture.jpg")
                await asked.answer(picture(), "image/jpeg")

            at.safe.serve("/form", FORM)
            at.safe.paths |= {"/taken": taken, "/picture.jpg": pictured}
            await opened(at)
            at.link.hold("/taken", "/picture.jpg")
            await at.tab.evaluate(SEND)
            await arrived(at)
            assert at.link.early == ["/picture.jpg"]
            assert len(at.of("/picture.jpg")) == 1
            assert at.of("/picture.jpg")[0].header("referer") == at.safe.base + "/taken"

    asyncio.run(asyncio.wait_for(go(), 60))


@in_firefox
def test_in_firefox_too(tmp_path: Path) -> None:
    async def go() -> None:
        async with firefox(tmp_path) as (origin, both, tab):

            async def taken(asked: Asked) -> None:
                await asked.body()
                await asked.answer(status=303, headers=[("location", "/shown")])

            origin.serve("/form", FORM)
            origin.paths["/taken"] = taken
            origin.serve("/shown", b"<!doctype html><title>there</title><img src=/p.jpg>")
            origin.serve("/p.jpg", picture(), "image/jpeg")
            await tab.go(origin.base + "/form")
            await tab.evaluate(SEND)
            await becomes(tab, "document.images[0]?.naturalWidth === 800")
            assert await tab.evaluate("location.pathname") == "/shown"
            assert [origin.counts()[path] for path in ("/taken", "/shown", "/p.jpg")] == [1, 1, 1]
            assert both.local.promises.statistics().kept >= 2

    asyncio.run(asyncio.wait_for(go(), 60))

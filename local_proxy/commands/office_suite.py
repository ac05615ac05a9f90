"""LibreOffice for `sluice open`: what happens in the window, as lines for a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from functools import partial

from local_proxy.commands.open_document import OpenWith
from local_proxy.export_drivers.libreoffice.events import Event, EventKind
from local_proxy.export_drivers.libreoffice.find import NoOffice
from local_proxy.export_drivers.libreoffice.session import OfficeFailed
from local_proxy.export_drivers.libreoffice.show import show_coming
from office.source import Source

Say = Callable[[str], None]


def suite(say: Say) -> OpenWith | None:
    """What shows a document while it comes; None where there is no screen, which is said."""
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        say("no screen here: the document is only fetched")
        return None
    return partial(_open, say)


async def _open(say: Say, coming: asyncio.Future[Source | None], *, like: str) -> None:
    """Until the window is closed; where there is none, until the document is here."""

    def report(event: Event) -> None:
        if text := line(event):
            say(f"{event.at:6.1f} s  {text}")

    try:
        await show_coming(asyncio.shield(coming), like=like, on_event=report)
    except NoOffice as error:
        say(f"{error} The document is only fetched.")
        await _ended(coming)
    except OfficeFailed as error:
        say(f"sluice: {error} The document is only fetched now.")
        await _ended(coming)


async def _ended(coming: asyncio.Future[Source | None]) -> None:
    source = await coming
    if source is None:
        return
    changed = asyncio.Event()
    unwatch = source.watch(changed.set)
    try:
        while not source.complete and not source.failure:
            changed.clear()
            await changed.wait()
    finally:
        unwatch()


def line(event: Event) -> str:
    """What is worth telling; empty: nothing."""
    if event.kind is EventKind.OPENED:
        return "the first page can be read"
    if event.kind is EventKind.TEXT:
        return "all text can be read"
    if event.kind is EventKind.EDITABLE:
        return "and edited"
    if event.kind is EventKind.HELD:
        return f"{event.text.removeprefix('.uno:')} waits for the pictures"
    if event.kind is EventKind.COMPLETE:
        kept = f"; its original, as you have edited: {event.text}" if event.text else ""
        return f"the window shows the whole document{kept}"
    if event.kind in (EventKind.FAILED, EventKind.CLOSED):
        return event.text
    return ""

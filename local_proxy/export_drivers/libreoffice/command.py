"""LibreOffice for `sluice open`: what happens in the window, as lines for a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from local_proxy.export_drivers.libreoffice.events import Event, Kind
from local_proxy.export_drivers.libreoffice.find import NoOffice, Office, find
from local_proxy.export_drivers.libreoffice.session import OfficeFailed
from local_proxy.export_drivers.libreoffice.show import show
from office.source import Source

Say = Callable[[str], None]


def suite(say: Say) -> Callable[[Source], Awaitable[None]] | None:
    """What shows a document while it comes; None where nothing here can, which is said."""
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        say("no screen here: the document is only fetched")
        return None
    try:
        office = find()
    except NoOffice as error:
        say(f"{error} The document is only fetched.")
        return None
    return lambda source: _open(source, office, say)


async def _open(source: Source, office: Office, say: Say) -> None:
    """Until the window is closed; where it breaks down, until the document is here."""

    def report(event: Event) -> None:
        if text := line(event):
            say(f"{event.at:6.1f} s  {text}")

    try:
        await show(source, on_event=report, office=office)
    except OfficeFailed as error:
        say(f"sluice: {error} The document is only fetched now.")
        await _ended(source)


async def _ended(source: Source) -> None:
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
    if event.kind is Kind.OPENED:
        return "the first page can be read"
    if event.kind is Kind.TEXT:
        return "all text can be read"
    if event.kind is Kind.EDITABLE:
        return "and edited"
    if event.kind is Kind.HELD:
        return f"{event.text.removeprefix('.uno:')} waits for the pictures"
    if event.kind is Kind.COMPLETE:
        kept = f"; its original, as you have edited: {event.text}" if event.text else ""
        return f"the window shows the whole document{kept}"
    if event.kind in (Kind.FAILED, Kind.CLOSED):
        return event.text
    return ""

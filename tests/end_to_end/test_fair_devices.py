"""Nothing that one device has the remote do holds up another: each gets its share of the
workers."""

from __future__ import annotations

import asyncio
import io
import threading
from typing import Any

import pytest
from PIL import Image

from remote_proxy.jobs.economy import Economy
from tests.end_to_end.pair import all_three, run, until
from tests.end_to_end.test_device_limits import device
from tests.end_to_end.test_page_load import SITE, same_pixels
from transcoders.make import still
from transcoders.text import DENSE, TextEncoder

SCREEN = (SITE / "news" / "img" / "screen.png").read_bytes()
MANY = 80
"""Pictures of one page."""


def another(number: int) -> bytes:
    """The same pixels in other bytes: of the same ones nothing is made twice."""
    return SCREEN + str(number).encode()


def other_screen() -> bytes:
    file = io.BytesIO()
    Image.open(io.BytesIO(SCREEN)).transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(file, "PNG")
    return file.getvalue()


class Gate:
    """Lets work of one sort begin as often as it is told, in threads."""

    def __init__(self) -> None:
        self._permits = threading.Semaphore(0)
        self.begun = 0

    def open(self, times: int) -> None:
        self._permits.release(times)

    def pass_through(self) -> None:
        self.begun += 1
        if not self._permits.acquire(timeout=20):
            raise TimeoutError("nobody opened the gate")


def test_a_page_of_many_pictures_takes_no_coarse_version_from_another_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, version = Gate(), still.version

    def held(data: bytes, *args: Any, **settings: Any) -> Any:
        if data.startswith(SCREEN):
            gate.pass_through()
        return version(data, *args, **settings)

    monkeypatch.setattr("transcoders.make.still.version", held)
    own = other_screen()

    async def go() -> None:
        async with all_three() as (origin, both), device(both, "other") as other:
            names = [f"/{number}.png" for number in range(MANY)]
            for number, name in enumerate(names):
                origin.serve(name, another(number), "image/png")
            tags = "".join(f"<img src={name}>" for name in names)
            origin.serve("/many", f"<!doctype html>{tags}".encode())
            origin.serve("/own.png", own, "image/png")
            origin.serve("/one", b"<!doctype html><img src=/own.png>")
            transcoders = both.remote.transcoders
            try:
                await both.browser.navigate(origin.base + "/many")
                await until(lambda: transcoders.statistics().waiting == MANY - 2)
                page = origin.base + "/one"
                html = (await other.navigate(page)).body
                driver = html.split(b'<script src="')[1].split(b'"')[0].decode()
                assert (await other.script(origin.base + driver, page)).status == 200
                await until(lambda: transcoders.statistics().waiting == MANY - 1)
                asked = asyncio.ensure_future(other.image(origin.base + "/own.png", page))
                gate.open(1)
                shown = await asked
                assert not same_pixels(shown.body, own)  # its coarse version
                assert gate.begun <= 3  # one more of the page's had its turn at most
                assert transcoders.statistics().refused == {}
            finally:
                gate.open(MANY)

    run(go())


def test_texts_of_one_device_hold_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, encode = Gate(), TextEncoder.encode

    def held(self: TextEncoder, data: bytes, **settings: Any) -> bytes:
        if data.startswith(b"slow"):
            gate.pass_through()
        return encode(self, data, **settings)

    monkeypatch.setattr(TextEncoder, "encode", held)
    monkeypatch.setattr("remote_proxy.jobs.delivery.quality_for", lambda rate: DENSE)
    monkeypatch.setattr(Economy, "waits_for_coders", lambda *_, **named: True)

    async def go() -> None:
        async with all_three() as (origin, both), device(both, "other") as other:
            origin.serve("/slow", b"slow to code", "text/plain")
            origin.serve("/", b"fine", "text/plain")
            url = origin.base + "/slow"
            slow = [asyncio.ensure_future(both.client.get(f"{url}?{at}")) for at in range(12)]
            try:
                await until(lambda: len(origin.asked) == 12 and gate.begun >= 2)
                fine = asyncio.ensure_future(other.get(origin.base + "/"))
                # In line, too: else the one that is let go makes room for another slow one.
                await until(lambda: both.remote.services.coding.waiting == 11)
                gate.open(1)
                assert (await fine).body == b"fine"
                assert sum(task.done() for task in slow) <= 1
            finally:
                gate.open(len(slow))
            assert {one.body for one in await asyncio.gather(*slow)} == {b"slow to code"}

    run(go())


def test_what_is_refused_is_counted_by_reason_and_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcoders.make.makers.MAX_LOW", 4)
    gate, version = Gate(), still.version

    def held(data: bytes, *args: Any, **settings: Any) -> Any:
        gate.pass_through()
        return version(data, *args, **settings)

    monkeypatch.setattr("transcoders.make.still.version", held)

    async def go() -> None:
        async with all_three() as (origin, both):
            names = [f"/{number}.png" for number in range(9)]
            for number, name in enumerate(names):
                origin.serve(name, another(number), "image/png")
            tags = "".join(f"<img src={name}>" for name in names)
            origin.serve("/many", f"<!doctype html>{tags}".encode())
            try:
                await both.browser.navigate(origin.base + "/many")
                refused = {"low busy": 3}  # two are made, four wait
                await until(lambda: both.remote.transcoders.statistics().refused == refused)
                assert both.session.statistics().refused == refused
                assert both.remote.transcoders.refused("another") == {}
            finally:
                gate.open(len(names))
            said = "The remote proxy left out 3 coarse versions of pictures (too many were waiting)"
            await until(lambda: said in [p.text for p in both.local.overview.snapshot().problems])

    run(go())


def test_a_picture_that_is_refused_is_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcoders.make.makers.MAX_LOW", 0)
    monkeypatch.setattr("transcoders.make.makers.MAX_WAITING", 0)
    gate, version = Gate(), still.version

    def held(data: bytes, *args: Any, **settings: Any) -> Any:
        gate.pass_through()
        return version(data, *args, **settings)

    monkeypatch.setattr("transcoders.make.still.version", held)

    async def go() -> None:
        async with all_three() as (origin, both):
            names = [f"/{number}.png" for number in range(4)]
            for number, name in enumerate(names):
                origin.serve(name, another(number), "image/png")
            tags = "".join(f"<img src={name}>" for name in names)
            page = origin.base + "/many"
            origin.serve("/many", f"<!doctype html>{tags}".encode())
            try:
                await both.browser.navigate(page)
                await until(lambda: both.session.statistics().refused.get("low busy") == 2)
            finally:
                gate.open(len(names))
            answers = await asyncio.gather(
                *(both.browser.image(origin.base + name, page) for name in names)
            )
            assert {answer.status for answer in answers} == {200}

    run(go())

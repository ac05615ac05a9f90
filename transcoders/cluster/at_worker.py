"""Runs on a cluster's workers: one picture's form, made there with that machine's tools.

Called by name from elsewhere (cluster_makers.py), so both ends must be of one release.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from typing import TypeVar

from transcoders.make.low import Low
from transcoders.make.makers import Makers
from transcoders.picture import Picture, PictureOptions
from version import VERSION

T = TypeVar("T")


def release() -> str:
    """Which one this worker has."""
    return VERSION


def low(data: bytes, options: PictureOptions, max_pixels: int) -> Low | None:
    """Makers.low. Raises what that raises."""
    return _made(max_pixels, lambda makers: makers.low(data, options, ""))


def levels(begun: Low | None, data: bytes, options: PictureOptions, max_pixels: int) -> Picture:
    """Makers.levels. Raises what that raises."""
    return _made(max_pixels, lambda makers: makers.levels(begun, data, options, ""))


def recipe(data: bytes, picture: Picture, limit: float, max_pixels: int) -> bytes | None:
    """Makers.recipe. Raises what that raises."""
    return _made(max_pixels, lambda makers: makers.recipe(data, picture, "", limit))


def _made(max_pixels: int, work: Callable[[Makers], Awaitable[T]]) -> T:
    async def go() -> T:
        makers = Makers(workers=1, jpegtran=shutil.which("jpegtran"), max_pixels=max_pixels)
        try:
            return await work(makers)
        finally:
            await makers.close()

    return asyncio.run(go())

"""Has pictures made by a cluster's workers, and here while there is none.

Each owner has places of its own in line, as with our own workers. What is short and nobody waits
long for goes there too: this machine's processors are for texts and for the link.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from transcoders.cluster import at_worker
from transcoders.cluster.cluster import Cluster, ClusterLost, EndsWorkers
from transcoders.make.low import Low
from transcoders.make.makers import MAX_WAITING, Makers
from transcoders.picture import Picture, PictureOptions, Unfit
from transcoders.work.places import Places
from transcoders.work.workers import Busy

AT_ONCE: Final = 32
"""Jobs that the cluster has at a time: more would wait there, where none knows whose turn it is."""
T = TypeVar("T")


class ClusterMakers(Makers):
    """Makers whose work is done elsewhere, if it can be."""

    def __init__(
        self, cluster: Cluster, *, workers: int, jpegtran: str | None, max_pixels: int
    ) -> None:
        super().__init__(workers=workers, jpegtran=jpegtran, max_pixels=max_pixels)
        self._cluster = cluster
        self._pixels = max_pixels
        self._places = Places(AT_ONCE)

    async def low(self, data: bytes, options: PictureOptions, whose: str) -> Low | None:
        """As Makers does."""
        return await self._there(
            partial(self._cluster.run, at_worker.low, data, options, self._pixels),
            partial(super().low, data, options, whose),
            whose,
        )

    async def levels(
        self, low: Low | None, data: bytes, options: PictureOptions, whose: str
    ) -> Picture:
        """As Makers does."""
        return await self._there(
            partial(self._cluster.run, at_worker.levels, low, data, options, self._pixels),
            partial(super().levels, low, data, options, whose),
            whose,
        )

    async def recipe(self, data: bytes, picture: Picture, whose: str, limit: float) -> bytes | None:
        """As Makers does."""
        return await self._there(
            partial(self._cluster.run, at_worker.recipe, data, picture, limit, self._pixels),
            partial(super().recipe, data, picture, whose, limit),
            whose,
        )

    async def close(self) -> None:
        """As Makers does, and leave the cluster."""
        await super().close()
        await self._cluster.close()

    async def _there(
        self, there: Callable[[], Awaitable[T]], here: Callable[[], Awaitable[T]], whose: str
    ) -> T:
        """Have it done there; here, if there is nobody. Raises what it raises, and Busy."""
        if not self._cluster.there:
            self._cluster.lost += 1
            return await here()
        if self._places.locked() and self._places.waiting(whose) >= MAX_WAITING:
            raise Busy(f"{self._places.waiting(whose)} jobs are waiting")
        place = await self._places.acquire(whose)
        try:
            return await there()
        except ClusterLost:
            pass
        except EndsWorkers as error:
            raise Unfit(f"workers end of it: {error}") from error
        finally:
            place.release()
        return await here()

"""The services that deliveries share across devices, and that each needs of its session.

Knows origins, transcoders and sessions by their ports; not what is delivered, or how.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from hats.disciplines.catalogue import BUILT_IN, Catalogue
from remote_proxy.caching.answers import SharedAnswers
from remote_proxy.documents.packages import Packaging
from remote_proxy.jobs.device_texts import DeviceTexts, SessionTexts
from remote_proxy.jobs.economy import WORTH, Economy
from remote_proxy.jobs.held_pictures import Gathered
from remote_proxy.jobs.refusals import Refusals
from remote_proxy.jobs.rush import Rush
from remote_proxy.origin.client import ForwardedRequest, Origin, OriginResponse
from remote_proxy.origin.preflights import AskedPreflights
from remote_proxy.playing.playing import Playing
from remote_proxy.promises.plugged_drivers import PluggedDrivers
from remote_proxy.promises.promise import Promising
from remote_proxy.reach.limits import Devices
from scheduling.commands import Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from transcoders.make.registry import Transcoders
from transcoders.work.workers import Workers
from transport.sending.outbox import TreeOutbox
from wire import messages as m
from wire.fields import Headers

CODERS: Final = 2
"""Texts that are coded densely at a time, at 2.4 MB/s: as much as a dozen links take, each of which
carries 200 kB/s at most where it is worth while (transcoders/text.py)."""
READERS: Final = 2
"""Steps in reading office documents at a time: 10 ms to 1 s each."""


@dataclass(frozen=True, slots=True)
class Services:
    """What deliveries share, across devices. Threads of each sort of work are its own, and devices
    share them fairly (transcoders/work/workers.py): nothing runs in asyncio's, which know no
    turns."""

    origin: Origin
    transcoders: Transcoders
    devices: Devices = field(default_factory=Devices)
    coding: Workers = field(
        default_factory=lambda: Workers(workers=CODERS, waiting=None, name="texts")
    )
    """Codes texts densely. Who waits is a request, of which each device has so many."""
    rush: Rush = field(default_factory=Rush)
    """Lets texts go before pictures where the loop is late."""
    texts: DeviceTexts = field(default_factory=DeviceTexts)
    """What devices have been sent, for their next visits."""
    worth: float = WORTH
    """Seconds that a picture would be waited for, from which on it is adapted."""
    reading: Workers = field(
        default_factory=lambda: Workers(workers=READERS, waiting=None, name="documents")
    )
    """Reads office documents."""
    schedulers: Catalogue = BUILT_IN
    """Those that policies may install, plug-ins among them."""
    drivers: PluggedDrivers = field(default_factory=PluggedDrivers)
    """Import drivers of others."""
    answers: SharedAnswers | None = None
    """Origins' answers that devices share; None: each asks for itself."""

    _preflights: AskedPreflights = field(init=False)

    def __post_init__(self) -> None:
        asked = AskedPreflights((self.answers or self.origin).fetch)
        object.__setattr__(self, "_preflights", asked)

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        """The head of an answer, from its origin or kept. Raises OriginError."""
        return await self._preflights.fetch(forwarded)

    async def close(self) -> None:
        """End the work."""
        if self.answers is not None:
            await self.answers.close()
        await self.texts.close()
        await self.drivers.close()
        await self.rush.close()
        await self.transcoders.close()
        await self.coding.close()
        await self.reading.close()


class Sender(Protocol):
    """What a delivery needs of its session."""

    tree: Tree
    plan: Plan
    outbox: TreeOutbox
    obedience: Obedience
    promising: Promising
    packaging: Packaging
    gathered: Gathered
    refusals: Refusals
    economy: Economy
    texts: SessionTexts
    playing: Playing

    @property
    def rate(self) -> float | None:
        """Bytes/second of the link; None: not measured yet."""

    @property
    def expected(self) -> float | None:
        """Bytes/second to reckon with, measured now or before; None: nothing is known."""

    @property
    def queued(self) -> int:
        """Bytes that the link could take now."""

    @property
    def ahead(self) -> int:
        """Those, and of pictures that are being adapted."""

    @property
    def device(self) -> str:
        """Names the device."""

    def accepts(self, coding: str) -> bool: ...

    def say(self, message: m.Message, headers: Headers | None = None) -> None: ...
    def count(self, amount: int) -> None:
        """Bytes have passed. Raises OriginError where they are too many."""

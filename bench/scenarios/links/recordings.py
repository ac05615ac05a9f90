"""Records the frames of twenty page loads, both ways, in virtual time, as one digest each.

Two trees that should behave alike have the same digests: every byte of every frame, and when it
went. Pictures' levels are made by this machine's Pillow and jpegtran, so only recordings of one
machine compare.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, Final

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage, prepared
from bench.pairs.pair import Tap, memory_pair
from bench.scenarios.hats.data_overhead import pages
from emulation.lines.profiles import profile as named
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from transport.link.interface import Link
from wire.frames import Control, Data

LINKS: Final = ("56k", "384k", "1.6M", "20M")
_UP: Final = b"<"
_DOWN: Final = b">"


class Recorder(Tap):
    """A tap that takes the digest of all frames that pass it."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._digest = hashlib.sha256()
        self.frames = 0

    @property
    def digest(self) -> str:
        """The digest of all frames until now, in hexadecimal digits."""
        return self._digest.hexdigest()

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        frame = super().next_frame(now=now, urgent=urgent)
        if frame is not None:
            self._note(_UP, frame, now)
        return frame

    def frames_received(self, frames: Any, *, now: float) -> None:
        for frame in frames:
            self._note(_DOWN, frame, now)
        super().frames_received(frames, now=now)

    def _note(self, way: bytes, frame: Data | Control, now: float) -> None:
        self.frames += 1
        component, last = (frame.component, frame.last) if isinstance(frame, Data) else (-1, False)
        head = struct.pack("<cdq?I", way, now, component, last, len(frame.payload))
        self._digest.update(head)
        self._digest.update(frame.payload)


async def _load(one: SyntheticPage, made: Prepared, link: str) -> tuple[int, str]:
    known = named(link)
    model = LinkModel(rate_up=known.rate_up, rate_down=known.rate_down, delay=known.delay)
    services = Services(Shelf([one]), made)
    async with memory_pair(model, services, [Default()], tap=Recorder) as pair:
        await pair.complete(await pair.load(one.url))
        assert isinstance(pair.tap, Recorder)
        return pair.tap.frames, pair.tap.digest


def run(*, scale: float = 1.0) -> dict[str, Any]:
    """Every page over every link; `scale` as data_overhead.pages has it."""
    known = pages(scale=scale)
    made = prepared(list(known.values()))
    runs = []
    for name, one in known.items():
        for link in LINKS:
            frames, digest = run_virtually(_load(one, made, link))
            runs.append({"page": name, "link": link, "frames": frames, "sha256": digest})
            print(f"{name:<9}{link:<6}{frames:>6} frames  {digest[:16]}")
    return {"runs": runs}

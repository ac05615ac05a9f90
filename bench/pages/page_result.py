"""The result of one load of a page, and its form in a report. Pure.

Times are in seconds since navigation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.browsers.capture import Frame
from bench.browsers.visual import Moment, PictureState, painted_times, reached, since, speed_index
from bench.reports.har import Requests

PAINTED: Final = 0.001
"""Share of a page's pixels from which on a frame shows something; JPEG's noise is below it."""
MOST: Final = 0.9
"""Of the page's final pixels, in `pixels_90_s`."""


@dataclass(frozen=True, slots=True)
class PageLoad:
    """One measured load. Times in seconds since navigation; None: it did not happen."""

    peer: str
    page: str
    policy: str
    text_s: float | None
    load_s: float | None
    bytes_down: int
    bytes_up: int
    connections: int
    moments: Sequence[Moment]
    frames: Sequence[Frame]
    """With times since navigation; as many as moments."""
    late: str = ""
    """How late the emulated link was, where it was too late for the figures to be right."""
    said: Sequence[float | None] = ()
    """By picture: when the browser says that it was painted first; see bench/browsers/visual.py."""
    first_paint_s: float | None = None
    requests: Requests | None = None
    chatter: Mapping[str, Any] | None = None
    """The browser's own requests; None: not known."""

    @property
    def label(self) -> str:
        """Whose load it is, for people."""
        return marked(self.peer, self.late)

    def as_json(self) -> dict[str, Any]:
        """The run's form in a report."""
        painted = painted_times(self.moments, self.said)
        at = {
            "text_s": self.text_s,
            "first_paint_s": self.first_paint_s,
            "painted_s": _last(painted, self.moments),
            "good_s": reached(self.moments, PictureState.GOOD),
            "final_s": reached(self.moments, PictureState.FINAL),
            "load_s": self.load_s,
            "speed_index_s": speed_index(self.moments, begun=self.first_paint_s),
            "pixels_90_s": since(self.moments, lambda moment: moment.pixels >= MOST),
        }
        rounded = {name: None if value is None else round(value, 3) for name, value in at.items()}
        return {
            "peer": self.peer,
            "page": self.page,
            "policy": self.policy,
            **rounded,
            "bytes_down": self.bytes_down,
            "bytes_up": self.bytes_up,
            "connections": self.connections,
            "pictures_over_time": shares_over_time(self.moments, painted),
            **({} if self.chatter is None else {"chatter": dict(self.chatter)}),
            **({"late": self.late} if self.late else {}),
        }


def marked(peer: str, late: object) -> str:
    """A peer's name, with a mark where its link was late."""
    return f"{peer} (late)" if late else peer


def earliest_paint(said: float | None, moments: Sequence[Moment]) -> float | None:
    """Seconds until something was painted: the browser's word, unless a frame shows it before.

    Chromium without a display says so when it presents, 0.3 s behind its frames of a tall page.
    """
    seen = (moment.at for moment in moments if moment.pixels >= PAINTED)
    times = [time for time in (said, next(seen, None)) if time is not None]
    return min(times, default=None)


def _last(painted: Sequence[float | None], moments: Sequence[Moment]) -> float | None:
    """When the last picture was painted; where there are none, when the first frame was there."""
    if not painted:
        return reached(moments, PictureState.PAINTED)
    known = [at for at in painted if at is not None]
    return max(known) if len(known) == len(painted) else None


def shares_over_time(
    moments: Sequence[Moment], painted: Sequence[float | None]
) -> list[list[float]]:
    """Seconds, and the shares of the pictures painted, good, final; a row where one changes.

    `painted`: when each picture was.
    """
    known = [at for at in painted if at is not None]
    rows: list[list[float]] = []
    for at in sorted({*known, *(moment.at for moment in moments)}):
        there = sum(one <= at for one in known) / len(painted) if painted else 1.0
        now = next((one for one in reversed(moments) if one.at <= at), None)
        finer = [
            now.share(state) if now else 0.0 for state in (PictureState.GOOD, PictureState.FINAL)
        ]
        shares = [round(share, 3) for share in (there, *finer)]
        if not rows or rows[-1][1:] != shares:
            rows.append([round(at, 3), *shares])
    return rows

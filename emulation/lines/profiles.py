"""The emulated links that runs are named by: profiles.toml, or a trace. Pure but for reading files.

`FILE.toml:NAME` is one of a file of one's own. `trace:PATH` is a link whose rate follows a file
both ways, `trace:DOWN,UP` one that has a file for each; emulation/lines/traces.py reads them.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from emulation.lines import traces
from emulation.lines.flight import Disturbances
from emulation.lines.impairments import Impairments
from emulation.lines.schedule import Schedule, Steady, interrupted

PATH: Final = Path(__file__).parents[1] / "profiles.toml"
TRACES: Final = PATH.with_name("traces")
"""Recorded bandwidth, by the names that profiles have."""


TRACE: Final = "trace:"
"""What a profile's name begins with that is a trace's path."""
_OWN: Final = ".toml:"
"""Between a file of one's own and the name of one of its profiles."""
_BDP: Final = "BDP"


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One emulated link. Seconds, bytes, bytes/second."""

    name: str
    about: str
    rate_down: float = 0.0
    """Bytes/second towards the browser; of a trace the mean."""
    rate_up: float = 0.0
    """Bytes/second from it."""
    delay: float = 0.0
    """Seconds one way."""
    queue: int = 65_536
    """Bytes the droptail queue towards the browser holds."""
    queue_up: int = 0
    """The same from it; 0: as many."""
    jitter: float = 0.0
    """Seconds, loss as a share and outages: emulation/lines/impairments.py and flight.py."""
    jitter_step: float = 0.0
    loss: float = 0.0
    loss_run: float = 1.0
    reorder: float = 0.0
    reorder_delay: float = 0.0
    duplicate: float = 0.0
    outage_every: float = 0.0
    outage: float = 0.0
    mtu: int = 1500
    """Bytes of the largest IP packet."""
    trace_down: str = ""
    """Path of the file that the rate follows."""
    trace_up: str = ""

    @property
    def changes(self) -> bool:
        """Whether its rate does, over time."""
        return bool(self.trace_down or self.trace_up or self.outage_every)

    def impairments(self, *, seed: int = 1) -> Impairments:
        """What goes wrong on it behind whoever terminates TCP, by the chances of this seed."""
        return Impairments(self.jitter, self.loss, self.outage_every, self.outage, seed)

    def disturbances(self) -> Disturbances:
        """What goes wrong with its packets."""
        return Disturbances(
            jitter=self.jitter,
            jitter_step=self.jitter_step,
            loss=self.loss,
            loss_run=self.loss_run,
            reorder=self.reorder,
            reorder_delay=self.reorder_delay,
            duplicate=self.duplicate,
        )

    def schedule(self, *, down: bool, epoch: float) -> Schedule:
        """Its rate from `epoch` on. Raises OSError, TraceError."""
        path, rate = (self.trace_down, self.rate_down) if down else (self.trace_up, self.rate_up)
        if path:
            return traces.read(Path(path)).from_epoch(epoch)
        if self.outage_every:
            steps = interrupted(rate, every=self.outage_every, outage=self.outage)
            return steps.from_epoch(epoch)
        return Steady(rate)


def profiles(path: Path = PATH) -> dict[str, Profile]:
    """All profiles by name. Raises ValueError naming the file when one is malformed."""
    try:
        table = tomllib.loads(path.read_text())
        return {name: _profile(name, row, path.parent) for name, row in table.items()}
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def profile(name: str) -> Profile:
    """One profile. Raises ValueError that lists the names there are, OSError for a file."""
    if name.startswith(TRACE):
        down, _, up = name.removeprefix(TRACE).partition(",")
        row = {"about": "a trace", "trace_down": down, "trace_up": up or down, **_OF_TRACES}
        return _profile(name, row, Path())
    file, own, one = name.rpartition(_OWN)
    known = profiles(Path(file + _OWN[:-1])) if own else profiles()
    if one not in known:
        more = f"{TRACE}PATH, FILE{_OWN}NAME"
        raise ValueError(f"no profile {one!r}; there are {', '.join(known)}, {more}")
    return known[one]


_OF_TRACES: Final = {"delay": 0.04}
"""Seconds one way: a trace has no delay of its own."""


def _profile(name: str, row: dict[str, Any], folder: Path) -> Profile:
    """A row of the file: paths are relative to it, and a queue may be in BDP. Raises ValueError."""
    row = dict(row)
    queue = row.pop("queue", 65_536)
    for way in ("down", "up"):
        if path := row.get(f"trace_{way}"):
            row[f"trace_{way}"] = str((folder / path).resolve())
            row[f"rate_{way}"] = traces.read(folder / path).mean
    made = msgspec.convert({"name": name, **row}, Profile)
    _check(made)
    if isinstance(queue, str):
        sizes = {"queue": made.rate_down, "queue_up": made.rate_up}
        queues = {key: _product(queue, made, rate) for key, rate in sizes.items()}
    else:
        queues = {"queue": queue}
    return msgspec.convert(msgspec.to_builtins(made) | queues, Profile)


def _product(queue: str, made: Profile, rate: float) -> int:
    """Bytes of "N BDP" at a rate: two packets at least. Raises ValueError."""
    count, _, unit = queue.partition(" ")
    if unit != _BDP or not count.replace(".", "", 1).isdigit():
        raise ValueError(f'{made.name}: a queue is a number of bytes or "1.5 {_BDP}"')
    return max(2 * made.mtu, round(float(count) * rate * 2 * made.delay))


def _check(made: Profile) -> None:
    """Raises ValueError for what no link can be."""
    if min(made.rate_down, made.rate_up) <= 0 or made.delay < 0:
        raise ValueError(f"{made.name}: rates are above 0, the delay is not below")
    if not 0 < made.mtu <= 65_535 or made.mtu < _SMALLEST_MTU:
        raise ValueError(f"{made.name}: an MTU is {_SMALLEST_MTU} to 65535 bytes")
    if (made.trace_down or made.trace_up) and made.outage_every:
        raise ValueError(f"{made.name}: a trace has its own outages")
    if made.outage_every and not 0 < made.outage < made.outage_every:
        raise ValueError(f"{made.name}: an outage is shorter than the time between two")
    made.disturbances()  # has limits of its own


_SMALLEST_MTU: Final = 576
"""RFC 791: every host takes packets of so many bytes."""

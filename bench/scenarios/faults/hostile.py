"""Attacks from every side on a running pair, beside a person who reads.

Strangers, a paired device, a page, an origin and the machine's other users try at once and all the
time. Meanwhile the same page is loaded in Chromium every ten seconds, each time under an address of
its own so that nothing of it is held; before, it was loaded in peace as often as the median needs.

Knows a browser, processes and the attacks; knows nothing of what keeps them out.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.attacks.crowd import attacking
from bench.origins.endpoint import PageAccess
from bench.origins.site import Address, spawn
from bench.origins.visits import visits
from bench.pages.page_load import PageStudy, load, study
from bench.pairs.peers import command, relay
from bench.pairs.processes import text
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import profile
from pairing.invitation import Invitation
from pairing.kept import keep
from pairing.store import PairingStore

MOST_SLOWER: Final = 2.0
"""Times its median in peace that a load may take."""
LINK: Final = "1.6M"
EVERY: Final = 10.0
"""Seconds from one load's beginning to the next one's."""
WATCHED: Final = 5.0
"""Seconds for which a load is looked at: beside attacks a link is never quiet, and all that is
measured comes in the first of them."""
MEASURES: Final = ("text_s", "painted_s")


async def run(
    *, seconds: float = 600.0, quiet_loads: int = 7, profile_name: str = LINK
) -> dict[str, Any]:
    """The scenario. `seconds` of attacks; `quiet_loads` before them."""
    link = profile(profile_name)
    rows: list[dict[str, Any]] = []
    count = quiet_loads + int(seconds / EVERY) + 2
    with visits(SITE / "news", count) as folder:
        async with (
            spawn(folder) as site,
            _pair(link_of=link) as (attacked, through),
        ):
            base = f"http://{text(site)}/"
            known = await study(PageAccess(base, through.statistics), "0/index.html")
            reader = _Reader(replace(through, base=base), known)
            for _ in range(quiet_loads):
                rows.append(await reader.load("in peace"))
            hostile = attacked.hostile
            async with attacking(attacked.addresses, seed=hostile.seed, pin=hostile.pin) as attacks:
                clock = asyncio.get_running_loop().time
                end = clock() + seconds
                while clock() < end:
                    began = clock()
                    rows.append(await reader.load("under attack"))
                    await asyncio.sleep(max(0.0, began + EVERY - clock()))
    for row in attacks:
        tried = f"{row['tries']:>8} tries, {row['through']} through"
        print(f"{row['attack']:<36}{tried}", row.get("left_out", ""))
    return {"runs": [*rows, *attacks], "checks": _checks(rows, attacks)}


@dataclass(frozen=True, slots=True)
class _Attacked:
    """Where the attacks go, and the device that has turned hostile."""

    addresses: Mapping[str, Address]
    hostile: Invitation


class _Reader:
    """A person who loads the page now and then, each time as if it were new."""

    def __init__(self, endpoint: PageAccess, known: PageStudy) -> None:
        self._endpoint = endpoint
        self._known = known
        self._visits = 0

    async def load(self, when: str) -> dict[str, Any]:
        self._visits += 1
        known = replace(self._known, page=f"{self._visits}/index.html")
        row = (await load(self._endpoint, known, peer="sluice", limit=WATCHED)).as_json()
        row |= {"page": "news", "when": when}
        print(f"{when:<14}", "  ".join(f"{name} {row[name]}" for name in MEASURES))
        return row


def _checks(
    rows: Sequence[dict[str, Any]], attacks: Sequence[Mapping[str, Any]]
) -> dict[str, Check]:
    checks = {
        f"{row['attack']}: through": Check(
            row["through"],
            f"of {row['tries']}",
            "0",
            row["through"] == 0 and (row["tries"] > 0 or "left_out" in row),
        )
        for row in attacks
    }
    for name in MEASURES:
        peace, attacked = _times(rows, "in peace", name), _times(rows, "under attack", name)
        ratio = round(max(attacked) / statistics.median(peace), 2) if peace and attacked else None
        checks[f"{name}: the slowest load under attack"] = Check(
            ratio,
            "times the median in peace",
            f"at most {MOST_SLOWER:g}",
            ratio is not None and ratio <= MOST_SLOWER,
        )
    return checks


def _times(rows: Sequence[dict[str, Any]], when: str, name: str) -> list[float]:
    """Seconds; infinite where it did not happen."""
    found = [row[name] for row in rows if row["when"] == when]
    return [float("inf") if value is None else value for value in found]


@contextlib.asynccontextmanager
async def _pair(*, link_of: Any) -> AsyncIterator[tuple[_Attacked, PageAccess]]:
    """A remote with two paired devices: the reader's behind the link, and the hostile one."""
    with TemporaryDirectory(prefix="sluice-hostile-") as name:
        there, here, hostile = (Path(name, part) for part in ("remote", "local", "hostile"))
        store = PairingStore(there)
        keep(here, store.pair("reader", host="127.0.0.1", port=1))
        invitation = store.pair("hostile", host="127.0.0.1", port=1)
        keep(hostile, invitation)
        listen = ("--listen", "127.0.0.1:0")

        async with (
            command("remote", *listen, "--allow", "127.0.0.1", "--state", str(there)) as remote,
            relay(remote, link_of) as between,
            command(
                *("local", *listen, "--state", str(here)),
                *("--remote", text(between.address)),
            ) as local,
            command(
                *("local", *listen, "--state", str(hostile), "--remote", text(remote)),
                elsewhere=True,
            ) as other,
        ):
            addresses = {"remote": remote, "local": local, "hostile_local": other}
            reader = PageAccess("", between.statistics, proxy=f"http://{text(local)}")
            yield _Attacked(addresses, invitation), reader

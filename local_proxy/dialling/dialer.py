"""Makes the links to the remote proxy, and tries others of several that are one.

Knows settings and transports; not what the link carries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from local_proxy.dialling import which_remote
from local_proxy.dialling.endpoints import Endpoints
from local_proxy.dialling.ways import Ways
from local_proxy.dialling.which_remote import Remote
from pairing.invitation import format_address
from transport.link.interface import Link, LinkError
from transport.paths.interfaces import Change
from transport.paths.terms import BACKGROUND, USUAL, all_terms
from transport.stream.dialling_end import LastingLink

_OF_TCP: Final = ""
"""TCP's own congestion control, where the link is to give way: the gate sees to that."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A link to another remote, on which nothing has been said yet."""

    link: Link
    address: str
    """host:port."""
    round_trip: float
    """Seconds."""
    lasting: LastingLink
    ways: Ways

    def close(self) -> None:
        """It is not taken."""
        self.link.close()


class Dialer:
    """Makes one link after the other; each lasts from connection to connection."""

    def __init__(
        self,
        settings: which_remote.PairingSettings,
        remote: Remote,
        *,
        congestion: str,
        patience: float,
        on_change: Callable[[LinkError | None], None],
        expecting: Callable[[], bool],
    ) -> None:
        """`congestion`: of TCP, or BACKGROUND: of whatever carries it.

        `patience`: seconds that a link waits for a new connection; `on_change`: it lost
        its connection, and why; None: it has another. `expecting`: bytes should be coming."""
        self._settings = settings
        background = congestion == BACKGROUND
        self.terms = all_terms(
            *(settings.roles, settings.budgets, settings.path_congestion),
            usual=BACKGROUND if background else USUAL,
        )
        """Of the interfaces; their budgets count what crosses."""
        self._remote = remote
        self._ways = self._ways_by(Endpoints.of(remote.address))
        self._congestion = _OF_TCP if background else congestion
        self._patience = patience
        self._on_change = on_change
        self._expecting = expecting
        self._lasting: LastingLink | None = None

    async def dial(self) -> Link:
        """A link. Raises LinkError where there is none."""
        self._lasting = self._lasting_by(self._ways)
        return await self._lasting.open()

    def turned_away(self) -> None:
        """The remote that was dialled last has let no session begin: others are to be first."""
        self._ways.endpoints.turned_away()

    # -- others ----------------------------------------------------------------------------------

    @property
    def elsewhere(self) -> list[tuple[str, int]]:
        """Where else a remote is that would do, on other hosts."""
        return self._ways.endpoints.elsewhere

    async def trial(self, address: tuple[str, int]) -> Trial:
        """A link to that one, beside the one that there is. Raises LinkError."""
        ways = self._ways_by(self._ways.endpoints.beginning_with(address))
        lasting = self._lasting_by(ways)
        link = await lasting.open()
        if ways.endpoints.first != address:
            link.close()
            raise LinkError(f"{format_address(*address)} did not answer, another one did")
        return Trial(link, format_address(*address), lasting.round_trip, lasting, ways)

    def take(self, trial: Trial) -> None:
        """Use that link from now on; its remote is dialled first."""
        self._lasting, self._ways = trial.lasting, trial.ways

    # -- what is known -----------------------------------------------------------------------------

    def network_changed(self, change: Change) -> None:
        """Addresses of this device came or went."""
        if self._lasting is not None:
            self._lasting.network_changed(change.gone)

    def why_not_udp(self) -> str:
        """For people; empty where it is not wanted, or works."""
        return self._ways.preferring.why_not if self._ways.preferring is not None else ""

    @property
    def address(self) -> str:
        """The remote's, host:port, as it is used now."""
        return format_address(*self._ways.endpoints.first)

    # -- within ------------------------------------------------------------------------------------

    def _ways_by(self, endpoints: Endpoints) -> Ways:
        return Ways(self._settings, self._remote, endpoints, self.terms)

    def _lasting_by(self, ways: Ways) -> LastingLink:
        return LastingLink(
            ways.dial,
            congestion=self._congestion,
            patience=self._patience,
            on_change=self._on_change,
            better=ways.preferring,
            expecting=self._expecting,
        )

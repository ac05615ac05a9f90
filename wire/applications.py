"""Names the applications of a device, among which its bandwidth is shared first (HATS, 3.2.1).

The device knows who asked and says it in each request; the remote proxy has a node for each below
the root of the device's tree. Must not know: schedulers, policies, what a program is.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

TUNNELS: Final = "tunnels"
"""The node of all tunnels: together they share the link with each application."""


class Application(IntEnum):
    """Whose request it is: a byte on the link."""

    BROWSER = 0
    """Pages, what they load, and previews of office documents."""
    OFFICE = 1
    """Documents that an office program or `sluice open` asks for."""
    BACKGROUND = 2
    """What browsers fetch for themselves."""
    OTHER = 3
    """Downloads and plain clients: whatever no page is known to have asked for."""

    @property
    def node(self) -> str:
        """Names its node below the root, as policies do."""
        return self.name.lower()


NODES: Final = (*(application.node for application in Application), TUNNELS)
"""All nodes that stand below the root."""

"""An emulated network, whatever emulates it.

    async with emulate(profile("384k")) as world:
        server = ... listens at world.far.address ...
        where = await world.reach(server)       the address at which the near side connects to it
        world.near.command("curl", ...)         what runs a program there
        world.statistics().bytes_down

Backends: `tun` carries the packets of the kernels of network namespaces (root), `netem` has the
kernel of such namespaces do it (where it can), `relay` terminates TCP on this machine (no root),
`memory` is for virtual time and has no sockets. `auto` is tun where it can be made, else relay.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from emulation.lines.profiles import Profile
from emulation.memory import memory_world
from emulation.relay import relay_world
from emulation.worlds import netem_world, tun_world
from emulation.worlds.cables import FAR, NEAR, Cable, NoBackend, World

AUTO: Final = "auto"
BACKENDS: Final[dict[str, Callable[..., AbstractAsyncContextManager[World]]]] = {
    "tun": tun_world.opened,
    "relay": relay_world.opened,
    "netem": netem_world.opened,
    "memory": memory_world.opened,
}


@asynccontextmanager
async def emulate(*profiles: Profile, backend: str = AUTO, seed: int = 1) -> AsyncIterator[World]:
    """Two hosts, `near` and `far`, and a path for each profile. "up" is from near to far.

    Raises NoBackend, an OSError that says what is missing; ValueError for an unknown backend, or
    for a profile that the backend can't follow.
    """
    cables = [Cable(NEAR, FAR, one) for one in profiles]
    async with joined(cables, backend=backend, seed=seed) as world:
        yield world


@asynccontextmanager
async def joined(
    cables: Sequence[Cable], *, backend: str = AUTO, seed: int = 1
) -> AsyncIterator[World]:
    """Any hosts, joined by these; the first cable's ends are the world's near and far."""
    if not cables:
        raise ValueError("a world has a path at least")
    if backend != AUTO and backend not in BACKENDS:
        raise ValueError(f"no backend {backend!r}; there are {AUTO}, {', '.join(BACKENDS)}")
    async with AsyncExitStack() as stack:
        try:
            made = BACKENDS["tun" if backend == AUTO else backend](cables, seed=seed)
            world = await stack.enter_async_context(made)
        except NoBackend:
            if backend != AUTO:
                raise
            world = await stack.enter_async_context(relay_world.opened(cables, seed=seed))
        yield world

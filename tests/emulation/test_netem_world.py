"""Tests of the kernel's own emulator, where it has one, and of what stands in for it where not."""

from __future__ import annotations

import pytest

from emulation.accuracy.accuracy import altered, link
from emulation.lines.profiles import Profile, profile
from emulation.worlds import netem_world
from emulation.worlds.cables import NoBackend, WorldStatistics
from emulation.worlds.namespaces import NoNamespaces, namespace
from emulation.worlds.netem_world import netem, probe
from emulation.worlds.world import emulate
from tests.emulation.transfers import transfer
from tests.watched import run

pytestmark = pytest.mark.alone


def test_netem_gets_a_profile_in_its_own_words() -> None:
    one = Profile("x", "", rate_down=125_000, rate_up=25_000, delay=0.1, queue=30_000, loss=0.02)
    assert netem(one, down=True) == "netem limit 29 delay 100000us loss 2.0000% rate 1000000bit -14"
    wandering = altered(one, jitter=0.02, loss_run=4.0, queue_up=3_000)
    assert netem(wandering, down=False) == (
        "netem limit 4 delay 110000us 10000us loss gemodel 0.5102% 25.0000% rate 200000bit -14"
    )
    for bad in ("lossy", "wlan", "polar-storm"):
        with pytest.raises(NoBackend, match=f"{bad}: netem has no"):
            netem(profile(bad), down=True)


@pytest.fixture
def spaces() -> None:
    """Skips, with the reason, where no namespaces can be made."""
    try:
        with namespace():
            pass
    except NoNamespaces as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("spaces")
def test_netem_is_used_where_the_kernel_has_it_and_the_reason_given_where_not() -> None:
    async def go() -> float:
        async with emulate(link(4e6, queue=65_536), backend="netem") as world:
            return await transfer(world, 200_000)

    if reason := probe():
        assert "netem" in reason
        with pytest.raises(NoBackend, match="netem"):
            run(go())
    else:
        assert run(go()) >= 0.4


@pytest.mark.usefixtures("spaces")
def test_a_router_joins_hosts_whatever_shapes_its_interfaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A token bucket in place of netem, which few kernels lack: the same cables and counts.
    bucket = "tbf rate 4mbit burst 3000 limit 65536"
    monkeypatch.setattr(netem_world, "netem", lambda *_, **__: bucket)
    monkeypatch.setattr(netem_world, "probe", lambda: "")

    async def go() -> tuple[float, WorldStatistics]:
        async with emulate(link(4e6), link(4e6), backend="netem") as world:
            took = await transfer(world, 200_000, address=world.far.addresses[1])
            return took, world.statistics(1)

    took, counted = run(go())
    assert took >= 0.3
    assert counted.bytes_down > 200_000

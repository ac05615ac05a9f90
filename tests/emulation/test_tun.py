"""Tests of TUN devices: a namespace's packets as reads of a descriptor, with which they go."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.worlds.netns import inside, ip
from emulation.worlds.tun import DEVICE, open_tun
from tests.emulation.spaces import new_space

pytestmark = pytest.mark.alone


@contextlib.contextmanager
def device(*, mtu: int) -> Iterator[tuple[str, int]]:
    """A namespace with a device, and the descriptor of that."""
    if not os.path.exists(DEVICE):
        pytest.skip(f"there is no {DEVICE} here")
    with new_space() as name:
        try:
            descriptor = inside(name, lambda: open_tun("path0", mtu=mtu))
        except OSError as error:
            pytest.skip(str(error))
        try:
            yield name, descriptor
        finally:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def names(space: str) -> list[str]:
    return [name for _, name in inside(space, socket.if_nameindex)]


def test_a_device_is_where_its_maker_was_and_as_large_as_it_was_told() -> None:
    with device(mtu=900) as (space, descriptor):
        (found,) = json.loads(ip("-n", space, "-j", "link", "show", "path0"))
        assert found["mtu"] == 900
        assert found["txqlen"] >= 1000  # a late reader loses nothing
        assert "UP" not in found["flags"]
        assert not os.get_blocking(descriptor)
        assert not os.get_inheritable(descriptor)
        assert "path0" not in [name for _, name in socket.if_nameindex()]


def test_a_device_goes_with_its_descriptor() -> None:
    with device(mtu=1500) as (space, descriptor):
        assert "path0" in names(space)
        os.close(descriptor)
        assert "path0" not in names(space)


def test_what_is_sent_there_is_read_as_bare_ip_packets_no_larger_than_the_device() -> None:
    with device(mtu=576) as (space, descriptor):
        ip("-n", space, "address", "add", "10.9.9.1/30", "dev", "path0")
        ip("-n", space, "link", "set", "path0", "up")
        with inside(space, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            sender.sendto(b"x" * 1000, ("10.9.9.2", 9))
        packets: list[bytes] = []
        while len(packets) < 2:
            assert select.select([descriptor], (), (), 10.0)[0]
            packet = os.read(descriptor, 65_536)
            if packet[0] >> 4 == 4:  # the kernel greets its IPv6 neighbours
                packets.append(packet)
        assert [len(one) <= 576 for one in packets] == [True, True]
        assert sum(len(one) - 20 for one in packets) == 1000 + 8
        assert all(one[16:20] == bytes((10, 9, 9, 2)) for one in packets)


def test_a_name_that_is_taken_is_an_error_and_leaves_no_descriptor() -> None:
    with device(mtu=1500) as (space, _):

        def again() -> None:
            with pytest.raises(OSError, match="busy"):
                open_tun("path0", mtu=1500)

        before = open_devices()
        inside(space, again)
        assert open_devices() == before >= 1


def open_devices() -> int:
    """Descriptors of this process that are TUN devices."""
    count = 0
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the folder's own is gone by now
            count += os.readlink(one) == DEVICE
    return count

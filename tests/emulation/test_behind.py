"""Addresses of links that are made behind each other."""

from __future__ import annotations

import pytest

from emulation.worlds.behind import ALL, free_block
from emulation.worlds.netns import NoNamespaces


def test_links_beside_and_behind_each_other_have_addresses_of_their_own() -> None:
    first = free_block(ALL, ["192.0.2.1"])
    second = free_block(ALL, ["192.0.2.1", str(first[2])])
    assert not first.overlaps(second)
    near = [str(first[1])]
    inner = free_block(str(first), near)
    assert inner.subnet_of(first)
    assert first[1] not in inner
    innermost = free_block(str(inner), [str(inner[1])])
    assert innermost.subnet_of(inner)
    assert innermost.num_addresses >= 4


def test_there_is_an_end_to_addresses() -> None:
    with pytest.raises(NoNamespaces, match="no addresses are left"):
        free_block("10.205.0.16/28", [])
    full = [f"10.205.{16 * n}.1" for n in range(16)]
    assert str(free_block(ALL, full[:-1])) == "10.205.240.0/20"
    with pytest.raises(NoNamespaces, match="no addresses are left"):
        free_block(ALL, full)

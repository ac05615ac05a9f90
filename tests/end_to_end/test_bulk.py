"""Large transfers whose reader rests, through both proxies as processes."""

import asyncio

import pytest

from bench.scenarios.faults.bulk import MOST_GROWTH, transfer


@pytest.mark.parametrize("kind", ["download", "chunked upload"])
def test_neither_proxy_holds_what_its_reader_does_not_take(kind: str) -> None:
    size = 40_000_000
    row = asyncio.run(transfer(kind, size))
    assert row["right"]
    assert max(row["local_growth_mib"], row["remote_growth_mib"]) < MOST_GROWTH < size / 2**20

"""Drivers report: whole, cut, and hostile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.http.model import Request
from local_proxy.tracking_drivers.browser import parse_beacon
from tests.local_proxy.export_world import (
    World,
    run,
    stream,
)


def test_beacons() -> None:
    async def main() -> None:
        world = World()
        driver = await world.page()
        url = "http://a.test/.well-known/sluice/beacon"

        async def send(*chunks: bytes) -> int:
            said = stream(driver.key[:5].encode(), f"{driver.key[5:]}\n".encode(), *chunks)
            response = await world.export.own(Request("POST", url, [], body=said))
            assert response is not None
            return response.status

        assert await send(b'{"v":true,"f":fal', b'se,"p":"http://a/x"}') == 204
        assert await send(b'{"p":"","i":["u"],"l":{"u":[3,4]},"m":true,"t":"News","c":true}') == 204
        assert await send(b"x" * 70000) == 400
        assert world.tracker.heard == [
            ("visible", 1, True),
            ("focus", 1, False),
            ("pointer", 1, "http://a/x"),
            ("pointer", 1, None),
            ("layout", 1, {"u": (3, 4)}),
            ("in_view", 1, ("u",)),
            ("plays", 1, True),
            ("titled", 1, "News"),
            ("closed", 1),
        ]
        assert world.export.statistics().bad_beacons == 1

    run(main())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"x":1}',
        b'{"v":1}',
        b'{"m":1}',
        b'{"t":1}',
        b'{"t":"' + b"x" * 201 + b'"}',
        b'{"p":5}',
        b'{"i":[1]}',
        b'{"l":{"u":[-1,2]}}',
        b'{"l":{"u":[70000,2]}}',
        b'{"l":{"u":[1]}}',
        b'{"p":"\xff"}',
        b'{"p":"' + b"u" * 9000 + b'"}',
        b'{"i":[' + b",".join([b'"u"'] * 257) + b"]}",
        b"[" * 60000,
    ],
)
def test_hostile_beacons(body: bytes) -> None:
    assert parse_beacon(body) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_a_beacon_or_none(body: bytes) -> None:
    beacon = parse_beacon(body)
    assert beacon is None or beacon.i is None or len(beacon.i) <= 256

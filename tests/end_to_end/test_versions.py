"""A remote proxy of another protocol version: browsers and `sluice status` say what to update."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

import remote_proxy.session
from bench.pairs.ports import free_port
from local_proxy.commands.status import render
from local_proxy.status.snapshot import StatusSnapshot
from tests.end_to_end.pair import all_three, run, until
from wire import messages as m
from wire.session import Session

NEWEST = max(m.VERSIONS)


@pytest.mark.parametrize("udp", [False, True])
@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ([NEWEST + 1, NEWEST + 2], "Update Sluice on this device"),
        ([min(m.VERSIONS) - 1], "Update Sluice on the machine of the remote proxy"),
    ],
)
def test_the_page_and_the_status_say_which_end_to_update(
    versions: list[int], says: str, udp: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_proxy.session, "Session", partial(Session, versions=tuple(versions)))

    async def go() -> None:
        port = free_port()
        async with all_three(
            secure=True, udp=udp, start_remote=False, remote_port=port, patience=0.2
        ) as (origin, both):
            both.remote.port = port
            await both.remote.start()
            await until(lambda: both.local.uplink.state().update)
            page = (await both.browser.navigate(origin.base + "/")).body.decode()
            assert f"<h1>{says}" in page
            assert "modem" not in page  # nothing is wrong with the line
            plain = (await both.client.get(origin.base + "/file")).body.decode()
            assert says in plain
            answer = await both.client.get("http://sluice.local/status.json")
            assert says in render(msgspec.json.decode(answer.body, type=StatusSnapshot))
            # Once both ends speak the same again nobody has to start anything anew.
            monkeypatch.setattr(remote_proxy.session, "Session", Session)
            await both.remote.stop()
            await both.remote.start()
            await both.connected()
            await both.serves(origin)
            assert not both.local.uplink.state().update

    run(go())

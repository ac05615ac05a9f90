"""Pictures that can't be good in time stay coarse: callback_priorities through both proxies."""

from __future__ import annotations

import json
from typing import Any

from tests.end_to_end.pair import Pair, run, slow_three, until
from tests.local_proxy.site import progressive

COUNT = 10
PICTURES = [progressive(seed, size=(1600, 1200))[0] for seed in range(2)]


async def pictures(both: Pair) -> list[dict[str, Any]]:
    """As the status page shows them."""
    answer = await both.client.get("http://sluice.local/status.json")
    (document,) = json.loads(answer.body)["documents"]
    return [one for one in document["components"] if one["kind"] == "image"]


def test_pictures_that_the_link_can_not_make_good_in_time_stay_coarse() -> None:
    async def go() -> None:
        policy = ["default", "callback_priorities"]
        async with slow_three(policy=policy, patience=30.0) as (origin, remote, both):
            page = "".join(f"<img src=/{n}.jpg width=640 height=480>" for n in range(COUNT))
            origin.serve("/", f"<!doctype html><title>t</title><body>{page}".encode())
            for number in range(COUNT):
                origin.serve(f"/{number}.jpg", PICTURES[number % 2], "image/jpeg")
            assert (await both.browser.navigate(origin.base + "/")).status == 200
            (session,) = remote.sessions
            expected = 0

            def some_deferred() -> bool:
                nonlocal expected
                expected = max(expected, len(session.obedience.deadlines))
                return bool(both.local.runtime.view.deferred)

            # Long before their 8 s are over, though not before the link has been measured.
            await until(some_deferred)
            shown = await pictures(both)
            held = [one for one in shown if one["held"]]
            assert 0 < len(held) < COUNT
            assert all(one["level"] for one in held)  # they stay as they are shown
            assert expected  # the others can be in time

    run(go())

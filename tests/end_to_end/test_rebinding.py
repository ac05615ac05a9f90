"""DNS rebinding for real: a name server of the attacker's, the system's files, a remote process."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from remote_proxy.reach.lookups import BELIEVED
from tests.end_to_end.name_server import (
    SITE,
    A,
    name_server,
    needs_namespaces,
    remote_that_asks,
)
from tests.end_to_end.pair import FakeOrigin, run
from tests.end_to_end.test_device_limits import local_proxy


def test_a_name_whose_second_answer_is_loopback(tmp_path: Path) -> None:
    needs_namespaces()
    times: Counter[str] = Counter()

    def answer(name: str, kind: int) -> str:
        """The site's address to the first question for a name, loopback's to all others."""
        if kind != A:
            return ""
        times[name] += 1
        return SITE if times[name] == 1 else "127.0.0.1"

    async def go() -> None:
        async with (
            FakeOrigin().running(SITE) as site,
            FakeOrigin().running("127.0.0.1", site.address[1]) as inner,
            name_server(answer) as names,
            remote_that_asks(tmp_path, options="options timeout:2 attempts:1") as port,
            local_proxy(port, "test") as browser,
        ):
            site.serve("/", b"outside", "text/plain")
            inner.serve("/", b"inside", "text/plain")
            url = f"http://turn.example:{site.address[1]}/"
            assert (await browser.get(url)).body == b"outside"
            status, _, writer = await browser.connect(f"twist.example:{site.address[1]}")
            assert status == 200
            writer.close()
            await asyncio.sleep(BELIEVED + 0.1)
            again = await browser.get(url, method="POST", body=b"x")
            assert again.status == 403
            assert b"turn.example" in again.body and b"allow" in again.body
            status, _, writer = await browser.connect(f"twist.example:{site.address[1]}")
            assert status == 403
            writer.close()
            assert names.asked.count("turn.example") == 2
            assert names.asked.count("twist.example") == 2
            assert inner.asked == [] and inner.connections == 0

    run(go())

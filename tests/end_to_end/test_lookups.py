"""Names as the remote proxy's process looks them up, by the system's files and a name server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.end_to_end.name_server import (
    AAAA,
    SITE,
    A,
    name_server,
    needs_namespaces,
    remote_that_asks,
)
from tests.end_to_end.pair import FakeOrigin, run, until
from tests.end_to_end.test_device_limits import local_proxy

DEAD = 24
"""Names on one page whose name servers do not answer."""
EACH = 11
"""Parts of it from each of them: more in all than a device has connections, fewer of each than a
server gets."""


def test_names_that_nobody_answers_for_hold_up_no_other_device(tmp_path: Path) -> None:
    needs_namespaces()

    def answer(name: str, kind: int) -> str | None:
        return None if name.startswith("dead") else SITE if kind == A else ""

    async def go() -> None:
        async with (
            FakeOrigin().running(SITE) as site,
            name_server(answer) as names,
            remote_that_asks(tmp_path, options="options timeout:30 attempts:1") as port,
            local_proxy(port, "one") as one,
            local_proxy(port, "other") as other,
        ):
            site.serve("/", b"outside", "text/plain")
            place = site.address[1]
            dead = [
                asyncio.ensure_future(one.get(f"http://dead{number}.example:{place}/{part}"))
                for number in range(DEAD)
                for part in range(EACH)
            ]
            await until(lambda: len(set(names.asked)) == DEAD)
            # None of them is answered before all of this has come.
            assert (await other.get(f"http://fine.example:{place}/")).body == b"outside"
            assert (await other.get(f"http://{SITE}:{place}/")).body == b"outside"
            assert (await one.get(f"http://{SITE}:{place}/")).body == b"outside"
            assert (await one.get(f"http://also.example:{place}/")).body == b"outside"
            assert not any(task.done() for task in dead)
            for task in dead:
                task.cancel()
            await asyncio.gather(*dead, return_exceptions=True)

    run(go())


def test_names_of_the_hosts_file_and_of_search_domains_are_found(tmp_path: Path) -> None:
    needs_namespaces()
    known = {("wiki.corp.example", A): SITE, ("six.example", AAAA): "::1"}

    async def go() -> None:
        async with (
            FakeOrigin().running(SITE) as site,
            FakeOrigin().running("::1", site.address[1]) as six,
            name_server(lambda name, kind: known.get((name, kind), "")) as names,
            remote_that_asks(
                tmp_path,
                options="search corp.example",
                hosts=f"127.0.0.1 localhost\n{SITE} press Archive.lan\n",
                allow=(SITE, "::1"),
            ) as port,
            local_proxy(port, "test") as browser,
        ):
            site.serve("/", b"ours", "text/plain")
            six.serve("/", b"by IPv6", "text/plain")
            place = site.address[1]
            for name in ("press", "archive.lan", "wiki", "wiki.corp.example"):
                assert (await browser.get(f"http://{name}:{place}/")).body == b"ours", name
            assert "press" not in names.asked and "archive.lan" not in names.asked
            assert (await browser.get(f"http://six.example:{place}/")).body == b"by IPv6"
            absent = await browser.get(f"http://absent:{place}/")
            assert absent.status == 502
            assert b"there is no server by the name of absent" in absent.body
            assert "absent.corp.example" in names.asked
            # A final dot ends a name: no search domain is tried.
            dotted = await browser.get(f"http://wiki.:{place}/")
            assert dotted.status == 502

    run(go())

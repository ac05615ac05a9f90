"""The status page's tree is the one that the remote proxy has: a page under way, a picture that a
policy defers, a tunnel, each with its true state."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from remote_proxy.session import RemoteSession
from tests.end_to_end.pair import Pair, run, slow_three
from tests.end_to_end.test_page_load import site_of
from tests.watched import until

POLICY = (
    "from policies.api import Defer, DocumentOpened, SetScheduler, SkeletonGrew\n\n\n"
    'class Mine:\n    name = "mine"\n\n'
    "    def react(self, event, view):\n"
    "        if isinstance(event, DocumentOpened):\n"
    '            yield SetScheduler((), "wf2q_plus")\n'
    "        if isinstance(event, SkeletonGrew):\n"
    "            for part in event.parts:\n"
    '                if part.url.endswith("/a.jpg"):\n'
    "                    yield Defer(part.component)\n"
)
RATE = 20_000
"""Bytes/second: the page's pictures take a dozen seconds."""
FOCUS = 4.0
"""The weight that the default policy gives the page in front."""
Shown = dict[str, Any]


async def shown(both: Pair) -> Shown:
    """The root of the tree that the status page shows; empty: none yet."""
    answer = await both.client.get("http://sluice.local/status.json")
    return json.loads(answer.body)["tree"] or {}


def below(node: Shown, *path: str) -> Shown:
    for name in path:
        node = next((one for one in node.get("children", []) if one["name"] == name), {})
    return node


def waits(session: RemoteSession, component: int) -> int:
    """Bytes of a component that are queued in the remote's tree."""
    leaf = session.tree.find_leaf(component)
    return leaf.backlog if leaf is not None else 0


def test_a_page_under_way_a_deferred_picture_and_a_tunnel(tmp_path: Path) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text(POLICY)

    async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(quiet, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        policies = ["default", str(policy)]
        async with server, slow_three(rate=RATE, policy=policies) as (origin, remote, both):
            status, _, writer = await both.client.connect(f"127.0.0.1:{port}")
            assert status == 200
            page = site_of(origin)
            await both.browser.navigate(page)
            first = both.known(origin.base + "/a.jpg")
            other = both.known(origin.base + "/b.jpg")
            document = str(first.document)
            (session,) = remote.sessions
            await until(lambda: waits(session, first.id) > 0 and waits(session, other.id) > 20_000)
            tree: Shown = {}
            while not below(tree, "browser", document, str(first.id)).get("backlog"):
                tree = await shown(both)
                await asyncio.sleep(0.1)

            under_way = below(tree, "browser", document)
            assert (under_way["state"], under_way["weight"]) == ("ready", FOCUS)
            assert under_way["scheduler"] == "low_fidelity_first"
            deferred = below(under_way, str(first.id))
            assert (deferred["state"], deferred["kind"]) == ("disabled", "image")
            assert deferred["held_by"] == "a policy"
            assert below(under_way, str(other.id))["state"] == "ready"
            assert under_way["backlog"] == sum(one["backlog"] for one in under_way["children"])
            (tunnel,) = below(tree, "tunnels")["children"]
            assert (tunnel["state"], tunnel["kind"]) == ("waiting", "tunnel")
            assert (tree["scheduler"], tree["state"]) == ("wf2q_plus", "ready")
            writer.close()
            await writer.wait_closed()

    run(go())

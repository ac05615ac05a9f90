"""A remote proxy's /health and /metrics, over real HTTP, read by Prometheus' own parser."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families as parsed

from configuration import RemoteSettings
from remote_proxy.main import serving
from remote_proxy.reach.limits import UsageStatistics
from remote_proxy.statistics import ClusterWork, OpenSession, SessionStatistics, SharedWork
from remote_proxy.status.metrics import registry
from remote_proxy.status.pages import status_pages
from tests.end_to_end.pair import all_three
from tests.watched import run
from transport.link.interface import LinkStatistics

LINK = LinkStatistics(
    sent=7000, received=900, under_way=0, cap=1e4, min_delay=None, delay=None, outgoing=None,
    incoming=None,
)  # fmt: skip


def session(device: str, *, rate: float | None = 48_000.0, **more: Any) -> OpenSession:
    usage = UsageStatistics(
        requests=2, tunnels=0, requests_made=40, requests_refused=1, bytes_today=5000
    )
    counts = {"deliveries": 1, "held": 10, "payload_sent": 6000, "usage": usage} | more
    return OpenSession(SessionStatistics(device=device, **counts), LINK, rate)


async def got(address: tuple[str, int], path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"http://{address[0]}:{address[1]}{path}") as answer,
    ):
        return answer.status, await answer.text()


def figures(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """By name and labels' values."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in parsed(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def test_devices_are_counted_by_name_and_their_links_summed() -> None:
    odd = 'a "ship"\\\n'
    sessions = [
        session("phone", pictures={"fast": 3}),
        session("phone", pictures={"fast": 1, "small": 2}, rate=None),
        session(odd, refused={"no time": 4}),
    ]
    text = generate_latest(registry(lambda: sessions, devices=64)).decode()
    found = figures(text)
    assert found["sluice_remote_devices"] == {(): 2}
    assert found["sluice_remote_devices_max"] == {(): 64}
    assert found["sluice_remote_sessions"] == {("phone",): 2, (odd,): 1}
    assert found["sluice_remote_requests_total"] == {("phone",): 40, (odd,): 40}
    assert found["sluice_remote_session_bytes"]["phone", "down"] == 14_000
    assert found["sluice_remote_link_bytes_per_second"]["phone",] == 48_000
    assert found["sluice_remote_pictures"] == {("phone", "fast"): 4, ("phone", "small"): 2}
    assert found["sluice_remote_turned_away"] == {(odd, "no time"): 4}
    assert found["process_resident_memory_bytes"][()] > 1e6


def test_what_devices_share_is_counted_and_a_store_that_is_away_is_said() -> None:
    work = SharedWork("valkey", False, 9, 8, 7, 6, 5, 4, 3, 20_000, 2)

    async def go() -> None:
        async with status_pages("127.0.0.1", 0, list, devices=3, shared=lambda: work) as address:
            said = json.loads((await got(address, "/health"))[1])
            assert (said["status"], said["store"]) == ("ok", "does not answer")
            found = figures((await got(address, "/metrics"))[1])
        assert found["sluice_remote_store_up"] == {("valkey",): 0}
        questions = {("found",): 9, ("missed",): 8, ("failed",): 7}
        assert found["sluice_remote_store_questions_total"] == questions
        answers = {("given",): 6, ("unchanged",): 5, ("waited",): 4, ("asked",): 3}
        assert found["sluice_remote_answers_total"] == answers
        assert found["sluice_remote_answers_given_bytes_total"] == {(): 20_000}
        assert found["sluice_remote_pictures_spared_total"] == {(): 2}

    run(go())


def test_what_a_cluster_makes_is_counted() -> None:
    work = ClusterWork(True, 7, 2)
    found = figures(generate_latest(registry(list, devices=3, cluster=lambda: work)).decode())
    assert found["sluice_remote_cluster_up"] == {(): 1}
    assert found["sluice_remote_cluster_jobs_total"] == {("cluster",): 7, ("here",): 2}


def test_without_devices_there_are_figures_too() -> None:
    async def go() -> None:
        async with status_pages("127.0.0.1", 0, list, devices=3) as address:
            status, text = await got(address, "/metrics")
            assert status == 200
            assert figures(text)["sluice_remote_devices"] == {(): 0}
            status, text = await got(address, "/health")
            said = json.loads(text)
            assert (status, said["status"], said["devices"], said["devices_max"]) == (
                200,
                "ok",
                0,
                3,
            )
            assert (await got(address, "/"))[0] == 404
        with pytest.raises(aiohttp.ClientError):
            await got(address, "/health")

    run(go())


def test_an_address_that_is_taken_is_said() -> None:
    async def go() -> None:
        taken = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        async with taken:
            with pytest.raises(OSError, match="in use"):
                async with status_pages(*taken.sockets[0].getsockname(), list, devices=3):
                    pass

    run(go())


def test_a_pair_at_work_is_in_them() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b"<!doctype html>" + b"words " * 2000)
            await both.browser.navigate(origin.base + "/")
            server = both.remote.server
            async with status_pages("127.0.0.1", 0, server.open_now, devices=64) as address:
                found = figures((await got(address, "/metrics"))[1])
            (device,) = found["sluice_remote_sessions"]
            assert found["sluice_remote_sessions_connected"][device] == 1
            assert found["sluice_remote_requests_total"][device] == 1
            assert found["sluice_remote_session_bytes"][*device, "down"] > 100
            assert found["sluice_remote_origin_bytes_today"][device] > 12_000

    run(go())


def test_the_setting_has_them_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = RemoteSettings(
        listen="127.0.0.1:0", security="none", state=str(tmp_path), status="127.0.0.1:0", workers=1
    )

    async def go() -> None:
        async with serving(settings):
            words = capsys.readouterr().err.split()
            where = next(word for word in words if word.endswith("/health"))
            host, _, port = where.removeprefix("http://").removesuffix("/health").rpartition(":")
            assert (await got((host, int(port)), "/health"))[0] == 200

    run(go())


def test_the_dashboard_asks_for_figures_that_there_are() -> None:
    sessions = [session("phone", pictures={"fast": 3}, refused={"no time": 4})]
    known = set(figures(generate_latest(registry(lambda: sessions, devices=64)).decode()))
    board = json.loads((Path(__file__).parents[2] / "docs" / "grafana-remote.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    names = {name for expr in asked for name in re.findall(r"(?:sluice|process)_\w+", expr)}
    assert len(names) > 10
    assert names <= known

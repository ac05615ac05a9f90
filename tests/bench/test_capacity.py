"""The capacity bench: its parts measure real processes, its checks say what they found."""

from __future__ import annotations

import asyncio
import io
import os
import time

import pytest
from PIL import Image

from bench.capacity import bulk, crowd, download, idle, pages
from bench.origins.visits import commented
from bench.pairs.processor_time import Spent, fixed_work, spent
from bench.scenarios.faults import capacity
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import profile
from emulation.worlds.cables import NoBackend
from transcoders.make.jpeg import inspect


def test_processor_time_is_that_of_a_process_and_what_it_has_started() -> None:
    before = spent(os.getpid())
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
    used = spent(os.getpid()) - before
    assert 0.05 <= used.own <= 5.0
    assert isinstance(used, Spent) and used.all >= used.own
    assert fixed_work() > 0


def test_a_gigabyte_a_page_a_crowd_and_rest_are_measured() -> None:
    async def all_parts() -> list[dict[str, object]]:
        page = SITE / "article"
        return [
            await bulk.run("tcp", size=5_000_000),
            await pages.run(page, profile("5M"), runs=1),
            await crowd.run(page, profile("5M"), devices=3, spread=0.5, name="evenly"),
            await idle.run(devices=2, seconds=1.0, settling=1.0),
        ]

    gigabyte, page, some, rest = asyncio.run(all_parts())
    assert gigabyte["remote_s_gb"] > 0 and gigabyte["local_s_gb"] > 0  # type: ignore[operator]
    assert page["first_remote"] > 0 and page["second_local"] > 0  # type: ignore[operator]
    assert some["failed"] == 0 and some["text_p90_s"] > 0  # type: ignore[operator]
    assert rest["devices"] == 2 and rest["kb_a_device"] < 5000  # type: ignore[operator]


def test_a_download_s_part_of_a_link_is_measured_over_tcp_and_udp() -> None:
    try:
        found = asyncio.run(download.run(profile("5M"), runs=1, size=400_000))
    except NoBackend as error:
        pytest.skip(str(error))
    assert 0 < found["direct_mbit_s"] <= 5.1
    for way in ("tcp", "atp-udp"):
        assert 0 < found[f"{way}_mbit_s"] <= 5.1
        assert found[f"{way}_of_direct"] > 0


def test_its_checks_hold_figures_against_goals() -> None:
    rows = [
        {"part": "bulk", "transport": "tcp", "remote_s_gb": 1.0, "fixed_work_s_gb": 0.0124},
        {
            "part": "pages",
            "link": "384k",
            "first_remote": 0.4,
            "second_remote": 0.1,
            "fixed_work_s_gb": 0.125,
        },
        {"part": "stores", "remote_none": 0.2, "remote_memory": 0.21, "remote_valkey": 0.3},
        {"part": "download", "link": "100M", "tcp_of_direct": 0.95, "atp-udp_of_direct": 0.5},
        {
            "part": "evenly",
            "devices": 9,
            "failed": 1,
            "text_p90_s": 3.0,
            "alone_text_s": 1.0,
        },
    ]
    checks = capacity.judge(rows)
    assert {name: check.ok for name, check in checks.items()} == {
        "remote_s_gb tcp": False,
        "download over 100M, tcp": True,
        "download over 100M, atp-udp": False,
        "remote 384k": False,
        "second / first 384k": True,
        "with a store in memory / without": True,
        "with a store in Valkey / without": False,
        "pages that failed, evenly": False,
        "text_p90 / alone evenly": False,
    }


@pytest.mark.parametrize("name", ["03-space.jpg", "screen.png"])
def test_a_picture_of_another_visit_has_other_bytes_and_is_treated_alike(name: str) -> None:
    picture = (SITE / "news" / "img" / name).read_bytes()
    other = commented(picture, b"17")
    assert other != picture
    with Image.open(io.BytesIO(picture)) as before, Image.open(io.BytesIO(other)) as after:
        assert after.tobytes() == before.tobytes()
    if name.endswith("jpg"):
        assert inspect(other, max_pixels=1 << 24).slim, "it may not be re-arranged"

"""Tests of what carries packets between TUN devices: its lines, its words, and when it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from emulation.accuracy.accuracy import altered, link
from emulation.lines.line import Line
from emulation.worlds.tun_relay import Command, PathSettings, RelayAnswer, TunRelay, line_of
from tests.emulation.spaces import new_space

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
PROFILE = altered(link(8e6, delay=0.1, queue=30_000), rate_up=2e3, queue_up=5_000)


def settings(near: str, far: str) -> PathSettings:
    return PathSettings(near=near, far=far, device="path0", profile=PROFILE, seed=1)


def test_each_direction_has_what_the_profile_says_of_it() -> None:
    up, down = (line_of(PROFILE, down=down, seed=1) for down in (False, True))
    assert (up.rate, up.queue, up.delay) == (2e3, 5_000, 0.1)
    assert (down.rate, down.queue, down.delay) == (1e6, 30_000, 0.1)
    alike = line_of(altered(PROFILE, queue_up=0), down=False, seed=1)
    assert alike.queue == 30_000


def test_packets_of_a_good_link_all_come_and_those_of_a_bad_one_by_the_seed() -> None:
    def came(line: Line[bytes]) -> list[bytes]:
        for number in range(200):
            line.push(0.0, bytes([number]), 10)
        return [packet for _, packet in line.take(float("inf"))]

    bad = altered(PROFILE, loss=0.2)
    assert len(came(line_of(PROFILE, down=True, seed=1))) == 200
    first, again, other = (came(line_of(bad, down=True, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert 100 < len(first) < 190


def test_a_relay_that_cannot_have_its_devices_says_why_and_ends() -> None:
    paths = [settings("sluice-0-0-nowhere", "sluice-0-1-nowhere")]
    done = subprocess.run(
        [sys.executable, "-m", "emulation.worlds.tun_relay"],
        cwd=ROOT,
        input=msgspec.json.encode(paths) + b"\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith(b"error ")
    assert b"nowhere" in done.stdout


def test_a_relay_obeys_and_answers_until_nothing_more_is_said(
    tun: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def carry(near: str, far: str, commands: int) -> None:
        TunRelay([settings(near, far)], realtime=False).run(commands)

    with new_space() as near, new_space() as far, ThreadPoolExecutor(1) as thread:
        hears, tells = os.pipe()
        for command in (Command(), Command(up=5e3), Command(rewind=True)):
            os.write(tells, msgspec.json.encode(command) + b"\n")
        os.close(tells)
        thread.submit(carry, near, far, hears).result()
        os.close(hears)
    answers = [
        msgspec.json.decode(line, type=RelayAnswer) for line in capsys.readouterr().out.splitlines()
    ]
    assert len(answers) == 3
    assert all(len(one.up) == len(one.down) == 1 for one in answers)
    assert not any(one.realtime or one.up[0].carried for one in answers)

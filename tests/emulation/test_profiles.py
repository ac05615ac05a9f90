"""Tests of profiles: what a file may say of a link, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.lines.profiles import profile, profiles


def one(folder: Path, text: str) -> object:
    path = folder / "links.toml"
    path.write_text(f'[x]\nabout = "made up"\n{text}\n')
    return profiles(path)["x"]


RATES = "rate_down = 100_000\nrate_up = 50_000\ndelay = 0.1"


def test_all_that_are_promised_are_there() -> None:
    known = profiles()
    assert {"56k", "128k", "384k", "1.6M", "5M", "3g", "lte", "satellite", "polar"} <= set(known)
    assert {"wlan", "lossy", "polar-storm", "fast"} <= set(known)
    assert known["56k"].mtu == 576
    assert known["satellite"].delay == 0.3
    assert known["wlan"].changes
    assert known["polar-storm"].changes
    assert not known["lte"].changes
    assert known["lossy"].disturbances().any


def test_a_queue_may_be_in_products_of_rate_and_delay(tmp_path: Path) -> None:
    path = tmp_path / "links.toml"
    path.write_text(f'[x]\nabout = ""\n{RATES}\nqueue = "1.5 BDP"\n')
    made = profiles(path)["x"]
    assert (made.queue, made.queue_up) == (30_000, 15_000)
    path.write_text(f'[x]\nabout = ""\n{RATES}\nqueue = "0 BDP"\n')
    assert profiles(path)["x"].queue == 3000  # two packets at least


def test_a_trace_is_a_profile(tmp_path: Path) -> None:
    (tmp_path / "down").write_text("0 3000\n1 5000\n")
    (tmp_path / "up").write_text("10\n")
    both = profile(f"trace:{tmp_path}/down")
    assert both.rate_down == both.rate_up == pytest.approx(4000.0)
    apart = profile(f"trace:{tmp_path}/down,{tmp_path}/up")
    assert apart.rate_up == pytest.approx(150_000)
    assert apart.schedule(down=True, epoch=100.0).end(100.0, 3000) == pytest.approx(101, abs=1e-5)
    with pytest.raises(FileNotFoundError):
        profile(f"trace:{tmp_path}/absent")


def test_a_trace_s_path_is_the_file_s_own(tmp_path: Path) -> None:
    (tmp_path / "some.trace").write_text("0 3000\n")
    path = tmp_path / "links.toml"
    path.write_text('[x]\nabout = ""\ntrace_down = "some.trace"\nrate_up = 10\n')
    made = profiles(path)["x"]
    assert (made.rate_down, made.rate_up) == (3000.0, 10.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{RATES}\nqueue = 'long'", "a queue is a number of bytes"),
        (f"{RATES}\nqueue = '-1 BDP'", "a queue is a number of bytes"),
        (f"{RATES}\nqueue = '1.5 packets'", "a queue is a number of bytes"),
        (f"{RATES}\nmtu = 500", "an MTU is 576"),
        (f"{RATES}\nloss = 1.0", "shares of packets"),
        (f"{RATES}\noutage_every = 5.0\noutage = 6.0", "an outage is shorter"),
        (f"{RATES}\nspeed = 5", "speed"),
        ("rate_down = 5", "rates are above 0"),
        (f"{RATES}\ntrace_down = 'links.toml'", "line 1"),
        ("rate_up = -1\nrate_down = 1", "rates are above 0"),
        ("delay = ", "Invalid"),
    ],
)
def test_what_is_no_link_is_refused_with_its_file(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match=rf"links\.toml.*{complaint}"):
        one(tmp_path, text)

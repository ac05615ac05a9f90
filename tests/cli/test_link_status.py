"""People see a remote go away and come back: in the log and in `sluice status`."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.cli.commands import PATIENCE, home, running, sluice


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_remote_that_goes_away_is_logged_and_status_says_why(tmp_path: Path) -> None:
    user = home(tmp_path)
    plain = "--security=none"
    with running("remote", plain, "--listen=127.0.0.1:0", home=user) as remote:
        at = f"--remote={remote.address}"
        with running("local", plain, at, "--listen=127.0.0.1:0", home=user) as local:

            def status() -> str:
                return sluice("status", f"--proxy={local.address}", home=user).out

            until(lambda: ": up for" in status())
            assert "  round trip " in status()  # TCP carries the link
            assert "remote" not in local.errors
            remote.process.send_signal(signal.SIGKILL)
            remote.process.wait()
            until(lambda: "no link to the remote proxy" in local.errors)
            first = status().splitlines()[0]
            assert first.startswith(f"link to {remote.address}: down for ")
            reason = first.partition(" s: ")[2]
            assert len(reason) > 5
            again = (plain, f"--listen={remote.address}")
            with running("remote", *again, home=user):
                until(lambda: "a link to the remote proxy again" in local.errors)
                assert local.errors.count("a link to the remote proxy again") == 1
                until(lambda: ": up for" in status())


def test_a_remote_that_was_never_there_is_named_with_the_reason(tmp_path: Path) -> None:
    user = home(tmp_path)
    flags = ("--security=none", "--remote=127.0.0.1:1", "--listen=127.0.0.1:0")
    with running("local", *flags, home=user) as local:
        until(lambda: "no link to the remote proxy" in local.errors)
        said = sluice("status", f"--proxy={local.address}", home=user).out
        assert said.startswith("link to 127.0.0.1:1: down for ")
        assert "refused" in said.splitlines()[0].lower()
        assert local.errors.count("no link to the remote proxy") == 1

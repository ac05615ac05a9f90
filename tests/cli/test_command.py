"""Tests of a command that runs until it ends: what it raises is a sentence and a code."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
from collections.abc import Iterator

import pytest
import structlog
import typer

from cli.command import FAILED, REFUSED, LogForm, configure_logging, notice, run
from cli.memory import bound_arenas, freeze_modules
from local_proxy.front.clients import ClientsError
from pairing.errors import PairingError
from policies.host.loader import LoadError


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a command changes for its whole process is undone."""
    monkeypatch.setattr("cli.command.bound_arenas", lambda: None)
    yield
    gc.unfreeze()
    structlog.reset_defaults()


async def raises(error: Exception) -> None:
    raise error


def ended(error: Exception) -> int:
    with pytest.raises(typer.Exit) as raised:
        run(raises(error), verbose=False, log_urls=False)
    return raised.value.exit_code


def test_what_other_settings_would_mend_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for error in (PairingError("a"), LoadError("b"), ClientsError("c")):
        assert ended(error) == REFUSED
    assert capsys.readouterr().err == "sluice: a\nsluice: b\nsluice: c\n"


def test_what_the_machine_did_not_do_has_failed(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(OSError(98, "Address already in use")) == FAILED
    assert ended(OSError("the port is taken")) == FAILED
    assert capsys.readouterr().err == (
        "sluice: Address already in use\nsluice: the port is taken\n"
    )


def test_a_mistake_of_ours_is_not_put_in_a_sentence() -> None:
    with pytest.raises(ZeroDivisionError):
        run(raises(ZeroDivisionError()), verbose=False, log_urls=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_ends_it_and_what_it_cleans_up_is_cleaned_up(number: signal.Signals) -> None:
    steps: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("cleaned up")

    run(main(), verbose=False, log_urls=False, ends=(signal.SIGUSR1,))
    assert steps == ["cleaned up"]


def test_a_command_that_ends_by_itself_ends_well() -> None:
    steps: list[str] = []

    async def main() -> None:
        steps.append("done")

    run(main(), verbose=False, log_urls=False)
    assert steps == ["done"]


@pytest.mark.parametrize(("verbose", "said"), [(False, ["warned"]), (True, ["told", "warned"])])
def test_lines_say_more_where_that_is_asked_for_and_queries_only_then(
    verbose: bool, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(verbose=verbose, log_urls=False)
    log = structlog.get_logger("test")
    log.info("told", url="http://a.test/b?secret")
    log.warning("warned", url="http://a.test/b?secret")
    errors = capsys.readouterr().err
    assert [word for word in ("told", "warned") if word in errors] == said
    assert "http://a.test/b" in errors and "secret" not in errors
    configure_logging(verbose=verbose, log_urls=True)
    structlog.get_logger("test").warning("warned", url="http://a.test/b?secret")
    assert "secret" in capsys.readouterr().err


def test_people_are_told_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    notice("the link is slow")
    out, errors = capsys.readouterr()
    assert (out, errors) == ("", "sluice: the link is slow\n")


def test_the_collector_leaves_alone_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    gc.unfreeze()
    assert gc.get_freeze_count() == 0
    freeze_modules()
    assert gc.get_freeze_count() > 10_000


def test_a_library_without_arenas_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    class Library:
        """One that knows nothing of arenas."""

        def __init__(self, name: object) -> None:
            asked.append(name)

    monkeypatch.setattr("ctypes.CDLL", Library)
    bound_arenas()
    assert asked == [None]


def test_a_log_for_machines_has_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=False, log_urls=False, log=LogForm.JSON)
    log = structlog.get_logger("sluice.test")
    log.warning("a\nline", url="http://a.test/x?secret=1")
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        log.exception("a mistake")
    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first["event"], first["level"]) == ("a\nline", "warning")
    assert first["timestamp"]
    assert "secret" not in first["url"]
    assert "ZeroDivisionError" in second["exception"]

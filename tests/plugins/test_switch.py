"""A plug-in's switch: what is told, when, and that nothing is asked of it afterwards."""

from __future__ import annotations

import pytest

from plugins.switch import Nonsense, PluginSwitch


class Told:
    """Notes what is told, on a clock that moves by hand."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.now = 0.0
        self.switch = PluginSwitch(
            "scheduler x", tell=lambda *line: self.lines.append(line), clock=lambda: self.now
        )

    def slow(self) -> str:
        self.now += 1.0
        return "late"


def fail() -> str:
    raise KeyError("a")


def test_an_answer_is_passed_on() -> None:
    told = Told()
    assert told.switch.ask(lambda: "yes", otherwise="no") == "yes"
    assert told.switch.on
    assert told.lines == []


def test_one_that_raises_is_told_of_once_and_never_asked_again() -> None:
    told = Told()
    assert told.switch.ask(fail, otherwise="no") == "no"
    assert told.switch.ask(lambda: "yes", otherwise="no") == "no"
    with pytest.raises(KeyError):
        told.switch.call(fail)
    assert told.lines == [("scheduler x", "KeyError: 'a'")]
    assert told.switch.why_off == "KeyError: 'a'"


def test_one_that_dawdles_is_switched_off() -> None:
    told = Told()
    with pytest.raises(Nonsense, match=r"it took 1\.00 s, and may take 0\.05"):
        told.switch.call(told.slow)
    assert not told.switch.on


def test_what_is_no_error_of_the_plugin_passes() -> None:
    told = Told()

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        told.switch.ask(stop, otherwise=None)
    assert told.switch.on

"""Tests of the bench's command line where it measures links, or is asked for ones there are not."""

from __future__ import annotations

import pytest

from bench.__main__ import main


def test_the_command_line_measures_links_and_refuses_what_it_does_not_know(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["links", "--backend", "memory"]) == 0
    assert "memory, 5 Mbit/s: rate" in capsys.readouterr().out
    assert main(["links", "--backend", "pigeon"]) == 2
    assert "no backend 'pigeon'" in capsys.readouterr().err
    assert main(["page-load", "--profile", "trace:/absent"]) == 2
    assert "/absent" in capsys.readouterr().err

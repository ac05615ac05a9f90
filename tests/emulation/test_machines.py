"""Machines that boot in namespaces: what keeps one from it is said. tests/service boots one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulation.machines.booted import CommandResult, NoBoot, booted, missing


def test_without_root_none_boots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "takes root" in missing()
    with pytest.raises(NoBoot, match="takes root"), booted(tmp_path):
        pytest.fail("it has booted")


@pytest.mark.skipif(os.geteuid() != 0 or bool(missing()), reason="takes root and namespaces")
def test_what_its_files_lack_is_said(tmp_path: Path) -> None:
    prepare = "echo there are no files >&2; exit 3"
    with pytest.raises(NoBoot, match="there are no files"), booted(tmp_path, prepare=prepare):
        pytest.fail("it has booted")


def test_a_commands_result_reads_as_it_looked() -> None:
    assert str(CommandResult(3, "made\n", "refused\n")) == "exit code 3\nmade\nrefused"

"""Units as systemd itself reads them: it finds no fault, and how exposed they leave a machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from service.units import Role, Scope, Service, quoted, sysusers

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="no systemd on this machine")
COMMAND = (sys.executable, str(Path(__file__).parents[2] / "sluice.py"))
MAY_BE: dict[Scope, float] = {"system": 2.5, "user": 9.0}
"""Exposure, of 10 (systemd-analyze(1), security)."""


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    return subprocess.run(
        [ANALYZE, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@needs_systemd
@pytest.mark.parametrize(("role", "scope"), [("local", "user"), ("remote", "system")])
def test_systemd_finds_no_fault_in_it(role: Role, scope: Scope, tmp_path: Path) -> None:
    service = Service(role, scope, COMMAND, ("--listen", "127.0.0.1:1", "--state", "/a b/100%"))
    unit = tmp_path / service.name
    unit.write_text(service.unit())
    done = analyze("verify", *(["--user"] if scope == "user" else []), "--man=no", str(unit))
    faults = [line for line in done.stderr.splitlines() if service.name in line]
    assert faults == []


@needs_systemd
@pytest.mark.parametrize(("role", "scope"), [("local", "user"), ("remote", "system")])
def test_it_may_do_little(role: Role, scope: Scope, tmp_path: Path) -> None:
    service = Service(role, scope, COMMAND)
    unit = tmp_path / service.name
    unit.write_text(service.unit())
    said = analyze("security", "--offline=yes", "--no-pager", str(unit)).stdout
    found = re.search(r"exposure level for \S+: ([0-9.]+)", said)
    assert found is not None, said
    assert float(found[1]) <= MAY_BE[scope]


def test_what_people_write_reaches_the_program_word_for_word() -> None:
    assert quoted("/usr/bin/sluice") == "/usr/bin/sluice"
    assert quoted("a b") == '"a b"'
    assert quoted('50% of "$HOME"\\') == '"50%% of \\"$$HOME\\"\\\\"'
    assert quoted("") == '""'
    for bad in ("a\nExecStartPre=/bin/rm", "\x00", "\x7f"):
        with pytest.raises(ValueError, match="characters"):
            quoted(bad)


def test_a_machines_proxy_runs_as_a_user_of_its_own() -> None:
    unit = Service("remote", "system", COMMAND).unit()
    assert "User=sluice\n" in unit
    assert "XDG_DATA_HOME=/var/lib\n" in unit
    assert "WantedBy=multi-user.target" in unit
    assert sysusers() == 'u sluice - "Sluice" /var/lib/sluice\n'
    own = Service("local", "user", COMMAND).unit()
    assert "User=" not in own
    assert "WantedBy=default.target" in own

"""docs/observer.md: its table is the code's, its limits too, and its client runs as written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from monitor.observer import datagrams
from monitor.observer.observer import IDLE, MOST_CONNECTIONS, MOST_OF_ONE, Registration
from monitor.samples import SensorKind
from observation.reporter import RENEW
from tests.cli.commands import ROOT
from tests.observation.observed import daemon

GUIDE = ROOT / "docs" / "observer.md"
LAYOUTS = {
    "register": [datagrams.CONNECTION],
    "unregister": [datagrams.CONNECTION],
    "update": [datagrams.AT, datagrams.PROGRESS, datagrams.TRANSPORT],
    "getinfo": [datagrams.GETINFO],
    "getinfo_between": [],
    "answer": [datagrams.ANSWER],
    "info": [datagrams.ESTIMATE],
    "info_between": [datagrams.PATH],
}


def test_the_table_has_each_message_with_its_number_and_layout() -> None:
    rows = re.findall(r"^\| (\d) \| `(\w+)` \| (.*?) \| (.*?) \|$", GUIDE.read_text(), re.MULTILINE)
    assert [(int(number), name) for number, name, *_ in rows] == [
        (kind.value, kind.name.lower()) for kind in datagrams.DatagramKind
    ]
    for _, name, layout, _ in rows:
        assert re.findall(r"`(!.*?)`", layout) == [one.format for one in LAYOUTS[name]]
        assert ("two hosts" in layout) is (name in ("register", "getinfo_between"))


def test_numbers_in_the_text_are_the_code_s() -> None:
    text = re.sub(r"\s+", " ", GUIDE.read_text())
    assert f"version ({datagrams.VERSION})" in text
    for kind in SensorKind:
        assert f"{kind.value} *{kind.name.lower().replace('_', '-')}*" in text
    assert "0 done, 1 unknown, 2 taken by somebody else, 3 full" in text
    assert [one.name for one in Registration] == ["DONE", "UNKNOWN", "TAKEN", "FULL"]
    assert f"{MOST_CONNECTIONS:,} registrations, {MOST_OF_ONE:,} of one address" in text
    assert f"silent for {IDLE:.0f} s" in text and f"every {RENEW:.0f} s" in text
    assert f"1 to {datagrams.MOST_SAMPLES} samples" in text
    assert f"1 to {datagrams.HOST_BYTES} bytes" in text
    size = datagrams.HEADER.size + datagrams.AT.size + datagrams.PROGRESS.size
    assert f"{size} n f bytes/s" in text and f"{datagrams.TRANSPORT.size} bytes each" in text


def test_the_client_runs_as_written_against_the_program(tmp_path: Path) -> None:
    found = re.search(r"```python file=client.py\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    source = found[1]
    assert len(source.splitlines()) <= 26
    imported = re.search(r"^import (.*)$", source, re.MULTILINE)
    assert imported is not None
    assert {name.strip() for name in imported[1].split(",")} <= sys.stdlib_module_names
    with daemon(tmp_path) as there:
        source = source.replace("8120", str(there.port))
        done = subprocess.run(
            [sys.executable, "-I", "-c", source],
            capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert done.stderr == ""
    said = re.fullmatch(r"sensor 1: (\d+) bytes/s, [\d.]+ s ago, ([\d.]+) sure\n", done.stdout)
    assert said is not None, done.stdout
    assert 10_000 < int(said[1]) <= 100_000  # 5,000 each twentieth of a second, or later
    assert 0 < float(said[2]) <= 0.5

"""`python -m bench link`: a command behind a real link, and behind two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emulation.lines.profiles import profile
from emulation.worlds.behind import behind
from emulation.worlds.netns import NoNamespaces

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
LINKS = """
[harbour]
about = "a link of one's own"
rate_down = 2e6
rate_up = 1e6
delay = 0.05
"""
ASKS = """
import os, socket, time
with socket.socket() as asking:
    began = time.monotonic()
    asking.connect((os.environ["LINK_FAR"], %d))
    print(time.monotonic() - began, asking.recv(5).decode())
"""


def link(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", "link", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def links(tmp_path: Path) -> str:
    file = tmp_path / "links.toml"
    file.write_text(LINKS)
    return f"--profile={file}:harbour"


@pytest.fixture(scope="module")
def able() -> None:
    """Skips, with the reason, where no link can be made."""
    try:
        with behind(profile("fast")):
            pass
    except NoNamespaces as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("nested", [False, True])
def test_a_command_reaches_this_machine_over_the_link_alone(links: str, nested: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVES], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            asks = [sys.executable, "-c", ASKS % port]
            again = [sys.executable, "-m", "bench", "link", links, "--quiet", "--"]
            done = link(links, "--", *(again if nested else []), *asks)
        finally:
            server.kill()
    assert done.returncode == 0, done.stderr
    took, said = done.stdout.split()
    assert said == "hello"
    assert float(took) >= (0.2 if nested else 0.1)  # one round trip of each link
    assert "link harbour: " in done.stderr
    assert "99 % of packets" in done.stderr


SERVES = """
import socket
listener = socket.create_server(("0.0.0.0", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    connection.send(b"hello")
    connection.close()
"""


@pytest.mark.usefixtures("able")
def test_its_exit_code_is_the_command_s(links: str) -> None:
    assert link(links, "--", "sh", "-c", "exit 7").returncode == 7
    assert link(links, "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_a_profile_that_there_is_not_is_named(links: str) -> None:
    done = link(links.replace("harbour", "open-sea"), "--", "true")
    assert done.returncode == 2
    assert "no profile 'open-sea'; there are harbour" in done.stderr
    done = link("--profile=/nowhere/links.toml:harbour", "--", "true")
    assert done.returncode == 2
    assert "/nowhere/links.toml" in done.stderr
    done = link("--profile=384k")
    assert done.returncode == 2
    assert "COMMAND" in done.stderr

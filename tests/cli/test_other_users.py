"""Other users of the machine, and other devices, get nothing of a local proxy that runs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_proxy.front.users import user_at, user_listening
from tests.cli.commands import ROOT, STRANGER, Running, home, running, sluice

pytestmark = pytest.mark.alone

NOWHERE = ("--security=none", "--remote=127.0.0.1:1")
OWN = ("/", "/status.json", "/metrics", "/events", "/sites.json", "/savings.json", "/nothing")
CURL = shutil.which("curl")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
needs_curl = pytest.mark.skipif(CURL is None, reason="no curl on this machine")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    user = home(tmp_path_factory.mktemp("owner"))
    with running("local", *NOWHERE, "--listen=127.0.0.1:0", home=user) as proxy:
        yield proxy


def asked(proxy: Running, path: str, *more: str, user: int | None = None) -> tuple[int, str]:
    """Status and body of one of the proxy's own pages, for a program of that user."""
    assert CURL is not None
    command = (CURL, "-sS", "--max-time", "5", "-w", "\n%{http_code}", *more)
    where = f"http://{proxy.address}{path}" if path.startswith("/") else path
    done = subprocess.run(
        [*command, where], cwd="/", capture_output=True, text=True, check=False, user=user,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def strangers_socket() -> socket.socket:
    """One that another user has made."""
    os.seteuid(STRANGER)
    try:
        return socket.socket()
    finally:
        os.seteuid(0)


@needs_curl
@as_root
@pytest.mark.parametrize("path", OWN)
def test_a_stranger_is_shown_none_of_the_owners_pages(proxy: Running, path: str) -> None:
    status, body = asked(proxy, path, user=STRANGER)
    assert status == 403
    assert "token" not in body
    through = ("-x", f"http://{proxy.address}")
    assert asked(proxy, f"http://sluice.local{path}", *through, user=STRANGER)[0] == 403
    prior = ("--http2-prior-knowledge",)
    assert asked(proxy, path, *prior, user=STRANGER)[0] == 403


@needs_curl
@as_root
def test_a_stranger_changes_nothing_even_with_the_token(proxy: Running) -> None:
    token = asked(proxy, "/sites.json")[1].partition('"token":"')[2].partition('"')[0]
    assert len(token) > 20
    change = ("-d", '{"pattern": "a.test", "mode": "tunnel"}', "-H", f"x-sluice-token: {token}")
    for path in ("/sites", "/sites/forget", "/savings/erase", "/documents", "/documents/open/x"):
        assert asked(proxy, path, *change, user=STRANGER)[0] == 403
    assert "a.test" not in asked(proxy, "/sites.json")[1]
    assert asked(proxy, "/sites", *change)[0] == 200
    assert "a.test" in asked(proxy, "/sites.json")[1]


@needs_curl
@pytest.mark.parametrize("path", ["/", "/status.json", "/metrics", "/sites.json"])
def test_the_owner_is_shown_all_of_them(proxy: Running, path: str) -> None:
    assert asked(proxy, path)[0] == 200
    assert asked(proxy, path, "--http2-prior-knowledge")[0] == 200


@needs_curl
@as_root
@pytest.mark.parametrize("path", ["/setup", "/proxy.pac", "/setup.json", "/ca.pem", "/status.css"])
def test_how_to_set_a_browser_up_is_for_all(proxy: Running, path: str) -> None:
    assert asked(proxy, path, user=STRANGER)[0] == 200


@as_root
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system tells nobody")
def test_a_stranger_who_has_closed_is_not_taken_for_root() -> None:
    """The system lists a socket that no program holds as root's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = strangers_socket()
        client.connect(listener.getsockname())
        taken, peer = listener.accept()
        assert user_at(peer, listener.getsockname()) == STRANGER
        client.shutdown(socket.SHUT_WR)
        assert user_at(peer, listener.getsockname()) == STRANGER
        client.close()
        assert user_at(peer, listener.getsockname()) is None
        taken.close()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("listens", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system tells nobody")
def test_whose_a_connection_is_is_known_in_both_families(
    family: socket.AddressFamily, listens: socket.AddressFamily
) -> None:
    """An IPv6 socket may have IPv4 addresses, at either end."""
    if (family, listens) == (socket.AF_INET6, socket.AF_INET):
        host, bound = "::ffff:127.0.0.1", "127.0.0.1"
    elif listens == socket.AF_INET6:
        host, bound = ("127.0.0.1", "::") if family == socket.AF_INET else ("::1", "::")
    else:
        host = bound = "127.0.0.1"
    dual = listens == socket.AF_INET6
    with socket.create_server((bound, 0), family=listens, dualstack_ipv6=dual) as listener:
        port = listener.getsockname()[1]
        with socket.socket(family) as client:
            client.connect((host, port))
            taken, peer = listener.accept()
            with taken:
                here = taken.getsockname()[:2]
                plain = peer[0].removeprefix("::ffff:"), here[0].removeprefix("::ffff:")
                assert user_at((plain[0], peer[1]), (plain[1], port)) == os.getuid()
                assert user_at(peer[:2], here) == os.getuid()
                assert user_at((plain[0], port), (plain[1], peer[1])) is not None
                assert user_at((plain[0], 1), (plain[1], port)) is None
        assert user_listening(("::1" if dual else "127.0.0.1", port)) == os.getuid()


@as_root
def test_commands_do_not_trust_another_users_proxy(tmp_path: Path) -> None:
    """Who listens where the local proxy should be could pose as it, with an authority of his."""
    user = home(tmp_path)
    with strangers_socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        at = f"127.0.0.1:{listener.getsockname()[1]}"
        said = sluice("status", f"--proxy={at}", home=user)
        assert said.code == 1
        assert f"not yours but user {STRANGER}'s" in said.out + said.errors
        browsing = sluice("browse", f"--listen={at}", "--headless", home=user)
        assert browsing.code == 1
        assert f"not yours but user {STRANGER}'s" in browsing.errors


@needs_curl
@as_root
def test_where_the_system_does_not_tell_a_key_does(tmp_path: Path) -> None:
    user = home(tmp_path)
    blind = (
        "import runpy, sys; from pathlib import Path;"
        f" sys.argv[0] = {str(ROOT / 'sluice.py')!r}; sys.path.insert(0, {str(ROOT)!r});"
        " import local_proxy.front.users; local_proxy.front.users.FOLDER = Path('/nowhere');"
        " runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    flags = ("local", *NOWHERE, "--listen=127.0.0.1:0")
    with running(*flags, home=user, program=("-c", blind)) as proxy:
        kept = user.folder / ".local/share/sluice/key"
        assert kept.stat().st_mode & 0o077 == 0
        key = kept.read_text()
        assert asked(proxy, "/status.json")[0] == 403
        assert asked(proxy, "/status.json", "-H", f"x-sluice-key: {key}x")[0] == 403
        assert asked(proxy, "/status.json", "-H", f"x-sluice-key: {key}")[0] == 200
        assert asked(proxy, "/status.json", "-H", f"cookie: a=b; sluice-key={key}")[0] == 200
        assert asked(proxy, f"/?key={key}x")[0] == 403
        jar = ("-L", "-c", str(tmp_path / "jar"), "-b", str(tmp_path / "jar"))
        status, page = asked(proxy, f"/?key={key}", *jar)
        assert status == 200
        assert "<title>" in page
        done = subprocess.run(
            [sys.executable, "-c", blind, "status", f"--proxy={proxy.address}"], check=False,
            env=user.environment, cwd=user.here, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("link to 127.0.0.1:1")


# -- other devices ---------------------------------------------------------------------------------


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "device.example:0"])
def test_no_proxy_for_everybody_is_started(tmp_path: Path, listen: str) -> None:
    said = sluice("local", *NOWHERE, f"--listen={listen}", home=home(tmp_path))
    assert said.refused(listen, "allow_clients = [", "--allow-clients 192.168.1.0/24")


@pytest.mark.parametrize("network", ["192.168.1.0/99", "device.example", "", "10.0.0"])
def test_networks_are_checked(tmp_path: Path, network: str) -> None:
    user = home(tmp_path)
    user.write_settings(f'[local]\nallow_clients = ["{network}"]\n')
    said = sluice("local", *NOWHERE, "--listen=0.0.0.0:0", home=user)
    assert said.refused("local.allow_clients", repr(network), "192.168.1.0/24")


@pytest.fixture
def device() -> Iterator[tuple[str, str]]:
    """Another device on a cable of its own: the name of its namespace, and our address there."""
    name = f"sluice-{os.getpid()}"
    ours, theirs = f"sl{os.getpid() % 100000}a", f"sl{os.getpid() % 100000}b"
    steps = (
        ("netns", "add", name),
        ("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name),
        ("addr", "add", "203.0.113.1/24", "dev", ours),
        ("link", "set", ours, "up"),
        ("-n", name, "addr", "add", "203.0.113.7/24", "dev", theirs),
        ("-n", name, "link", "set", theirs, "up"),
    )
    try:
        for step in steps:
            done = subprocess.run(["ip", *step], capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"no namespaces here: {done.stderr.strip()}")
        yield name, "203.0.113.1"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", ours], capture_output=True, check=False)


def from_device(device: tuple[str, str], proxy: Running, path: str, *more: str) -> str:
    """Status of what another device gets; 000: nothing."""
    name, address = device
    curl = ("curl", "-sS", "-o", "/dev/null", "--max-time", "20", "-w", "%{http_code}", *more)
    command = ("ip", "netns", "exec", name, *curl, f"http://{address}:{proxy.port}{path}")
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.alone
@needs_curl
@as_root
@pytest.mark.skipif(shutil.which("ip") is None, reason="no iproute2 on this machine")
def test_only_the_devices_that_are_named_are_served(
    tmp_path: Path, device: tuple[str, str]
) -> None:
    user = home(tmp_path)
    flags = ("local", *NOWHERE, "--listen=0.0.0.0:0", "--allow-clients")
    with running(*flags, "198.51.100.0/24", home=user) as proxy:
        assert from_device(device, proxy, "/setup") == "000"
        assert "turned away" in proxy.errors
        assert "203.0.113.7" in proxy.errors
        for address in ("127.0.0.1", device[1]):  # this machine is served, whatever is allowed
            assert asked(proxy, f"http://{address}:{proxy.port}/status.json")[0] == 200
    with running(*flags, "203.0.113.0/24", home=user) as proxy:
        assert from_device(device, proxy, "/setup") == "200"
        assert from_device(device, proxy, "/proxy.pac") == "200"
        assert from_device(device, proxy, "/status.json") == "403"
        key = (user.folder / ".local/share/sluice/key").read_text()
        assert from_device(device, proxy, "/status.json", "-H", f"x-sluice-key: {key}") == "403"

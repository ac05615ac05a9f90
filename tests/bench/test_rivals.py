"""Other people's servers as peers: with the real ones where they are installed."""

from __future__ import annotations

import asyncio
import io
import shutil
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from PIL import Image

from bench.origins.endpoint import PageAccess
from bench.origins.site import Address, serve
from bench.pairs.peers import NAMES, in_world, peers
from bench.pairs.ports import free_port
from bench.rivals import mitmproxy, nginx, squid, ziproxy
from bench.rivals.forward import ForwardProxy
from bench.rivals.program import daemon, program
from bench.rivals.registry import RIVALS, Rival, line_up
from emulation.lines.profiles import profile
from emulation.worlds.cables import NoBackend

PAGE = b"<!doctype html><title>x</title><p>" + b"some text " * 400
SERVER = "import socket,sys,os\ns=socket.create_server(('127.0.0.1',int(sys.argv[1])))\n"
STAYS = SERVER + "s.accept()\nwhile True: s.accept()\n"
LEAVES = SERVER + (
    "ready, tell = os.pipe()\n"
    "if pid := os.fork(): os.read(ready, 1); print(pid); sys.exit()\n"
    "os.setsid(); os.fork(); os.write(tell, b'x')\n"
    "while True: s.accept()\n"
)
"""A daemon that has forked once more, as ziproxy does for each connection."""


def listens(address: Address) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(address) == 0


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "a site"
    folder.mkdir()
    (folder / "index.html").write_bytes(PAGE)
    noise = Image.effect_noise((400, 300), 60).convert("RGB")
    noise.save(folder / "photo.jpg", quality=90)
    return folder


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_serves_pages_and_is_gone_afterwards(name: str, site: Path) -> None:
    rival = RIVALS[name](site)
    if rival.missing:
        pytest.skip(f"{rival.missing} is not installed: make bench-peers")
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")

    async def go() -> tuple[bytes, bytes, int, bytes]:
        async with serve(site) as origin, rival.start(origin, profile("fast")) as endpoint:
            page, packed = await curl(endpoint, site, "index.html"), endpoint.statistics()
            photo = await curl(endpoint, site, "photo.jpg")
            spoken = await curl(endpoint, site, "index.html", "-o/dev/null", "-w%{http_version}")
        return page, photo, packed.bytes_down, spoken

    before = children()
    page, photo, packed, spoken = asyncio.run(go())
    assert page == PAGE
    assert packed < len(PAGE), "text travels packed"
    original = (site / "photo.jpg").read_bytes()
    if name == "ziproxy":
        assert len(photo) < len(original) / 2
        assert Image.open(io.BytesIO(photo)).size == (400, 300)
    else:
        assert photo == original
    assert spoken == (b"2" if name == "direct-h2" else b"1.1")
    assert children() <= before


def test_http2_is_measured_over_packets_with_headers_as_the_others_are(site: Path) -> None:
    http2 = nginx.DirectHttp2(site)
    if http2.missing:
        pytest.skip(f"{http2.missing} is not installed: make bench-peers")

    async def go() -> tuple[bytes, str, int]:
        async with in_world(http2, site, profile("fast"), backend="tun") as endpoint:
            page = await curl(endpoint, site, "photo.jpg")
            return page, endpoint.backend, endpoint.statistics().bytes_down

    try:
        photo, backend, down = asyncio.run(go())
    except NoBackend as error:
        pytest.skip(str(error))
    assert photo == (site / "photo.jpg").read_bytes()
    assert backend == "tun"
    assert down > 1.03 * len(photo), "headers are charged"


def test_over_https_the_pair_has_the_same_origin_as_the_browser_by_itself(site: Path) -> None:
    pair = nginx.SluiceToHttps(site)
    if pair.missing or shutil.which("curl") is None:
        pytest.skip("nginx or curl is not installed: make bench-peers")

    async def go() -> bytes:
        async with in_world(pair, site, profile("fast"), backend="relay") as endpoint:
            assert endpoint.base.startswith("https:")
            return await curl(endpoint, site, "index.html")

    assert asyncio.run(go()) == PAGE


async def curl(endpoint: PageAccess, folder: Path, path: str, *more: str) -> bytes:
    """A page as curl gets it, which believes the endpoint's authority and nobody else."""
    words = [*more, "--compressed", endpoint.base + path]
    for name, address in endpoint.resolve.items():
        words += ["--connect-to", f"{name}::{address}"]
    if endpoint.proxy:
        words += ["--noproxy", "", "--proxy", endpoint.proxy]
    if endpoint.authority:
        authority = folder.parent / "authority.pem"
        authority.write_bytes(endpoint.authority)
        words += ["--cacert", str(authority)]
    process = await asyncio.create_subprocess_exec(
        *endpoint.host.command("curl", "-sS", "--fail", "--max-time", "20", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err
    return out


def children() -> set[int]:
    """Processes that run one of the rivals, ours or adopted by the system."""
    names = {"nginx", "ziproxy", "squid", "mitmdump"}
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text()
        except OSError:
            continue
        name, rest = state.partition("(")[2].rpartition(")")[::2]
        if name in names and rest.split()[0] != "Z":
            found.add(int(folder.name))
    return found


def test_nothing_listens_beyond_the_machine(tmp_path: Path) -> None:
    at = "127.0.0.1"
    assert f'Address = "{at}"' in ziproxy.configuration(port=7).splitlines()
    assert "Port = 7" in ziproxy.configuration(port=7).splitlines()
    lines = squid.configuration(port=7).splitlines()
    assert [line for line in lines if "_port" in line] == [f"http_port {at}:7"]
    assert f"udp_incoming_address {at}" in lines
    words = mitmproxy.arguments(port=7, folder=tmp_path)
    assert words[:4] == ["--listen-host", at, "--listen-port", "7"]
    text = nginx.configuration(address=("127.0.0.1", 7), folder=tmp_path, site=tmp_path)
    listen = [line.strip() for line in text.splitlines() if line.strip().startswith("listen ")]
    assert listen == [f"listen {at}:7 ssl http2;"]


def test_pictures_are_as_poor_as_debian_s_ziproxy_makes_them() -> None:
    lines = ziproxy.configuration(port=7).splitlines()
    assert "ImageQuality = {30,25,25,20}" in lines
    assert "Gzip = true" in lines


@pytest.mark.parametrize("running, script", [(program, STAYS), (daemon, LEAVES)])
def test_a_process_is_awaited_and_gone_afterwards(
    tmp_path: Path, running: Callable[..., AbstractAsyncContextManager[Address]], script: str
) -> None:
    async def go() -> Address:
        port = free_port()
        command = (sys.executable, "-c", script, str(port))
        async with running(*command, port=port, folder=tmp_path) as address:
            assert listens(address)
        return address

    assert not listens(asyncio.run(go()))


@pytest.mark.parametrize("running", [program, daemon])
def test_a_process_that_does_not_start_says_why(
    tmp_path: Path, running: Callable[..., AbstractAsyncContextManager[Address]]
) -> None:
    async def go() -> None:
        command = ("sh", "-c", "echo no such option; exit 1")
        async with running(*command, port=free_port(), folder=tmp_path):
            pass

    with pytest.raises(OSError, match="did not start: no such option"):
        asyncio.run(go())


def test_who_is_not_installed_is_left_out_and_named(site: Path) -> None:
    def absent(_: Path) -> Rival:
        return ForwardProxy("ziproxy", None, ziproxy.running)

    def here(_: Path) -> Rival:
        return ForwardProxy("squid", "/bin/true", squid.running)

    found = line_up(["all"], site=site, rivals={"ziproxy": absent, "squid": here})
    assert [peer.name for peer in found.peers] == ["direct", "squid", "sluice"]
    assert found.absent == ["ziproxy was left out: ziproxy is not installed"]
    with pytest.raises(ValueError, match="ziproxy is not installed; `make bench-peers`"):
        line_up(["ziproxy"], site=site, rivals={"ziproxy": absent})


def test_starting_who_is_not_installed_says_so(site: Path) -> None:
    async def go() -> None:
        peer = ForwardProxy("ziproxy", None, ziproxy.running)
        async with peer.start(("127.0.0.1", 1), profile("fast")):
            pass

    with pytest.raises(FileNotFoundError, match="make bench-peers"):
        asyncio.run(go())


def test_an_unknown_peer_is_refused_with_all_names(site: Path) -> None:
    with pytest.raises(ValueError, match=r"no peer 'compy'; there are direct, .*mitmproxy, all"):
        line_up(["direct", "compy"], site=site)


def test_peers_are_found_once_each_in_the_order_asked_for(site: Path) -> None:
    found = line_up(["sluice", "direct", "sluice"], site=site)
    assert [peer.name for peer in found.peers] == ["sluice", "direct"]
    assert [peer.name for peer in peers(NAMES)] == list(NAMES)

"""Browsers' command lines are pure functions of the proxy and the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from browsers import chromium, firefox
from browsers.find import NoBrowser, find
from browsers.proxy import NEAR, Proxy, is_near
from local_proxy.front.tls.authority import Authority

PLAIN = Proxy(host="127.0.0.1", port=8118)
PAGE = "https://example.org/"


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Proxy]:
    authority = Authority.open(tmp_path_factory.mktemp("state"))
    proxy = Proxy(
        host="127.0.0.1", port=8118, certificate_pem=authority.certificate_pem, secure=True
    )
    return authority, proxy


def chromium_flags(proxy: Proxy, url: str = PAGE, *, root: bool = False) -> dict[str, str]:
    """Flags and their values; also checks that the page is last and can't be taken for a flag."""
    made = chromium.arguments(
        profile=Path("/tmp/p"), proxy=proxy, url=url, root=root, headless=False
    )
    assert made[-2:] == ["--", url]
    return {name: value for name, _, value in (flag.partition("=") for flag in made[:-2])}


def test_chromium_trusts_one_key_and_keeps_to_its_profile(
    trusted: tuple[Authority, Proxy],
) -> None:
    authority, proxy = trusted
    flags = chromium_flags(proxy)
    assert flags["--user-data-dir"] == "/tmp/p"
    assert flags["--proxy-server"] == "https://127.0.0.1:8118"
    assert flags["--ignore-certificate-errors-spki-list"] == authority.spki_sha256
    assert "--ignore-certificate-errors" not in flags
    assert "--no-sandbox" not in flags
    assert "--headless" not in flags
    assert "--no-sandbox" in chromium_flags(proxy, root=True)


def test_without_an_authority_nothing_is_trusted() -> None:
    flags = chromium_flags(PLAIN)
    assert flags["--proxy-server"] == "http://127.0.0.1:8118"
    assert not any("certificate" in flag for flag in flags)


def test_addresses_on_this_side_go_round_the_proxy_unless_asked_for() -> None:
    assert "192.168.0.0/16" in chromium_flags(PLAIN)["--proxy-bypass-list"]
    near = chromium_flags(PLAIN, "http://127.0.0.1:8000/")["--proxy-bypass-list"]
    assert near == "<-loopback>"
    away = firefox.preferences(proxy=PLAIN, url=PAGE)
    assert "192.168.0.0/16" in str(away["network.proxy.no_proxies_on"])
    assert away["network.proxy.allow_hijacking_localhost"] is False
    here = firefox.preferences(proxy=PLAIN, url="http://127.0.0.1:8000/")
    assert here["network.proxy.no_proxies_on"] == ""
    assert here["network.proxy.allow_hijacking_localhost"] is True


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://localhost/", True),
        ("http://printer/", True),
        ("http://[::1]:80/", True),
        ("http://10.1.2.3/", True),
        ("http://a.localhost/", True),
        ("https://example.org/", False),
        ("https://93.184.216.34/", False),
        ("http://sluice.local/", False),
        ("about:blank", False),
    ],
)
def test_what_is_near(url: str, near: bool) -> None:
    assert is_near(url) is near


def test_firefox_reaches_a_secure_proxy_by_a_script(trusted: tuple[Authority, Proxy]) -> None:
    values = firefox.preferences(proxy=trusted[1], url=PAGE)
    assert values["network.proxy.type"] == 2
    assert "HTTPS%20127.0.0.1%3A8118" in str(values["network.proxy.autoconfig_url"])
    plain = firefox.preferences(proxy=PLAIN, url=PAGE)
    assert plain["network.proxy.ssl_port"] == plain["network.proxy.http_port"] == 8118


def test_user_js_is_one_call_a_line_whatever_the_values() -> None:
    text = firefox.user_js({"a.b": True, "c": 5, "d": 'say "\n"', **firefox.preferences(
        proxy=PLAIN, url=PAGE
    )})  # fmt: skip
    assert 'user_pref("a.b", true);\n' in text
    assert 'user_pref("d", "say \\"\\n\\"");\n' in text
    for line in text.splitlines():
        assert re.fullmatch(r'user_pref\("[\w.-]+", (true|false|-?\d+|".*")\);', line), line


def test_firefox_keeps_to_its_profile() -> None:
    made = firefox.arguments(profile=Path("/tmp/p"), url=PAGE, headless=True)
    assert made[made.index("--profile") + 1] == "/tmp/p"
    assert {"--no-remote", "--new-instance", "--headless"} <= set(made)
    assert made[-1] == PAGE


# -- which one ---------------------------------------------------------------------------------


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_one_asked_for_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBrowser, match="apt-get install chromium"):
        find(None)
    with pytest.raises(NoBrowser, match="apt-get install firefox-esr"):
        find("firefox")
    fox = program(tmp_path, "firefox-esr")
    assert find(None).family == find("firefox").family == "firefox"
    with pytest.raises(NoBrowser, match="no Chromium"):
        find("chromium")
    program(tmp_path, "chromium")
    assert find(None).family == "chromium"
    assert find(str(fox)).path == str(fox)
    assert find(str(fox)).family == "firefox"
    assert find(str(program(tmp_path, "my-browser"))).family == "chromium"
    (tmp_path / "x-www-browser").symlink_to(fox)
    assert find("x-www-browser").family == "firefox"
    with pytest.raises(NoBrowser, match="not a program"):
        find(str(tmp_path / "nothing"))


def test_private_networks_on_the_other_side_are_not_reached_directly() -> None:
    """Excepted from what browsers reach without their proxy."""
    private = ("10.0.0.0/8", "192.168.128.0/17", "*.ship.lan", "fd00::/8")
    far = Proxy(host="h", port=1, private=private)
    assert set(far.near) == {"172.16.0.0/12", "192.168.0.0/17", "169.254.0.0/16"}
    assert Proxy(host="h", port=1).near == NEAR
    assert "192.168.0.0/17" in str(firefox.preferences(proxy=far, url="http://a.test/"))
    assert "10.0.0.0/8" not in str(firefox.preferences(proxy=far, url="http://a.test/"))

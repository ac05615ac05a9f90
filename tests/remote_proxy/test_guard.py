"""The guard knows in every notation what may be reached."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.reach.connector import is_ours
from remote_proxy.reach.guard import BAD_PORTS, Guard, entry
from remote_proxy.reach.hosts import Address, parse
from remote_proxy.reach.networks import Realm, realm

CLOSED = Guard()
FORBIDDEN = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    "168.63.129.16/32",
)
FORBIDDEN6 = (
    *("::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16"),
    *("3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "4000::/2"),
)


def within(network: str) -> st.SearchStrategy[IPv4Address]:
    found = IPv4Network(network)
    first = int(found.network_address)
    return st.integers(first, first + found.num_addresses - 1).map(IPv4Address)


def within6(network: str) -> st.SearchStrategy[IPv6Address]:
    found = IPv6Network(network)
    first = int(found.network_address)
    return st.integers(first, first + found.num_addresses - 1).map(IPv6Address)


def number(value: int) -> st.SearchStrategy[str]:
    """One number as inet_aton(3) reads it."""
    zeros = st.integers(0, 4).map("0".__mul__)
    return st.one_of(
        st.just(str(value)),
        zeros.map(lambda more: f"0x{more}{value:x}"),
        zeros.map(lambda more: f"0X{more}{value:X}"),
        zeros.map(lambda more: f"0{more}{value:o}" if value else "0"),
    )


@st.composite
def notation(draw: st.DrawFn, address: IPv4Address) -> str:
    """One of the ways to write an address, as long as a URL can hold it."""
    whole = int(address)
    parts = draw(st.integers(1, 4))
    heads = [whole >> (24 - 8 * at) & 255 for at in range(parts - 1)]
    numbers = [*heads, whole & (1 << (32 - 8 * (parts - 1))) - 1]
    text = ".".join(draw(number(value)) for value in numbers)
    wide = str.maketrans("0123456789.", "０１２３４５６７８９。")
    return draw(
        st.sampled_from(
            [
                text,
                text + ".",
                text.translate(wide),
                "".join(f"%{ord(char):02x}" for char in text),
                f"[::ffff:{address}]",
                f"[::ffff:{whole >> 16:x}:{whole & 0xFFFF:X}]",
                f"[0:0:0:0:0:FFFF:{address}]",
                f"[::{address}]",
                f"[64:ff9b::{address}]",
                f"[64:FF9B:1::{address}]",
                f"[2002:{whole >> 16:x}:{whole & 0xFFFF:x}::1]",
                f"[2001:0:{whole >> 16:x}:{whole & 0xFFFF:x}::]",
                f"[::ffff:{address}%25eth0]",
            ]
        )
    )


@given(st.sampled_from(FORBIDDEN).flatmap(within).flatmap(notation), st.booleans())
def test_no_notation_of_a_forbidden_address_is_let_through(text: str, tunnel: bool) -> None:
    assert CLOSED.host(parse(text), 80, tunnel=tunnel) is not None


@given(st.sampled_from(FORBIDDEN6).flatmap(within6), st.sampled_from(["", "%25lo", "%1"]))
def test_no_forbidden_ipv6_address_is_let_through(address: IPv6Address, zone: str) -> None:
    for text in (str(address), address.exploded.upper()):
        assert CLOSED.host(parse(f"[{text}{zone}]"), 443) is not None


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)), st.text("abcxyz.-", max_size=9))
def test_what_is_let_through_is_global(address: Address, name: str) -> None:
    """Python's own table, of whatever version, is the second opinion."""
    host = parse("a" + name.replace(".", ""))
    if CLOSED.address(host, address, 443) is None:
        assert address.is_global
        assert not address.is_multicast


@given(st.text("0123456789abcdefxX.", max_size=20))
def test_numbers_are_read_as_the_system_reads_them(text: str) -> None:
    try:
        expected = IPv4Address(socket.inet_aton(text))
    except OSError:
        return
    assert parse(text).address == expected


@given(st.text(max_size=30))
def test_any_text_is_a_host_or_none(text: str) -> None:
    try:
        host = parse(text)
    except ValueError:
        return
    assert CLOSED.host(host, 80) is None or str(CLOSED.host(host, 80))


@pytest.mark.parametrize(
    "text",
    ["1.1.1.1", "8.8.8.8", "[2606:4700::1111]", "example.com", "EXAMPLE.com.", "bücher.example",
     "0x.example", "127.0.0.1.example", "localhost.example", "[64:ff9b::1.1.1.1]", "1-2.3-4.to",
     "[::ffff:1.1.1.1]"],
)  # fmt: skip
def test_the_public_internet_is_open(text: str) -> None:
    assert CLOSED.host(parse(text), 80) is None
    assert CLOSED.host(parse(text), 443, tunnel=True) is None


@pytest.mark.parametrize(
    "text", ["", ".", "..", "a..b", ".a", "1.2.3.4.5", "256.1.1.1", "0x100000000", "1.2.3.08",
             "a.9z.1", "[::1", "[1:2]", "[:::]", "[1::2::3]", "9" * 5000, "a" * 254]
)  # fmt: skip
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


@pytest.mark.parametrize(
    ("allow", "text", "port", "opens"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 8081, False),
        ("127.0.0.1:8080", "127.0.0.2", 8080, False),
        ("127.0.0.1", "localhost", 9999, True),
        ("127.0.0.1", "[::1]", 80, False),
        ("127.0.0.1", "[::ffff:127.0.0.1]", 80, True),
        ("10.1.0.0/16", "10.1.2.3", 80, True),
        ("10.1.0.0/16", "10.2.2.3", 80, False),
        ("10.1.0.0/16:443", "10.1.2.3", 80, False),
        ("[::1]:80", "[::1]", 80, True),
        ("[::1]:80", "[::1]", 81, False),
        ("::1", "[::1]", 81, True),
        ("fd00::/8", "[fd12::1]", 81, True),
        ("fd00::/8", "[fd00:ec2::254]", 80, False),
        ("fd00:ec2::254", "[fd00:ec2::254]", 80, True),
        ("169.254.0.0/16", "169.254.169.254", 80, False),
        ("169.254.169.254", "169.254.169.254", 80, True),
        ("0.0.0.0/0", "100.100.100.200", 80, False),
        ("printer.local", "printer.local", 80, True),
        ("printer.local", "PRINTER.LOCAL.", 80, True),
        ("printer.local", "other.local", 80, False),
        ("*.local", "a.b.local", 80, True),
        ("printer.local:631", "printer.local", 80, False),
        ("fe80::/10", "[fe80::1%25eth0]", 80, False),
        ("1.1.1.1:25", "1.1.1.1", 25, True),
        ("1.1.1.1", "1.1.1.1", 25, False),
    ],
)
def test_the_allow_list(allow: str, text: str, port: int, opens: bool) -> None:
    assert (Guard([allow]).host(parse(text), port) is None) is opens


@pytest.mark.parametrize(
    ("allow", "name", "address", "opens"),
    [
        ("*.ship.lan", "web.ship.lan", "10.0.0.5", True),
        ("*.ship.lan", "ship.lan", "10.0.0.5", False),
        ("*.ship.lan", "evilship.lan", "10.0.0.5", False),
        ("intranet.example", "intranet.example", "127.0.0.1", True),
        ("intranet.example:80", "intranet.example", "fd00::5", True),
        ("intranet.example:81", "intranet.example", "fd00::5", False),
        ("intranet.example", "intranet.example", "169.254.169.254", False),
        ("intranet.example", "intranet.example", "fe80::1%eth0", False),
        ("intranet.example", "intranet.example", "100.100.100.200", False),
        ("intranet.example", "intranet.example", "224.0.0.1", False),
        ("10.0.0.0/24", "any.example", "10.0.0.5", True),
        ("10.0.0.0/24", "any.example", "::ffff:10.0.0.5", True),
    ],
)
def test_a_name_opens_sites_and_nothing_stranger(
    allow: str, name: str, address: str, opens: bool
) -> None:
    found = parse(address).address
    assert found is not None
    assert (Guard([allow]).address(parse(name), found, 80) is None) is opens


@pytest.mark.parametrize(
    "text", ["", "*", "*.", "http://a/", "a b", "10.0.0.1/8", "10.0.0.0/33", "a:0", "a:99999",
             "a:x", "a..b", "1.2.3", "[::1", "a/b", "-", "user@a", "é.example"]
)  # fmt: skip
def test_entries_that_are_none_name_themselves(text: str) -> None:
    with pytest.raises(ValueError) as raised:
        entry(text)
    assert repr(text) in str(raised.value)


def test_a_public_address_of_this_machine_is_this_machine() -> None:
    """Its firewall does not guard it against itself."""
    host, public = parse("www.example"), ip_address("1.2.3.4")
    refusal = CLOSED.address(host, public, 6379, ours=True)
    assert refusal is not None and Realm.OWN in str(refusal)
    assert Guard(["www.example:443"]).address(host, public, 443, ours=True) is None
    assert CLOSED.address(host, public, 6379) is None


def test_the_remote_proxy_itself_is_never_reached() -> None:
    guard = Guard(["0.0.0.0/0", "::/0", "localhost"])
    guard.listens(8119)
    for text in ("127.0.0.1", "localhost", "0.0.0.0", "[::1]", "127.9.9.9"):
        assert "itself" in str(guard.host(parse(text), 8119))
        assert guard.host(parse(text), 8118) is None
    assert guard.address(parse("a.example"), ip_address("1.2.3.4"), 8119, ours=True) is not None
    assert guard.address(parse("a.example"), ip_address("1.2.3.4"), 8119) is None


def test_ports() -> None:
    host = parse("mail.example")
    address = ip_address("1.1.1.1")
    assert CLOSED.address(host, address, 25, tunnel=True) is not None
    assert CLOSED.address(host, address, 993, tunnel=True) is None
    assert CLOSED.address(host, address, 22, tunnel=True) is None
    assert all(CLOSED.address(host, address, port) is not None for port in BAD_PORTS)
    assert not BAD_PORTS & {80, 443, 591, 8000, 8008, 8080, 8443, 8888}
    assert Guard(["mail.example:25"]).address(host, address, 25, tunnel=True) is None
    assert Guard(["mail.example"]).address(host, address, 25, tunnel=True) is not None


@pytest.mark.parametrize(
    ("text", "advised"),
    [("127.0.0.1", "127.0.0.1:80"), ("2130706433", "127.0.0.1:80"), ("[::1]", "[::1]:80"),
     ("localhost", "localhost:80"), ("printer.local", "printer.local:80"),
     ("169.254.169.254", "169.254.169.254:80")],
)  # fmt: skip
def test_what_a_refusal_advises_helps(text: str, advised: str) -> None:
    refusal = CLOSED.host(parse(text), 80)
    assert refusal is not None and f'allow = ["{advised}"]' in str(refusal)
    assert Guard([advised]).host(parse(text), 80) is None


def test_a_refusal_does_not_tell_where_a_name_leads() -> None:
    refusal = CLOSED.address(parse("intranet.example"), ip_address("10.77.66.55"), 80)
    assert refusal is not None
    assert "10.77" not in str(refusal) and "intranet.example:80" in str(refusal)


def test_this_machines_addresses_are_known() -> None:
    assert is_ours("127.0.0.1")
    assert not is_ours("1.1.1.1")
    assert not is_ours("2606:4700::1111")


def test_every_realm_has_an_address() -> None:
    found = {realm(ip_address(one)) for one in (
        "127.0.0.1", "10.0.0.1", "100.64.0.1", "169.254.169.254", "169.254.1.1", "224.0.0.1",
        "0.0.0.0", "192.0.2.1", "2002::1", "240.0.0.1", "1.1.1.1",
    )}  # fmt: skip
    assert found == {None, *Realm} - {Realm.OWN}

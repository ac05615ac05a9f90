"""The pairing string: what is printed is read again, what is damaged is told from a refusal."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairing.errors import PairingError
from pairing.invitation import CODE_SIZE, SCHEME, Invitation, format_address, parse, parse_address

ONE = Invitation("proxy.example", 8119, bytes(range(32)), bytes(range(100, 132)))
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

hosts = st.one_of(
    st.from_regex(r"[a-z0-9][a-z0-9.-]{0,40}", fullmatch=True),
    st.ip_addresses().map(str),
)
keys = st.binary(min_size=32, max_size=32)


@given(hosts, st.integers(1, 65535), keys, keys)
def test_what_is_printed_is_read_again(host: str, port: int, pin: bytes, seed: bytes) -> None:
    invitation = Invitation(host, port, pin, seed)
    assert parse(f"  {invitation}\n") == invitation
    assert len(str(invitation)) == len(SCHEME) + CODE_SIZE + 1 + len(invitation.address)


def test_its_form_is_fixed() -> None:
    assert str(ONE) == (
        "sluice://AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-"
        "f4CBgoPI1-A7@proxy.example:8119"
    )


def test_the_seed_stays_out_of_logs() -> None:
    assert "seed" not in repr(ONE)
    assert ONE.seed.hex() not in repr(ONE)


@given(st.integers(0, CODE_SIZE - 1), st.sampled_from(ALPHABET))
def test_one_wrong_character_is_found(at: int, letter: str) -> None:
    text = str(ONE)
    place = len(SCHEME) + at
    damaged = text[:place] + letter + text[place + 1 :]
    if damaged != text:
        with pytest.raises(PairingError, match="damaged"):
            parse(damaged)


@given(st.integers(0, len(str(ONE)) - 1))
def test_any_end_that_is_missing_is_found_or_leaves_another_port(length: int) -> None:
    try:
        assert parse(str(ONE)[:length]).port in (8, 81, 811)
    except PairingError as error:
        assert str(error)


@given(st.text(max_size=700))
def test_any_text_is_answered_with_an_error(text: str) -> None:
    for damaged in (text, SCHEME + text, f"{SCHEME}{text}@{text}", f"{str(ONE)[:-18]}@{text}:1"):
        try:
            parsed = parse(damaged)
        except PairingError as error:
            assert str(error)
        else:
            assert parsed.seed == ONE.seed


@given(st.integers(9, 100), st.sampled_from("é \t\n%+/=@:\0"))
def test_a_character_that_none_can_be_is_named(at: int, letter: str) -> None:
    with pytest.raises(PairingError):
        parse(str(ONE)[:at] + letter + str(ONE)[at:])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with sluice://"),
        ("https://proxy.example", "begins with sluice://"),
        (str(ONE)[:60], "it was cut"),
        (f"{SCHEME}abc@h:1", "89 characters of the pairing string were lost"),
        (str(ONE).replace("@", "AA@"), "2 characters of the pairing string are too many"),
        (str(ONE).replace("AQAB", "AQ+B"), r"has a '\+' where none can be"),
        (str(ONE).replace("8119", "99999"), "not an address"),
        (str(ONE).replace(":8119", ""), "not an address"),
        (str(ONE).replace(":8119", ":0"), "not an address"),
        (str(ONE).replace("8119", "٨١١٩"), "not an address"),
        (str(ONE) + "1" * 2000, "long"),
        (str(ONE) + ",", "not an address"),
        (str(ONE) + ",h:0", "not an address"),
        (str(ONE) + "".join(f",h{number}:1" for number in range(8)), "9 addresses"),
    ],
)
def test_errors_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(PairingError, match=message):
        parse(text)


def test_a_string_of_another_version_is_said_to_be_that() -> None:
    body = b"\x02" + ONE.pin + ONE.seed
    code = base64.urlsafe_b64encode(body + hashlib.sha256(body).digest()[:4]).decode()
    with pytest.raises(PairingError, match="version 2, this program knows 1"):
        parse(f"{SCHEME}{code}@h:1")


@pytest.mark.parametrize("address", ["a.test:80", "[::1]:8118", "192.0.2.7:1"])
def test_addresses_are_printed_as_they_are_read(address: str) -> None:
    assert format_address(*parse_address(address)) == address


def test_a_string_can_name_several_addresses_each_once() -> None:
    more = (("2001:db8::1", 443), ("other.example", 8119))
    several = Invitation(ONE.host, ONE.port, ONE.pin, ONE.seed, more)
    assert several.address == "proxy.example:8119,[2001:db8::1]:443,other.example:8119"
    assert parse(str(several)) == several
    assert parse(str(several) + ", proxy.example:8119") == several

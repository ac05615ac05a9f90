"""Tests of the daemon's datagrams: they say what was said, and nothing else passes for one."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.observer.datagrams import (
    AT,
    HEADER,
    MOST,
    MOST_SAMPLES,
    PROGRESS,
    TRANSPORT,
    Datagram,
    DatagramFault,
    DatagramKind,
    GetInfo,
    GetInfoBetween,
    Info,
    InfoBetween,
    Register,
    RegistrationAnswer,
    SensorEstimate,
    Unregister,
    Update,
    decode,
    encode,
    encode_update,
)
from monitor.observer.observer import Registration
from monitor.samples import ProgressSample, SensorKind, TransportSample
from tests.monitor.facts import transport

names = st.integers(0, 2**64 - 1)
tags = st.integers(0, 255)
kinds = st.sampled_from(SensorKind)
hosts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
numbers = st.floats(0, 1e9, width=32)
small = st.integers(0, 255)
words = st.integers(0, 2**32 - 1)
progress = st.builds(ProgressSample, names, names)
facts = st.builds(
    TransportSample, names, small, small, small, *[words] * 9, names, *[words] * 3, names, words
)
updates = st.one_of(
    st.builds(
        Update,
        st.sampled_from([SensorKind.APP_SND, SensorKind.APP_RCV]),
        st.floats(-1e9, 1e9),
        st.lists(progress, min_size=1, max_size=5),
    ),
    st.builds(
        Update,
        st.just(SensorKind.TRANSPORT),
        st.floats(-1e9, 1e9),
        st.lists(facts, min_size=1, max_size=5),
    ),
)
estimates = st.builds(SensorEstimate, kinds, numbers, numbers, st.floats(0, 1e300))
datagrams = st.one_of(
    updates,
    st.builds(Register, names, kinds, hosts, hosts, tags),
    st.builds(Unregister, names, kinds, tags),
    st.builds(GetInfo, names, tags),
    st.builds(GetInfoBetween, hosts, hosts, tags, st.none() | kinds),
    st.builds(RegistrationAnswer, names, st.sampled_from(Registration), tags),
    st.builds(Info, st.lists(estimates, max_size=3).map(tuple), tags),
    st.builds(InfoBetween, words, numbers, numbers, st.floats(0, 1e300), tags),
)


@given(datagrams)
def test_what_is_encoded_is_decoded(said: Datagram) -> None:
    assert decode(encode(said)) == said


@given(datagrams, st.integers(1, 40))
def test_what_is_cut_off_is_none_or_a_shorter_list(said: Datagram, cut: int) -> None:
    data = encode(said)
    try:
        found = decode(data[:-cut])
    except DatagramFault:
        return
    if isinstance(said, Update):
        assert isinstance(found, Update)
        assert found.samples == said.samples[: len(found.samples)] != said.samples
    else:
        assert isinstance(said, Info)
        assert found == Info(said.estimates[: len(said.estimates) - cut // 20], said.tag)


@given(datagrams, st.binary(min_size=1, max_size=15))
def test_bytes_behind_it_are_a_fault(said: Datagram, more: bytes) -> None:
    with pytest.raises(DatagramFault):
        decode(encode(said) + more)


@given(st.binary(max_size=200))
def test_noise_is_a_fault_or_means_what_it_says(data: bytes) -> None:
    try:
        said = decode(data)
    except DatagramFault:
        return
    assert decode(encode(said)) == said


@given(datagrams, st.data())
def test_a_datagram_with_a_byte_changed_is_a_fault_or_another(
    said: Datagram, data: st.DataObject
) -> None:
    spoilt = bytearray(encode(said))
    place = data.draw(st.integers(0, len(spoilt) - 1))
    spoilt[place] ^= data.draw(st.integers(1, 255))
    try:
        decode(bytes(spoilt))
    except DatagramFault as fault:
        assert str(fault)


def with_header(kind: int, body: bytes, *, sensor: int = 1, version: int = 1) -> bytes:
    return HEADER.pack(version, kind, sensor, 0) + body


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no header"),
        (b"\x01\x03\x01", "no header"),
        (with_header(4, bytes(12), version=2), "version 2"),
        (with_header(0, b""), "DatagramKind"),
        (with_header(99, b""), "DatagramKind"),
        (with_header(3, bytes(8)), "an update of 8 bytes"),
        (with_header(3, bytes(8 + 17)), "an update of 25 bytes"),
        (with_header(3, bytes(8 + 16), sensor=3), "an update of 24 bytes"),
        (with_header(3, bytes(8 + 16), sensor=0), "no sensor"),
        (with_header(3, AT.pack(float("nan")) + bytes(16)), "a time"),
        (with_header(3, AT.pack(float("inf")) + bytes(16)), "a time"),
        (with_header(3, bytes(8 + 16 * (MOST_SAMPLES + 1))), "an update of"),
        (with_header(1, bytes(8)), "host"),
        (with_header(1, bytes(8) + b"\x00\x01a"), "host"),
        (with_header(1, bytes(8) + b"\x01a\x05bcd"), "cut off"),
        (with_header(1, bytes(8) + b"\x01a\x01bX"), "behind"),
        (with_header(1, bytes(8) + b"\x01\xff\x01b"), "utf-8"),
        (with_header(1, bytes(3)), "host"),
        (with_header(2, bytes(7)), "8 bytes"),
        (with_header(4, bytes(8)), "12 bytes"),
        (with_header(6, bytes(8) + b"\x09"), "Registration"),
        (with_header(7, bytes(80)), "80 bytes of estimates"),
        (with_header(7, struct.pack("!B3xffd", 1, float("nan"), 0, 0)), "numbers"),
        (with_header(8, struct.pack("!Iffd", 1, 0, 0, float("inf"))), "numbers"),
    ],
)
def test_what_breaks_the_layout_is_said(data: bytes, said: str) -> None:
    with pytest.raises(DatagramFault, match=said):
        decode(data)


def test_what_has_no_place_is_refused_before_it_is_sent() -> None:
    for wrong in (
        Register(1, SensorKind.APP_SND, "", "b"),
        Register(1, SensorKind.APP_SND, "a" * 256, "b"),
        Register(2**64, SensorKind.APP_SND, "a", "b"),
        GetInfo(-1, 1),
    ):
        with pytest.raises(ValueError):
            encode(wrong)
    with pytest.raises(ValueError, match="513 samples"):
        encode_update(SensorKind.APP_SND, [ProgressSample(1, 1)] * 513, at=0.0)


def test_an_update_of_one_application_is_28_bytes_and_forty_transports_are_one_datagram() -> None:
    one = encode_update(SensorKind.APP_RCV, [ProgressSample(1, 1)], at=0.0)
    assert len(one) == 28 == HEADER.size + AT.size + PROGRESS.size
    many = encode_update(SensorKind.TRANSPORT, [transport()] * MOST_SAMPLES, at=0.0)
    assert len(many) == 12 + TRANSPORT.size * MOST_SAMPLES < MOST
    assert isinstance(decode(many), Update)
    assert many[1] == DatagramKind.UPDATE

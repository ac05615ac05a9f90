"""TLS records of a link, cut anywhere: their cost, how their arrival is counted, how they end."""

from __future__ import annotations

import asyncio
import bisect
import itertools
import shutil
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulation.memory.secured import SecuredEnds, paired
from pairing.identity import new_identity
from tests.transport.tls_ends import Quiet, device, serving
from tests.watched import run, until
from transport.link.interface import LinkError
from transport.link.records import Plain
from transport.stream import one_connection
from transport.stream.endpoint import Endpoint
from transport.tcp.security import ServerSecurity
from transport.tcp.tls import LARGEST_RECORD, RECORD_OVERHEAD, RecordProgress, TlsRecords
from wire.frames import Control, Data, FrameReader, FrameWriter, Report


async def _records(ends: SecuredEnds | None = None) -> tuple[TlsRecords, TlsRecords]:
    """Both ends' after a handshake."""
    ends = ends or paired()
    a, b = socket.socketpair()
    with a, b:
        a.setblocking(False)
        b.setblocking(False)
        far, near = await asyncio.gather(ends.server.secure(a), ends.client.secure(b))
    return near, far


def _pair_of_records() -> tuple[TlsRecords, TlsRecords]:
    return asyncio.run(_records())


SIZES = st.one_of(st.integers(0, 2000), st.sampled_from((16_383, 16_384, 16_385, 32_768, 40_000)))
CUTS = st.lists(st.sampled_from((1, 5, 21, 22, 23, 400, 1460, 65_536)), min_size=1, max_size=30)


@settings(max_examples=50, deadline=None)
@given(st.lists(SIZES, max_size=6), CUTS)
def test_chunks_come_out_as_they_went_in_however_the_bytes_are_cut(
    sizes: list[int], cuts: list[int]
) -> None:
    near, far = _pair_of_records()
    chunks = [bytes([number]) * size for number, size in enumerate(sizes)]
    for sender, receiver in ((near, far), (far, near)):
        sent = b"".join(sender.protect(chunk) for chunk in chunks)
        got, turns = b"", itertools.cycle(cuts)
        if max(cuts) < 400:
            turns = itertools.cycle([*cuts, 65_536])  # not byte by byte for ever
        while sent:
            cut = next(turns)
            plain, reply = receiver.unprotect(sent[:cut])
            assert reply == b""
            got += plain
            sent = sent[cut:]
        assert got == b"".join(chunks)


@pytest.mark.parametrize("size", [1, 384, 1400, LARGEST_RECORD])
def test_a_record_costs_twenty_two_bytes_and_leaves_nothing_behind(size: int) -> None:
    near, far = _pair_of_records()
    record = near.protect(bytes(size))
    assert len(record) == size + RECORD_OVERHEAD == size + 22
    assert near.protect(b"") == b""
    assert far.unprotect(record) == (bytes(size), b"")


@given(st.lists(st.integers(17, 900), min_size=1, max_size=6), st.data())
def test_how_much_of_a_record_is_here_is_known_at_every_byte(
    lengths: list[int], data: st.DataObject
) -> None:
    stream = b"".join(b"\x17\x03\x03" + length.to_bytes(2) + bytes(length) for length in lengths)
    begins = [0, *itertools.accumulate(length + 5 for length in lengths)]
    progress, at = RecordProgress(), 0
    while at < len(stream):
        cut = data.draw(st.integers(1, 700))
        progress.feed(stream[at : at + cut])
        at = min(at + cut, len(stream))
        number = bisect.bisect_right(begins, at) - 1
        inside = at - begins[number] - 5
        expected = 0 if number == len(lengths) else max(0, min(inside, lengths[number] - 17))
        assert progress.plaintext == expected


def test_what_arrives_is_counted_before_it_can_be_read() -> None:
    near, far = _pair_of_records()
    record = near.protect(bytes(384))
    assert far.arriving == 0
    assert far.unprotect(record[:105]) == (b"", b"")
    assert far.arriving == 100
    far.unprotect(record[105:-1])
    assert far.arriving == 384
    assert far.unprotect(record[-1:]) == (bytes(384), b"")
    assert far.arriving == 0


@given(st.integers(0, 600), st.booleans())
def test_of_a_part_of_a_record_never_too_much_is_reported(here: int, with_report: bool) -> None:
    """The sender's gate takes a report of more than was sent for a broken protocol."""
    frame = FrameWriter().encode(Data(2, bytes(500)))
    report = FrameWriter().encode(Report(0, 0)) if with_report else b""
    here = min(here, len(report + frame))
    endpoint = Endpoint(Quiet(), now=0.0)
    assert endpoint.receive(1.0, b"", arriving=here) == []
    said = endpoint.next_chunk(1.0)
    counted = 0
    if said is not None:
        (first,) = FrameReader().feed(said)
        assert isinstance(first, Report)
        counted = first.received
    assert here - len(FrameWriter().encode(Report(0, 0))) <= counted
    assert counted <= max(0, here - len(report))
    endpoint.receive(2.0, report + frame)
    after = endpoint.next_chunk(2.0)
    if after is not None:
        for one in FrameReader().feed(after):  # padding, too
            counted = one.received if isinstance(one, Report) else counted
    assert counted == len(frame)


def test_a_long_chunk_takes_a_record_for_each_sixteen_kilobytes() -> None:
    near, far = _pair_of_records()
    records = near.protect(bytes(65_536 + 10))
    assert len(records) == 65_536 + 10 + 5 * RECORD_OVERHEAD
    assert far.unprotect(records)[0] == bytes(65_536 + 10)


def test_a_farewell_is_told_from_a_connection_that_broke() -> None:
    near, far = _pair_of_records()
    with pytest.raises(LinkError, match="broke"):
        far.ended()
    assert far.unprotect(near.protect(b"last") + near.farewell()) == (b"last", b"")
    far.ended()
    near, far = _pair_of_records()
    far.unprotect((near.protect(b"last") + near.farewell())[:-1])
    with pytest.raises(LinkError, match="broke"):
        far.ended()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 421), st.integers(1, 255))
def test_a_changed_byte_is_found(at: int, change: int) -> None:
    near, far = _pair_of_records()
    record = bytearray(near.protect(bytes(400)))
    record[at] ^= change
    try:
        plain, _ = far.unprotect(bytes(record))
    except LinkError as error:
        assert "protection failed" in str(error)
    else:
        assert plain == b""  # a longer length: the rest has not come
        with pytest.raises(LinkError):
            far.ended()


def test_a_cut_connection_is_no_clean_end() -> None:
    async def go() -> None:
        async with serving() as (server, ends):
            near, quiet = (
                await one_connection.connect(*server.address, security=ends.client),
                Quiet(),
            )
            near.start(quiet, quiet)
            await until(lambda: quiet.frames)
            server.socket().shutdown(socket.SHUT_WR)  # somebody in between does that
            error = await quiet.end()
            assert isinstance(error, LinkError)
            assert "without the peer's farewell" in str(error)

    run(go())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")
def test_a_peer_may_update_its_keys_and_ask_for_ours(tmp_path: Path) -> None:
    """As OpenSSL's own client does at the command K."""

    async def go() -> None:
        remote, one = new_identity(), device()
        (tmp_path / "pem").write_bytes(one.pem)
        ends = SecuredEnds(ServerSecurity(remote.pem, {one.certificate: "x"}), paired().client)
        async with serving(ends) as (server, _):
            client = await asyncio.create_subprocess_exec(
                "openssl", "s_client", "-connect", f"127.0.0.1:{server.address[1]}",
                "-cert", str(tmp_path / "pem"), "-key", str(tmp_path / "pem"),
                stdin=-1, stdout=-1, stderr=-1,
            )  # fmt: skip
            assert client.stdin
            assert client.stdout
            assert client.stderr
            try:
                await client.stdout.readuntil(b"hello")
                for number in range(3):
                    client.stdin.write(b"K\n")
                    await client.stderr.readuntil(b"KEYUPDATE")
                    client.stdin.write(FrameWriter().encode(Control(bytes([48 + number]))))
                    await until(lambda number=number: len(server.ends[0].frames) > number)
                    server.ends[0].sending.append(Control(b"answer"))
                    server.links[0].wake()
                    await client.stdout.readuntil(b"answer")
                assert server.ends[0].frames == [Control(b"0"), Control(b"1"), Control(b"2")]
            finally:
                client.kill()
                await client.communicate()

    run(go())


def test_plain_records_change_nothing() -> None:
    plain = Plain()
    assert plain.protect(b"x") == b"x"
    assert plain.unprotect(b"x") == (b"x", b"")
    assert plain.farewell() == b""
    plain.ended()
    assert plain.peer is None

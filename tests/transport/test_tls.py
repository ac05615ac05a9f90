"""TLS on the link: who gets in, what strangers learn, and records without a hidden queue."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import itertools
import logging
import secrets
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bench.links.secured import Ends, paired
from pairing.identity import Identity, device_identity, new_identity
from transport import single
from transport.endpoint import Endpoint
from transport.handshakes import MOST, Handshakes, network_of
from transport.link import LinkError, NotTrusted
from transport.records import Peer, Plain
from transport.security import ClientSecurity, ServerSecurity, is_loopback, spki_pin
from transport.tcp import Listener
from transport.tcp_link import TcpLink
from transport.tls import LARGEST_RECORD, RECORD_OVERHEAD, RecordProgress, TlsRecords
from wire.frames import Control, Data, FrameReader, FrameWriter, Report

Address = tuple[str, int]


def run(main: Coroutine[Any, Any, None], *, seconds: float = 20.0) -> None:
    """Also fails for errors that nobody saw."""

    async def watched() -> None:
        unseen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        async with asyncio.timeout(seconds):
            await main
        for _ in range(5):  # what was closed just now takes its leave
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert not unseen

    asyncio.run(watched())


async def until(true: Callable[[], object]) -> None:
    while not true():  # noqa: ASYNC110 - many sorts of state are waited for
        await asyncio.sleep(0.002)


def device() -> Identity:
    return device_identity(secrets.token_bytes(32))


class Quiet:
    """A session's end that sends what it is given and remembers what it hears."""

    quantum = 1024

    def __init__(self, *frames: Data | Control) -> None:
        self.sending = list(frames)
        self.frames: list[Data | Control] = []
        self.closed: list[LinkError | None] = []

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        return self.sending.pop(0) if self.sending else None

    def frames_received(self, frames: Any, *, now: float) -> None:
        self.frames += frames

    def link_closed(self, error: LinkError | None) -> None:
        self.closed.append(error)

    async def end(self) -> LinkError | None:
        await until(lambda: self.closed)
        return self.closed[0]


class Server:
    """A listening end; starts each link that it is given."""

    def __init__(self, security: ServerSecurity) -> None:
        self.security = security
        self.links: list[TcpLink] = []
        self.ends: list[Quiet] = []
        self.address: Address = ("", 0)
        self.listener: Listener | None = None

    def accept(self, link: TcpLink) -> None:
        end = Quiet(Control(b"hello"))
        self.links.append(link)
        self.ends.append(end)
        link.start(end, end)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Server]:
        async with await single.serve(
            "127.0.0.1", 0, self.accept, security=self.security
        ) as listener:
            self.listener, self.address = listener, listener.address
            try:
                yield self
            finally:
                for link in self.links:
                    link.close()


@asynccontextmanager
async def serving(ends: Ends | None = None) -> AsyncIterator[tuple[Server, Ends]]:
    ends = ends or paired("phone")
    async with Server(ends.server).listening() as server:
        yield server, ends


async def answer_to(address: Address, data: bytes) -> bytes:
    """All that comes back to somebody who says this, until the connection ends."""
    loop = asyncio.get_running_loop()
    with socket.socket() as stranger:
        stranger.setblocking(False)
        await loop.sock_connect(stranger, address)
        answer = b""
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(stranger, data)
            stranger.shutdown(socket.SHUT_WR)
            while more := await loop.sock_recv(stranger, 65536):
                answer += more
        return answer


async def tls_answer_to(address: Address, context: ssl.SSLContext) -> tuple[str, bytes]:
    """What OpenSSL as a stranger sees: how its handshake or first read ends, and the plain bytes.

    The bytes are what crossed the socket and what TLS made of it.
    """
    loop = asyncio.get_running_loop()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing)
    seen = b""
    with socket.socket() as stranger:
        stranger.setblocking(False)
        await loop.sock_connect(stranger, address)
        work: Callable[[], object] = tls.do_handshake
        while True:
            try:
                work()
                seen += tls.getpeercert(binary_form=True) or b""
                work = lambda: tls.read(1)  # noqa: E731
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                return error.reason or "", seen
            await loop.sock_sendall(stranger, outgoing.read())
            data = await loop.sock_recv(stranger, 65536)
            if not data:
                return "closed", seen
            seen += data
            incoming.write(data)


def client_context(
    identity: Identity | None, tmp_path: Path, *, newest: ssl.TLSVersion | None = None
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if newest is not None:
        context.maximum_version = newest
    if identity is not None:
        (tmp_path / "identity.pem").write_bytes(identity.pem)
        context.load_cert_chain(tmp_path / "identity.pem")
    return context


def names_the_software(data: bytes) -> bool:
    return any(word in data.lower() for word in (b"sluice", b"proxy", b"python", b"pairing"))


# -- who gets in -----------------------------------------------------------------------------------


def test_a_paired_device_is_let_in_and_known_by_its_name() -> None:
    async def go() -> None:
        async with serving() as (server, ends):
            near, quiet = await single.connect(*server.address, security=ends.client), Quiet()
            near.start(quiet, quiet)
            await until(lambda: quiet.frames)
            (far,) = server.links
            assert far.peer is not None
            assert far.peer.name == "phone"
            assert near.peer is not None
            assert near.peer.name == ""
            near.close()
            assert await server.ends[0].end() is None

    run(go())


def test_what_comes_right_behind_the_handshake_is_not_lost() -> None:
    async def go() -> None:
        async with serving() as (server, ends):
            quiet = Quiet(*(Data(2, bytes([number]) * 300) for number in range(3)))
            near = await single.connect(*server.address, security=ends.client)
            near.start(quiet, quiet)  # its first bytes travel with the last of the handshake
            await until(lambda: server.ends and len(server.ends[0].frames) == 3)
            near.close()

    run(go())


@pytest.mark.parametrize("revoked", [False, True])
def test_a_device_that_is_not_known_is_told_so(revoked: bool) -> None:
    async def go() -> None:
        ends = paired()
        if revoked:
            ends.server.let_in({device().certificate: "another"})
        else:
            ends = Ends(ends.server, ClientSecurity(device().pem, pin=_pin_of(ends)))
        async with serving(ends) as (server, _):
            near, quiet = await single.connect(*server.address, security=ends.client), Quiet()
            near.start(quiet, quiet)
            error = await quiet.end()
            assert isinstance(error, NotTrusted)
            assert "does not know this device" in str(error)
            assert "sluice pair" in str(error)
            assert server.links == []

    run(go())


def test_one_of_many_devices_is_let_in() -> None:
    async def go() -> None:
        remote, devices = new_identity(), [device() for _ in range(40)]
        known = {one.certificate: f"device-{i}" for i, one in enumerate(devices)}
        async with serving(Ends(ServerSecurity(remote.pem, known), paired().client)) as (server, _):
            for one in (devices[0], devices[20], devices[39]):
                security = ClientSecurity(one.pem, pin=remote.pin)
                near, quiet = await single.connect(*server.address, security=security), Quiet()
                near.start(quiet, quiet)
                await until(lambda quiet=quiet: quiet.frames)
                near.close()
            names = [link.peer.name for link in server.links if link.peer]
            assert names == ["device-0", "device-20", "device-39"]

    run(go())


def test_a_device_is_revoked_while_it_shakes_hands() -> None:
    async def go() -> None:
        ends = paired()
        a, b = socket.socketpair()
        with a, b:
            a.setblocking(False)
            b.setblocking(False)
            shaking = asyncio.ensure_future(ends.server.secure(a))
            await asyncio.sleep(0)
            ends.server.let_in({})
            await ends.client.secure(b)
            with pytest.raises(NotTrusted, match="no paired device's"):
                await shaking

    run(go())


def test_another_remote_gets_nothing_of_the_device_not_even_its_certificate() -> None:
    async def go() -> None:
        ends, impostor = paired(), new_identity()
        victim = device()
        security = ClientSecurity(victim.pem, pin=_pin_of(ends))
        a, b = socket.socketpair()
        with a, b:
            a.setblocking(False)
            b.setblocking(False)
            fake = ServerSecurity(impostor.pem, {victim.certificate: "victim"})
            shaking = asyncio.ensure_future(fake.secure(a))
            with pytest.raises(NotTrusted, match="not the remote that this device was paired with"):
                await security.secure(b)
            b.close()
            with pytest.raises(LinkError, match="closed the connection in the handshake"):
                await shaking

    run(go())


def test_a_key_that_a_device_has_vouched_for_is_not_let_in() -> None:
    """To OpenSSL a device's certificate is an authority; to us it is not."""
    from datetime import UTC, datetime

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    async def go() -> None:
        remote, good = new_identity(), device()
        authority = load_pem_private_key(good.pem, password=None)
        assert isinstance(authority, Ed25519PrivateKey)
        key = Ed25519PrivateKey.generate()
        issuer = x509.load_der_x509_certificate(good.certificate)
        vouched = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "friend")]))
            .issuer_name(issuer.subject)
            .public_key(key.public_key())
            .serial_number(2)
            .not_valid_before(datetime(2000, 1, 1, tzinfo=UTC))
            .not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
            .sign(authority, None)
        )
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        pem = vouched.public_bytes(Encoding.PEM) + secret
        server = ServerSecurity(remote.pem, {good.certificate: "good"})
        a, b = socket.socketpair()
        with a, b:
            a.setblocking(False)
            b.setblocking(False)
            shaking = asyncio.ensure_future(server.secure(a))
            await ClientSecurity(pem, pin=remote.pin).secure(b)
            with pytest.raises(NotTrusted):
                await shaking

    run(go())


def _pin_of(ends: Ends) -> bytes:
    return ends.client._pin


# -- strangers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\x40\x00\x08\x94\x01\x91\x01\xa1x\xa1y",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\x16\x03\x01\x40\x00" + bytes(16384),
        bytes(100_000),
    ],
)
def test_plain_bytes_get_no_answer_that_names_the_software(data: bytes) -> None:
    async def go() -> None:
        async with serving() as (server, _):
            answer = await answer_to(server.address, data)
            assert not names_the_software(answer)
            assert len(answer) <= 7  # an alert at most
            assert server.links == []

    run(go())


@pytest.mark.parametrize("kind", ["none", "unknown", "old"])
def test_tls_strangers_are_refused_and_learn_nothing(kind: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with serving() as (server, _):
            context = client_context(
                None if kind == "none" else device(),
                tmp_path,
                newest=ssl.TLSVersion.TLSv1_2 if kind == "old" else None,
            )
            reason, seen = await tls_answer_to(server.address, context)
            expected = {
                "none": "TLSV13_ALERT_CERTIFICATE_REQUIRED",
                "unknown": "TLSV1_ALERT_UNKNOWN_CA",
                "old": "TLSV1_ALERT_PROTOCOL_VERSION",
            }
            assert reason == expected[kind]
            assert not names_the_software(seen)
            assert server.links == []

    run(go())


async def _recorded_handshake(server: Server, ends: Ends) -> bytes:
    """What a good client sent, whole session."""
    loop = asyncio.get_running_loop()
    said = bytearray()
    a, b = socket.socketpair()
    with a, b, socket.socket() as up:
        for one in (a, b, up):
            one.setblocking(False)
        await loop.sock_connect(up, server.address)

        async def pump(source: socket.socket, sink: socket.socket, note: bool) -> None:
            while data := await loop.sock_recv(source, 65536):
                if note:
                    said.extend(data)
                await loop.sock_sendall(sink, data)

        pumps = [
            asyncio.ensure_future(pump(b, up, True)),
            asyncio.ensure_future(pump(up, b, False)),
        ]
        records = await ends.client.secure(a)
        await loop.sock_sendall(a, records.protect(b"\x40\x00\x01x"))
        await until(lambda: server.ends and server.ends[0].frames)
        for one in pumps:
            one.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
    return bytes(said)


def test_a_recorded_handshake_that_is_replayed_gets_nowhere() -> None:
    async def go() -> None:
        async with serving() as (server, ends):
            said = await _recorded_handshake(server, ends)
            assert len(server.links) == 1
            answer = await answer_to(server.address, said)
            assert answer  # the first flight is answered as anybody's is
            assert len(server.links) == 1

    run(go())


def test_silent_and_half_strangers_end_in_time() -> None:
    async def go() -> None:
        loop, ends = asyncio.get_running_loop(), paired()
        admitted: list[Any] = []
        doors = Handshakes(ends.server, lambda *more: admitted.append(more), timeout=0.05)
        pairs = [socket.socketpair() for _ in range(3)]
        half = _first_flight(ends)[:100]
        with capture_logs():
            for number, (ours, theirs) in enumerate(pairs):
                theirs.setblocking(False)
                if number:
                    await loop.sock_sendall(theirs, half)
                doors.begin(ours, "192.0.2.1")
            assert len(doors) == 3
            for _, theirs in pairs:
                assert await loop.sock_recv(theirs, 100) == b""  # and not a word
                theirs.close()
            await until(lambda: len(doors) == 0)
        assert admitted == []
        assert all(ours.fileno() == -1 for ours, _ in pairs)

    run(go())


def _first_flight(ends: Ends) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ends.client._context.wrap_bio(incoming, outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("strangers", [60, 3 * MOST])
def test_a_crowd_of_strangers_does_not_keep_a_device_out(strangers: int) -> None:
    async def go() -> None:
        async with serving() as (server, ends), contextlib.AsyncExitStack() as stack:
            loop = asyncio.get_running_loop()
            for number in range(strangers):
                stranger = stack.enter_context(socket.socket())
                stranger.setblocking(False)
                await loop.sock_connect(stranger, server.address)
                await loop.sock_sendall(stranger, (b"", b"GET /", _first_flight(ends))[number % 3])
            near, quiet = await single.connect(*server.address, security=ends.client), Quiet()
            near.start(quiet, quiet)
            await until(lambda: quiet.frames)
            assert len(server.links) == 1
            near.close()

    run(go(), seconds=5.0)


def test_a_crowd_from_one_place_gives_its_oldest_up_for_others() -> None:
    async def go() -> None:
        ends = paired()
        doors = Handshakes(ends.server, lambda *_: None)
        crowd = [socket.socketpair() for _ in range(MOST - 1)]
        doors.begin((early := socket.socketpair())[0], "192.0.2.99")
        for number, (ours, _) in enumerate(crowd):
            doors.begin(ours, f"2001:db8::{number:x}")
        assert len(doors) == MOST
        doors.begin((late := socket.socketpair())[0], "192.0.2.98")
        await until(lambda: crowd[0][0].fileno() == -1)
        assert len(doors) == MOST
        assert all(ours.fileno() >= 0 for ours, _ in (early, late, *crowd[1:]))
        doors.close()
        await until(lambda: len(doors) == 0)
        for ours, theirs in (early, late, *crowd):
            assert ours.fileno() == -1
            theirs.close()

    run(go())


def test_a_hundred_strangers_are_one_line_in_the_log() -> None:
    async def go() -> None:
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            cache_logger_on_first_use=False,
        )
        async with serving() as (server, _):
            with capture_logs() as lines:
                for _ in range(100):
                    await answer_to(server.address, b"noise\r\n")
            (line,) = [line for line in lines if line["event"] == "a stranger was refused"]
            assert line["log_level"] == "info"
            assert line["address"] == "127.0.0.1"

    run(go())


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("strange", "strange"),
    ],
)
def test_networks(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_listener_that_closes_ends_what_is_not_a_link_yet() -> None:
    async def go() -> None:
        async with serving() as (server, _):
            with socket.create_connection(server.address) as stranger:
                stranger.setblocking(False)
                assert server.listener is not None
                await until(lambda: len(asyncio.all_tasks()) == 2)
                server.listener.close()
                assert await asyncio.get_running_loop().sock_recv(stranger, 1) == b""

    run(go())


def test_a_remote_that_does_not_speak_tls_is_said_to_be_strange() -> None:
    async def go() -> None:
        async with await single.serve("127.0.0.1", 0, lambda link: link.close()) as listener:
            with pytest.raises(LinkError, match="closed the connection in the handshake"):
                await single.connect(*listener.address, security=paired().client)

    run(go())


# -- records ---------------------------------------------------------------------------------------


async def _records(ends: Ends | None = None) -> tuple[TlsRecords, TlsRecords]:
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
        (second,) = FrameReader().feed(after)
        assert isinstance(second, Report)
        counted = second.received
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
            near, quiet = await single.connect(*server.address, security=ends.client), Quiet()
            near.start(quiet, quiet)
            await until(lambda: quiet.frames)
            server.links[0]._socket.shutdown(socket.SHUT_WR)  # somebody in between does that
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
        ends = Ends(ServerSecurity(remote.pem, {one.certificate: "x"}), paired().client)
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


def test_names() -> None:
    assert is_loopback("localhost")
    assert is_loopback("127.3.2.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("localhost.example")
    with pytest.raises(NotTrusted, match="can't be read"):
        spki_pin(b"noise")
    one = device()
    server = ServerSecurity(new_identity().pem, {one.certificate: "x"})
    (peer,) = server._peers.values()
    assert server.knows(peer)
    assert not server.knows(Peer("x", "0"))
    server.let_in({})
    assert not server.knows(peer)

"""Who gets in: paired devices and no others, not even by one that has vouched for them."""

from __future__ import annotations

import asyncio
import hashlib
import socket

import pytest

from emulation.memory.secured import SecuredEnds, paired
from pairing.identity import new_identity
from tests.transport.tls_ends import Quiet, device, serving
from tests.watched import run, until
from transport.link.interface import LinkError, NotTrusted
from transport.link.records import ProvenPeer
from transport.stream import one_connection
from transport.tcp.security import ClientSecurity, ServerSecurity, is_loopback, spki_pin
from wire.frames import Data


def test_a_paired_device_is_let_in_and_known_by_its_name() -> None:
    async def go() -> None:
        async with serving() as (server, ends):
            near, quiet = (
                await one_connection.connect(*server.address, security=ends.client),
                Quiet(),
            )
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
            near = await one_connection.connect(*server.address, security=ends.client)
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
            ends = SecuredEnds(ends.server, ClientSecurity(device().pem, pin=ends.client.pin))
        async with serving(ends) as (server, _):
            near, quiet = (
                await one_connection.connect(*server.address, security=ends.client),
                Quiet(),
            )
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
        async with serving(SecuredEnds(ServerSecurity(remote.pem, known), paired().client)) as (
            server,
            _,
        ):
            for one in (devices[0], devices[20], devices[39]):
                security = ClientSecurity(one.pem, pin=remote.pin)
                near, quiet = (
                    await one_connection.connect(*server.address, security=security),
                    Quiet(),
                )
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
        security = ClientSecurity(victim.pem, pin=ends.client.pin)
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


def test_a_remote_that_does_not_speak_tls_is_said_to_be_strange() -> None:
    async def go() -> None:
        async with await one_connection.serve(
            "127.0.0.1", 0, lambda link: link.close()
        ) as listener:
            with pytest.raises(LinkError, match="closed the connection in the handshake"):
                await one_connection.connect(*listener.address, security=paired().client)

    run(go())


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
    peer = ProvenPeer("x", hashlib.sha256(one.certificate).hexdigest())
    assert server.knows(peer)
    assert not server.knows(ProvenPeer("x", "0"))
    server.let_in({})
    assert not server.knows(peer)

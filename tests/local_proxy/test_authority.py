"""The device's certificate authority: its files, its leaves, and what is said when they are bad."""

from __future__ import annotations

import os
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog.testing
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from configuration import LocalSettings
from local_proxy.front.tls.authority import (
    KEEP_LEAF,
    MAX_LEAVES,
    PUBLIC,
    SECRET,
    Authority,
    AuthorityError,
    NoPlaceError,
)
from local_proxy.front.tls.certificates import LEAF_LIFE, ROOT_LIFE, key_pem, leaf_certificate
from local_proxy.serving import open_authority

HTTP = ("http/1.1",)


def handshake(server: ssl.SSLContext, authority: Authority, name: str) -> x509.Certificate:
    """The leaf that a client sees who trusts only this authority. Raises ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority.certificate_pem.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, far) * 3:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    der = client.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


def test_it_is_made_once_and_kept_private(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state"
    first = Authority.open(state)
    again = Authority.open(state)
    assert first.certificate_pem == again.certificate_pem == first.certificate_path.read_bytes()
    assert first.spki_sha256 == again.spki_sha256
    assert not again.renewed
    assert (state / SECRET).stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in state.iterdir()) == [SECRET, PUBLIC]
    assert b"PRIVATE" not in first.certificate_path.read_bytes()


def test_the_certificate_says_what_it_is_for(tmp_path: Path) -> None:
    authority = Authority.open(tmp_path)
    certificate = x509.load_pem_x509_certificate(authority.certificate_pem)
    found = certificate.extensions
    constraints = found.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert (constraints.value.ca, constraints.value.path_length) == (True, 0)
    usage = found.get_extension_for_class(x509.KeyUsage).value
    assert usage.key_cert_sign
    assert not usage.digital_signature
    assert authority.name.startswith("Sluice local CA (")
    assert f"{datetime.now(UTC):%Y-}" in authority.name
    text = subprocess.run(
        ["openssl", "x509", "-noout", "-subject", "-in", authority.certificate_path],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert authority.name in text


@pytest.mark.parametrize(
    "name", ["a.test", "under_score.test", "192.0.2.7", "2001:db8::1", "x" * 60 + ".long-name.test"]
)
def test_a_leaf_is_good_for_its_host_and_for_no_other(tmp_path: Path, name: str) -> None:
    authority = Authority.open(tmp_path)
    host = f"[{name}]" if ":" in name else name
    leaf = handshake(authority.context_for(host, alpn=HTTP), authority, name)
    life = leaf.not_valid_after_utc - leaf.not_valid_before_utc
    assert timedelta(days=1) < life <= timedelta(days=397)
    assert leaf.not_valid_before_utc <= datetime.now(UTC) - timedelta(hours=23)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(authority.context_for(host, alpn=HTTP), authority, "b.test")


def test_contexts_are_kept_for_a_while_and_bounded(tmp_path: Path) -> None:
    clock = [datetime.now(UTC)]
    authority = Authority.open(tmp_path, now=lambda: clock[0])
    first = authority.context_for("a.test", alpn=HTTP)
    assert authority.context_for("A.test.", alpn=HTTP) is first
    assert authority.context_for("a.test", alpn=("h2", "http/1.1")) is not first
    clock[0] += KEEP_LEAF
    assert authority.context_for("a.test", alpn=HTTP) is not first
    assert KEEP_LEAF < LEAF_LIFE
    assert "2 leaves" in repr(authority)
    assert MAX_LEAVES <= 4096


@pytest.mark.parametrize("name", ["", "x" * 254, "ä.test"])
def test_no_certificate_for_what_is_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError):
        Authority.open(tmp_path).context_for(name, alpn=HTTP)
    assert sorted(path.name for path in tmp_path.iterdir()) == [SECRET, PUBLIC]


def test_it_is_renewed_under_its_old_key_before_it_expires(tmp_path: Path) -> None:
    born = datetime.now(UTC) - ROOT_LIFE + timedelta(days=30)
    old = Authority.open(tmp_path, now=lambda: born)
    new = Authority.open(tmp_path)
    assert new.renewed
    assert new.spki_sha256 == old.spki_sha256
    assert new.name == old.name
    assert new.expires > old.expires + timedelta(days=365)
    assert handshake(new.context_for("a.test", alpn=HTTP), new, "a.test")
    assert not Authority.open(tmp_path).renewed


def damaged(secret: Path) -> None:
    secret.write_bytes(secret.read_bytes()[:150])


def empty(secret: Path) -> None:
    secret.write_bytes(b"")


def another_key(secret: Path) -> None:
    _, _, certificate = secret.read_bytes().partition(b"-----END PRIVATE KEY-----\n")
    secret.write_bytes(key_pem(ec.generate_private_key(ec.SECP256R1())) + certificate)


def no_authority(secret: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(secret.read_bytes())
    leaf = leaf_certificate(
        "a.test", key=key.public_key(), issuer=issuer, issuer_key=key, now=datetime.now(UTC)
    )
    secret.write_bytes(key_pem(key) + leaf.public_bytes(Encoding.PEM))


@pytest.mark.parametrize("harm", [damaged, empty, another_key, no_authority])
def test_a_damaged_file_is_kept_and_named(tmp_path: Path, harm: object) -> None:
    Authority.open(tmp_path)
    assert callable(harm)
    harm(tmp_path / SECRET)
    before = (tmp_path / SECRET).read_bytes()
    with pytest.raises(AuthorityError, match="Move it away") as raised:
        Authority.open(tmp_path)
    assert str(tmp_path / SECRET) in str(raised.value)
    assert (tmp_path / SECRET).read_bytes() == before


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    Authority.open(tmp_path)
    (tmp_path / SECRET).chmod(0o640)
    with pytest.raises(AuthorityError, match="chmod 600"):
        Authority.open(tmp_path)


def test_a_directory_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(AuthorityError, match="chmod 700"):
        Authority.open(tmp_path)


def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NoPlaceError, match=r"\[local\] state"):
        Authority.open(tmp_path / "file")


def test_the_proxy_goes_without_an_authority_that_has_no_place(tmp_path: Path) -> None:
    """But not past one that somebody must look at."""
    (tmp_path / "file").write_text("")
    nowhere = LocalSettings(state=str(tmp_path / "file"))
    with structlog.testing.capture_logs() as logs:
        assert open_authority(nowhere) is None
    assert "not be adapted" in logs[0]["event"]
    state = tmp_path / "state"
    assert open_authority(LocalSettings(state=str(state), tunnel=["*"])) is None
    assert not state.exists()
    assert open_authority(LocalSettings(state=str(state))) is not None
    (state / SECRET).write_bytes(b"")
    with pytest.raises(OSError, match="Move it away"):
        open_authority(LocalSettings(state=str(state)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_anothers_key_is_not_used(tmp_path: Path) -> None:
    Authority.open(tmp_path)
    os.chown(tmp_path / SECRET, 65534, 65534)
    with pytest.raises(AuthorityError, match="another user"):
        Authority.open(tmp_path)

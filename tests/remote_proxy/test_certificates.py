"""Tests of whom the remote trusts, and in what words it says why it does not."""

from __future__ import annotations

import socket
import ssl
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from remote_proxy.reach.certificates import NoRoots, client_context, fault, has_roots
from tests.end_to_end.roots import Root


def shaken(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> Exception | None:
    """What a handshake over loopback ends with; None: it is secure."""
    near, far = socket.socketpair()

    def serve() -> None:
        try:
            with server.wrap_socket(far, server_side=True) as secured:
                secured.recv(1)
        except (ssl.SSLError, OSError):
            far.close()

    other = threading.Thread(target=serve)
    other.start()
    try:
        with client.wrap_socket(near, server_hostname=name) as secured:
            secured.send(b"x")
    except ssl.SSLError as error:
        return error
    finally:
        near.close()
        other.join()
    return None


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


def said(error: Exception | None) -> str:
    assert error is not None
    text = fault("a.test", [error])
    assert text is not None
    return text


def test_a_server_of_an_authority_in_the_file_is_trusted_and_no_other(root: Root) -> None:
    server = root.server("a.test")
    assert shaken(server, client_context(str(root.file)), "a.test") is None
    error = shaken(server, client_context(), "a.test")
    assert "the issuer of its certificate is unknown" in said(error)


def test_what_is_wrong_with_a_certificate_is_said_in_words(root: Root) -> None:
    trusted = root.trusted()
    day = timedelta(days=1)
    assert "for another name" in said(shaken(root.server("b.test"), trusted, "a.test"))
    expired = root.server("a.test", begins=-2 * day, ends=-day)
    assert "has expired" in said(shaken(expired, trusted, "a.test"))
    early = root.server("a.test", begins=day, ends=2 * day)
    assert "not valid yet" in said(shaken(early, trusted, "a.test"))
    alone = root.server("a.test", self_signed=True)
    text = said(shaken(alone, trusted, "a.test"))
    assert text.startswith("The connection to a.test would not be secure, so it was not made: ")
    assert text.endswith("its certificate is self-signed: nobody vouches for it.")


def test_only_http_1_is_offered_and_old_versions_are_refused(root: Root) -> None:
    context = client_context()
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
    server = root.server("a.test")
    server.set_alpn_protocols(["h2", "http/1.1"])
    chosen: list[str | None] = []
    near, far = socket.socketpair()

    def serve() -> None:
        with server.wrap_socket(far, server_side=True) as secured:
            chosen.append(secured.selected_alpn_protocol())

    other = threading.Thread(target=serve)
    other.start()
    with root.trusted().wrap_socket(near, server_hostname="a.test"):
        other.join()
    assert chosen == ["http/1.1"]
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("WRONG_VERSION_NUMBER", "does not speak TLS"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "older than TLS 1.2"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "wants a certificate of yours"),
        ("SOMETHING_NEW", "could not agree (something new)"),
        ("", "could not agree."),
    ],
)
def test_what_openssl_says_is_put_in_words(reason: str, words: str) -> None:
    error = ssl.SSLError(1, "said by OpenSSL")
    error.reason = reason
    assert words in said(error)


def test_errors_that_tell_nothing_of_security_are_none() -> None:
    assert fault("a.test", [OSError("reset"), ValueError("x")]) is None
    assert fault("a.test", []) is None


def test_a_certificates_fault_is_said_before_what_followed_from_it() -> None:
    verification = ssl.SSLCertVerificationError(1, "no")
    verification.verify_code, verification.verify_message = 99, "odd"
    later = ssl.SSLError(1, "x")
    later.reason = "WRONG_VERSION_NUMBER"
    text = fault("a.test", [later, verification])
    assert text is not None and "not valid (odd)" in text


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_file_without_roots_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "roots.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(NoRoots, match=r"roots\.pem \(\[remote\] ca_file\).*must be a PEM file"):
        client_context(str(path))


def test_a_file_that_others_may_write_is_not_trusted(root: Root) -> None:
    root.file.chmod(0o666)
    with pytest.raises(NoRoots, match="ca_file is not trusted"):
        client_context(str(root.file))


def test_a_system_without_roots_is_known_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert not has_roots()
    (tmp_path / "a.0").touch()
    assert has_roots()

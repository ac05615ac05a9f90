"""Whom the remote proxy trusts on behalf of browsers, and in words why it does not.

The browser sees the device's own certificate, so this is where an origin's is judged: as strictly
as a browser does, with no way around. Sources: RFC 5280, 6 (validation), RFC 6125 (names);
X509_V_ERR_* of OpenSSL's x509_vfy.h.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ownership import NotOwn, check_own


class NoRoots(Exception):
    """The extra root certificates can't be used; the text says why."""


_HOSTNAME_MISMATCH, _ADDRESS_MISMATCH = 62, 64
_VERIFY: Final = {
    9: "its certificate is not valid yet (or the remote proxy's clock is wrong)",
    10: "its certificate has expired",
    18: "its certificate is self-signed: nobody vouches for it",
    19: "its certificate comes from an authority that nobody here knows",
    20: "the issuer of its certificate is unknown, or it does not send the certificates between",
    21: "the issuer of its certificate is unknown, or it does not send the certificates between",
    23: "its certificate has been revoked",
    26: "its certificate is not meant for a web server",
    66: "the key of its certificate is too weak",
    68: "its certificate is signed in a way that is too weak",
}
_TUNNEL: Final = "add it to [local] tunnel, so that the two speak without the proxies in between"
_OLD: Final = "it speaks no version of TLS that is safe, only ones older than TLS 1.2"
_REASONS: Final = {
    "WRONG_VERSION_NUMBER": "what answers there does not speak TLS",
    "HTTP_REQUEST": "what answers there does not speak TLS",
    "PACKET_LENGTH_TOO_LONG": "what answers there does not speak TLS",
    "RECORD_LAYER_FAILURE": "what answers there does not speak TLS",
    # Answered with an old version, or by the alert: we offer 1.2 and 1.3, so it has neither.
    "UNSUPPORTED_PROTOCOL": _OLD,
    "TLSV1_ALERT_PROTOCOL_VERSION": _OLD,
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it agrees to no encryption that is safe, or wants a "
    f"certificate of yours ({_TUNNEL})",
    "NO_CIPHERS_AVAILABLE": "it agrees to no encryption that is safe",
    "DH_KEY_TOO_SMALL": "the keys that it uses are too weak",
    "EE_KEY_TOO_SMALL": "the keys that it uses are too weak",
    "UNSAFE_LEGACY_RENEGOTIATION_DISABLED": "its TLS lacks a protection that is required",
    "TLSV1_UNRECOGNIZED_NAME": "it does not serve this name",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a certificate of yours, which stays in your "
    f"browser ({_TUNNEL})",
    "UNEXPECTED_EOF_WHILE_READING": "it broke off before the connection was secure",
}


def client_context(ca_file: str = "") -> ssl.SSLContext:
    """Verifies names and chains against the system's roots, and those in `ca_file` (PEM) too.

    Raises NoRoots when the file has none, or somebody else could have written it.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # distributions' Pythons leave it to OpenSSL
    # What browsers let pass in private authorities' certificates; Python 3.13 would not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if ca_file:
        try:
            path = Path(ca_file).expanduser()
            check_own(path)
            context.load_verify_locations(cafile=path)
        except NotOwn as error:
            raise NoRoots(f"[remote] ca_file is not trusted: {error}") from error
        except (OSError, ssl.SSLError) as error:
            raise NoRoots(
                f"{ca_file} ([remote] ca_file): {error.strerror or error}; it must be a PEM file "
                "of certificates"
            ) from error
    return context


def has_roots() -> bool:
    """Whether the system has any root certificates (else every https site would fail)."""
    paths = ssl.get_default_verify_paths()
    return paths.cafile is not None or (
        paths.capath is not None and any(Path(paths.capath).iterdir())
    )


def fault(host: str, errors: Iterable[BaseException]) -> str | None:
    """What is wrong with the security of `host`, in a sentence; None: nothing that these tell."""
    known = [error for error in errors if isinstance(error, ssl.SSLError)]
    # aiohttp's own errors are of these classes too, without what OpenSSL has said.
    reasons = [str(getattr(error, "reason", None) or "") for error in known]
    if not known:
        return None
    opening = f"The connection to {host} would not be secure, so it was not made: "
    for error in known:
        if isinstance(error, ssl.SSLCertVerificationError) and hasattr(error, "verify_code"):
            return f"{opening}{_verification(error.verify_code, error.verify_message)}."
    for reason in reasons:
        if reason in _REASONS:
            return f"{opening}{_REASONS[reason]}."
    reason = next(filter(None, reasons), "")
    said = f" ({reason.replace('_', ' ').lower()})" if reason else ""
    return f"{opening}the two sides could not agree{said}."


def _verification(code: int, message: str) -> str:
    if code in (_HOSTNAME_MISMATCH, _ADDRESS_MISMATCH):
        return "its certificate is for another name"
    return _VERIFY.get(code, f"its certificate is not valid ({message})")

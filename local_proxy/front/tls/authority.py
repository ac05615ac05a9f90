"""The device's own certificate authority: it vouches for whatever host a browser asks for.

Key and certificate live in one file that only the user can read, made at the first start; neither
the key nor anything signed with it leaves the device. Leaves are made when they are needed and
kept in memory. Must not know: sockets, HTTP, who trusts it. Sources: RFC 5280, 4.2 (extensions);
CA/Browser Forum Baseline Requirements, 6.3.2 (397 days at most).
"""

from __future__ import annotations

import os
import platform
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from local_proxy.front.tls.certificates import (
    key_pem,
    leaf_certificate,
    parse,
    root_certificate,
    spki_sha256,
)
from ownership import NotOwn, check_own
from transport.tcp.secret_file import secret_file

SECRET: Final = "authority.pem"
"""Key and certificate, mode 0600: one file, so that there is never one without the other."""
PUBLIC: Final = "ca.pem"
"""The certificate alone, for browsers and systems to trust; written anew when it is missing."""
RENEW: Final = timedelta(days=60)
"""An authority with less time left gets a new certificate at the next start."""
KEEP_LEAF: Final = timedelta(days=7)
"""For which a leaf is used; it is valid far longer, so clocks that differ do no harm."""
MAX_LEAVES: Final = 1024
"""Hosts remembered; a context takes about 25 KB."""


class AuthorityError(Exception):
    """The authority's files can't be used; the text says which, why, and what to do."""


class NoPlaceError(AuthorityError):
    """Its directory can't be written: nothing is wrong, but there is no authority."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    context: ssl.SSLContext
    good_until: datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Authority:
    """A key, its certificate, and the certificates made with it. One thread at a time."""

    def __init__(
        self,
        directory: Path,
        key: ec.EllipticCurvePrivateKey,
        certificate: x509.Certificate,
        *,
        renewed: bool,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """Callers use `open`. `renewed`: who trusted the last certificate must trust this one."""
        self._directory = directory
        self._key = key
        self._certificate = certificate
        self._now = now
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._leaves: OrderedDict[tuple[str, tuple[str, ...]], _Leaf] = OrderedDict()
        self.renewed = renewed

    def __repr__(self) -> str:
        return f"<Authority {self.certificate_path}, {len(self._leaves)} leaves>"

    @classmethod
    def open(cls, directory: Path, *, now: Callable[[], datetime] = _utc_now) -> Self:
        """The authority kept in `directory`; made there when there is none yet.

        Raises AuthorityError when a file is damaged, another's or open to others, and its
        NoPlaceError when the directory can't be written.
        """
        secret = directory / SECRET
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(directory, mode="700", forbidden=0o022)
            if not secret.exists():
                key = ec.generate_private_key(ec.SECP256R1())
                made = root_certificate(key, host=platform.node() or "this device", now=now())
                _create(secret, key_pem(key) + made.public_bytes(Encoding.PEM))
            _check_private(secret, mode="600", forbidden=0o077)
            key, certificate = _load(secret)
            renewed = certificate.not_valid_after_utc - now() < RENEW
            if renewed:  # the same key under the same name: leaves of both chain to either
                certificate = root_certificate(
                    key, host=platform.node() or "this device", now=now(), renews=certificate
                )
                _replace(secret, key_pem(key) + certificate.public_bytes(Encoding.PEM), 0o600)
            pem = certificate.public_bytes(Encoding.PEM)
            public = directory / PUBLIC
            if not public.exists() or public.read_bytes() != pem:
                _replace(public, pem, 0o644)
        except OSError as error:
            where = error.filename or directory
            raise NoPlaceError(
                f"{where}: {error.strerror or error}. The local certificate authority is kept in "
                f"{directory}; make it writable, or name another place in [local] state."
            ) from error
        return cls(directory, key, certificate, renewed=renewed, now=now)

    @property
    def certificate_pem(self) -> bytes:
        """What browsers must trust."""
        return self._certificate.public_bytes(Encoding.PEM)

    @property
    def certificate_path(self) -> Path:
        """A file with `certificate_pem`."""
        return self._directory / PUBLIC

    @property
    def spki_sha256(self) -> str:
        """Base64, for Chromium's --ignore-certificate-errors-spki-list; outlives renewal."""
        return spki_sha256(self._certificate)

    @property
    def name(self) -> str:
        """The certificate's common name, by which people find it in a list."""
        (attribute,) = self._certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return str(attribute.value)

    @property
    def expires(self) -> datetime:
        """The moment after which nobody trusts it."""
        return self._certificate.not_valid_after_utc

    def context_for(self, host: str, *, alpn: tuple[str, ...]) -> ssl.SSLContext:
        """A server's context for `host` (ASCII name, or address with or without brackets).

        Takes about a millisecond for a new host. Raises ValueError for what no certificate can
        name.
        """
        name = host.strip("[]").rstrip(".").lower()
        now = self._now()
        leaf = self._leaves.get((name, alpn))
        if leaf is None or leaf.good_until <= now:
            leaf = _Leaf(self._make(name, alpn), now + KEEP_LEAF)
            self._leaves[name, alpn] = leaf
            if len(self._leaves) > MAX_LEAVES:
                self._leaves.popitem(last=False)
        self._leaves.move_to_end((name, alpn))
        return leaf.context

    def _make(self, name: str, alpn: tuple[str, ...]) -> ssl.SSLContext:
        leaf = leaf_certificate(
            name,
            key=self._leaf_key.public_key(),
            issuer=self._certificate,
            issuer_key=self._key,
            now=self._now(),
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(list(alpn))
        # With the authority's own: Chromium looks for its list of keys in what was sent.
        chain = leaf.public_bytes(Encoding.PEM) + self.certificate_pem
        with secret_file(key_pem(self._leaf_key) + chain, folder=self._directory) as path:
            context.load_cert_chain(path)
        return context


def _check_private(path: Path, *, mode: str, forbidden: int) -> None:
    """Raises AuthorityError if it is another user's, or grants others what it must not, or lies
    where others could put another in its place."""
    found = path.stat()
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise AuthorityError(
            f"{path} belongs to another user. Whoever holds the key in it can pose as any site to "
            "your browsers: give it to the user that runs sluice, or name another place in "
            "[local] state."
        )
    if os.name == "posix" and found.st_mode & forbidden:
        raise AuthorityError(
            f"{path} is open to others, who could pose as any site to your browsers. "
            f"If nobody has, run: chmod {mode} '{path}'. Else delete it, and stop trusting its "
            "certificate."
        )
    try:
        check_own(path)
    except NotOwn as error:
        raise AuthorityError(str(error)) from error


def _load(secret: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    try:
        return parse(secret.read_bytes())
    except ValueError as error:
        raise AuthorityError(
            f"{secret} is not what sluice has written there: {error}. Move it away, and the next "
            "start makes a new authority, which browsers must be told to trust again."
        ) from error


def _create(path: Path, data: bytes) -> None:
    """Whole or not at all; what another process made in the same moment stays."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")  # 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.unlink(draft)


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Whole or not at all."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(draft, mode)
    os.replace(draft, path)

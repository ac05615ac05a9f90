"""Two paired ends agree on keys: SIGMA-I (Krawczyk, 2003) over X25519, with Ed25519 signatures.

    device                                                remote
    HELLO   name, ephemeral key, cookie            ->
                                                   <-     RETRY   cookie          only under load
                                                   <-     REPLY   names, ephemeral key,
                                                                  {key, reset token, signature}
    PROOF   name, {fingerprint, signature}         ->
    datagrams                                     <->     datagrams, or REFUSAL

Braces are sealed under keys of the ephemeral exchange; signatures cover all that was said before
and the signer. So the device shows who it is to its remote alone, and keys that are stolen later
open nothing that was recorded. HELLO and RETRY bear a tag under the remote's pin, which strangers
do not have: the remote is silent towards them, and noise costs it one HMAC. HELLO is longer than
any answer, so nobody is flooded through us.

Pure: chance is an argument. The security argument as a whole: docs/decisions/0009-spp.md.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from transport.link.interface import LinkError, NotTrusted, WrongPeer
from transport.link.records import ProvenPeer
from transport.spp.core.packets import CONNECTION_ID, TAG
from transport.spp.handshake import tags
from transport.spp.handshake.keys import PUBLIC, ClientKeys, ServerKeys
from transport.spp.handshake.reset import TOKEN, ResetWatch, reset_of, token_of
from transport.spp.handshake.seal import Forged, Seal, expand
from transport.spp.handshake.tags import tagged, untagged
from transport.tcp.tls import UNKNOWN_HERE

VERSION: Final = 2
HELLO: Final = 0x51
RETRY: Final = 0x52
REPLY: Final = 0x53
PROOF: Final = 0x54
REFUSAL: Final = 0x55
COOKIE: Final = 16
"""Bytes."""
_FINGERPRINT: Final = 32
_SIGNATURE: Final = 64
_PADDING: Final = 120
"""Bytes that make a HELLO longer than the REPLY."""

_NAMED: Final = struct.Struct(f">BB{CONNECTION_ID}s32s")
"""What of a HELLO is signed: kind, version, the device's name of the connection, key."""
HELLO_SIZE: Final = _NAMED.size + COOKIE + _PADDING + tags.SIZE
_RETRY: Final = struct.Struct(f">B{CONNECTION_ID}s{COOKIE}s")
_REPLY: Final = struct.Struct(f">B{CONNECTION_ID}s{CONNECTION_ID}s32s")
REPLY_SIZE: Final = _REPLY.size + PUBLIC + TOKEN + _SIGNATURE + TAG
_PROOF: Final = struct.Struct(f">B{CONNECTION_ID}s")
PROOF_SIZE: Final = _PROOF.size + _FINGERPRINT + _SIGNATURE + TAG
REFUSAL_SIZE: Final = _PROOF.size + TAG
_NONCE: Final = bytes(12)
"""Each of these keys seals one message."""

Chance = Callable[[int], bytes]
"""So many random bytes."""


@dataclass(frozen=True, slots=True)
class Established:
    """What both ends have when it is over."""

    seal: Seal
    own: bytes
    """Names of the connection: in datagrams to this end, and to the other."""
    peer_name: bytes
    peer: ProvenPeer
    reset: ResetWatch | None = None
    """A device's: how it finds out that its remote has forgotten the connection."""


@dataclass(frozen=True, slots=True)
class VerifiedHello:
    """A HELLO whose tag is right."""

    named: bytes
    name: bytes
    key: bytes
    cookie: bytes


class Shared:
    """The secret of an ephemeral exchange, and the keys that follow from it and what was said."""

    def __init__(self, own: X25519PrivateKey, theirs: bytes, said: bytes) -> None:
        """Raises Forged for a key that no honest end has."""
        try:
            secret = own.exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError as error:  # a point of small order (RFC 7748, 6.1)
            raise Forged from error
        # HKDF-Extract (RFC 5869) with what was said for salt.
        self._secret = hmac.digest(hashlib.sha256(said).digest(), secret, "sha256")

    def seal(self, purpose: bytes, plain: bytes, said: bytes) -> bytes:
        """One message, bound to what was said before it."""
        return self._aead(purpose).encrypt(_NONCE, plain, said)

    def open(self, purpose: bytes, sealed: bytes, said: bytes) -> bytes:
        """The content of a sealed message. Raises Forged."""
        try:
            return self._aead(purpose).decrypt(_NONCE, sealed, said)
        except InvalidTag as error:
            raise Forged from error

    def traffic(self, direction: bytes, said: bytes) -> bytes:
        """The secret of a direction's datagrams; `said` is all of the handshake."""
        return expand(self._secret, direction + hashlib.sha256(said).digest(), 32)

    def _aead(self, purpose: bytes) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(expand(self._secret, purpose, 32))


class ClientHandshake:
    """A device's end."""

    def __init__(self, keys: ClientKeys, *, chance: Chance) -> None:
        self._keys = keys
        self._own = chance(CONNECTION_ID)
        self._ephemeral = X25519PrivateKey.from_private_bytes(chance(32))
        self._named = _NAMED.pack(HELLO, VERSION, self._own, _public(self._ephemeral))
        self._cookie = bytes(COOKIE)
        self._shared: Shared | None = None
        self._proven = b""
        self.proof = b""
        """The datagram that goes before others until the remote answers; empty: too early."""

    @property
    def own(self) -> bytes:
        """This end's name of the connection."""
        return self._own

    def hello(self) -> bytes:
        """What is sent until something comes."""
        return tagged(self._keys.pin, self._named + self._cookie + bytes(_PADDING))

    def received(self, datagram: bytes) -> Established | bool:
        """Something came: keys, or whether there is a new `hello` to send.

        Raises Forged for what is nothing to us, WrongPeer, NotTrusted.
        """
        kind = datagram[0] if datagram else 0
        if kind == RETRY:
            return self._retry(datagram)
        if kind == REPLY:
            return self._reply(datagram)
        if kind == REFUSAL:
            self._refusal(datagram)
        raise Forged

    def _retry(self, datagram: bytes) -> bool:
        body = untagged(self._keys.pin, datagram, extra=self._named)
        if len(body) != _RETRY.size or self._shared is not None:
            raise Forged
        _, name, cookie = _RETRY.unpack(body)
        if name != self._own or cookie == self._cookie:
            raise Forged
        self._cookie = cookie
        return True

    def _reply(self, datagram: bytes) -> Established:
        if len(datagram) != REPLY_SIZE or self._shared is not None:
            raise Forged
        head, sealed = datagram[: _REPLY.size], datagram[_REPLY.size :]
        _, own, peer, key = _REPLY.unpack(head)
        if own != self._own:
            raise Forged
        said = self._named + head
        shared = Shared(self._ephemeral, key, said)
        plain = shared.open(b"reply", sealed, said)
        shown, signature = plain[: PUBLIC + TOKEN], plain[PUBLIC + TOKEN :]
        public, token = shown[:PUBLIC], shown[PUBLIC:]
        if not self._keys.recognises(public):
            raise WrongPeer(
                "who answers is not the remote that this device was paired with: it was set up "
                "anew (run `sluice pair` there and start with --pair), or somebody is in between"
            )
        _verify(Ed25519PublicKey.from_public_bytes(public), b"remote", said + shown, signature)
        said += sealed
        head = _PROOF.pack(PROOF, peer)
        fingerprint = self._keys.fingerprint
        signed = self._keys.signing.sign(_signed(b"device", said + head + fingerprint))
        self.proof = head + shared.seal(b"proof", fingerprint + signed, said + head)
        self._shared, self._proven = shared, said + self.proof
        seal = Seal(
            sending=shared.traffic(b"up", self._proven),
            receiving=shared.traffic(b"down", self._proven),
            own=self._own,
            peer=peer,
        )
        reset = reset_of(self._keys.pin, remote=peer, device=self._own, token=token)
        return Established(seal, self._own, peer, ProvenPeer("", self._keys.pin.hex()), reset)

    def _refusal(self, datagram: bytes) -> None:
        """Raises NotTrusted if it is authentic."""
        if self._shared is None or len(datagram) != REFUSAL_SIZE:
            raise Forged
        said = self._proven + datagram[: _PROOF.size]
        self._shared.open(b"refusal", datagram[_PROOF.size :], said)
        raise NotTrusted(UNKNOWN_HERE)


class ServerHandshake:
    """A remote's end of one, from a HELLO on; it costs some 0.2 ms and a kilobyte."""

    def __init__(
        self, keys: ServerKeys, hello: VerifiedHello, *, own: bytes, chance: Chance
    ) -> None:
        """`own`: this end's name of the connection. Raises Forged."""
        self._keys = keys
        self._peer = hello.name
        self._own = own
        ephemeral = X25519PrivateKey.from_private_bytes(chance(32))
        head = _REPLY.pack(REPLY, hello.name, own, _public(ephemeral))
        said = hello.named + head
        self._shared = Shared(ephemeral, hello.key, said)
        shown = keys.public + token_of(keys.reset, remote=own, device=hello.name)
        signature = keys.signing.sign(_signed(b"remote", said + shown))
        sealed = self._shared.seal(b"reply", shown + signature, said)
        self._said = said + sealed
        self.reply = head + sealed

    def proof(self, datagram: bytes) -> Established | bytes:
        """A PROOF came: keys, or the REFUSAL to send. Raises Forged."""
        if len(datagram) != PROOF_SIZE:
            raise Forged
        head, sealed = datagram[: _PROOF.size], datagram[_PROOF.size :]
        plain = self._shared.open(b"proof", sealed, self._said + head)
        fingerprint, signature = plain[:_FINGERPRINT], plain[_FINGERPRINT:]
        proven = self._said + datagram
        try:
            key, peer = self._keys.device(fingerprint)
        except NotTrusted:
            head = _PROOF.pack(REFUSAL, self._peer)
            return head + self._shared.seal(b"refusal", b"", proven + head)
        _verify(key, b"device", self._said + head + fingerprint, signature)
        seal = Seal(
            sending=self._shared.traffic(b"down", proven),
            receiving=self._shared.traffic(b"up", proven),
            own=self._own,
            peer=self._peer,
        )
        return Established(seal, self._own, self._peer, peer)


def parse_hello(pin: bytes, datagram: bytes) -> VerifiedHello:
    """Raises Forged for what no paired device has sent."""
    if len(datagram) != HELLO_SIZE:
        raise Forged
    body = untagged(pin, datagram)
    kind, version, name, key = _NAMED.unpack_from(body)
    if kind != HELLO or version != VERSION:
        raise Forged
    return VerifiedHello(body[: _NAMED.size], name, key, body[_NAMED.size : _NAMED.size + COOKIE])


def retry(pin: bytes, hello: VerifiedHello, cookie: bytes) -> bytes:
    """The answer that asks for the cookie; only who saw the HELLO can have made it."""
    return tagged(pin, _RETRY.pack(RETRY, hello.name, cookie), extra=hello.named)


def _signed(who: bytes, said: bytes) -> bytes:
    """What a signature is over: never what another protocol's is (RFC 8446, 4.4.3)."""
    return b"sluice spp " + who + b"\0" + hashlib.sha256(said).digest()


def _verify(key: Ed25519PublicKey, who: bytes, said: bytes, signature: bytes) -> None:
    """Raises LinkError: what was sealed for us is badly signed, which no honest end does."""
    try:
        key.verify(signature, _signed(who, said))
    except InvalidSignature as error:
        raise LinkError("the other end's signature is not its key's") from error


def _public(key: X25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

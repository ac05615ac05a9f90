"""nginx serves the same folder over HTTP/2, on TLS as browsers want it: directly, and to our pair.

What the plain direct load has, it has: keep-alive, validators, an hour of freshness, and gzip level
6 for all kinds of text. TLS 1.3 costs it a round trip and about a kilobyte of certificates, less
than what real sites send. Documentation: https://nginx.org/en/docs/http/ngx_http_v2_module.html
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from bench.origins.endpoint import PageAccess
from bench.origins.site import GZIP_LEVEL, Address
from bench.pairs.peers import SITE, OverRelay, SluicePeer
from bench.pairs.ports import free_port
from bench.rivals.program import find, program
from emulation.worlds.cables import World
from emulation.worlds.hosts import EmulatedHost
from local_proxy.front.tls.certificates import key_pem, leaf_certificate, root_certificate

_TYPES: Final = {
    "text/html": "html",
    "text/css": "css",
    "text/javascript": "js",
    "text/plain": "txt",
    "application/json": "json",
    "image/svg+xml": "svg",
    "image/jpeg": "jpg jpeg",
    "image/png": "png",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/avif": "avif",
    "font/woff2": "woff2",
}
_PACKED: Final = "text/css text/javascript text/plain application/json image/svg+xml"
"""Besides text/html, which is always."""
AUTHORITY: Final = "authority.pem"
"""In the folder of a run: who vouches for its certificate."""


class SiteIdentity(NamedTuple):
    """A site's key, its certificates, and the authority that vouches for them. All PEM."""

    key: bytes
    chain: bytes
    authority: bytes


def identity(host: str) -> SiteIdentity:
    """A new one. The chain has the authority's certificate too: Chromium looks for it there."""
    root, leaf, now = _key(), _key(), datetime.now(UTC)
    authority = root_certificate(root, host="bench", now=now)
    certificate = leaf_certificate(
        host, key=leaf.public_key(), issuer=authority, issuer_key=root, now=now
    )
    pem = authority.public_bytes(Encoding.PEM)
    return SiteIdentity(key_pem(leaf), certificate.public_bytes(Encoding.PEM) + pem, pem)


def configuration(*, address: Address, folder: Path, site: Path) -> str:
    """Serves `site` on TLS with HTTP/2; its own files are in `folder`."""
    host, port = address
    types = " ".join(f"{kind} {endings};" for kind, endings in _TYPES.items())
    places = " ".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""\
daemon off; master_process off; worker_processes 1;
pid {folder}/pid; error_log stderr;
events {{}}
http {{
  access_log off; {places}
  default_type application/octet-stream; types {{ {types} }}
  charset utf-8; charset_types text/css text/javascript text/plain;
  sendfile on; tcp_nopush on;
  gzip on; gzip_vary on; gzip_comp_level {GZIP_LEVEL}; gzip_types {_PACKED};
  expires 1h;
  server {{
    listen {host}:{port} ssl http2;
    ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
    root "{site}";
  }}
}}
"""


class NginxSite:
    """A folder that nginx serves. Keeps nothing of a run."""

    def __init__(self, site: Path) -> None:
        self._site = site.resolve()
        self._executable = find("nginx")

    @property
    def missing(self) -> str:
        """What is not installed; empty: nothing."""
        return "" if self._executable else "nginx"

    @asynccontextmanager
    async def served(
        self, host: EmulatedHost, *, name: str
    ) -> AsyncIterator[tuple[Address, SiteIdentity, Path]]:
        """Served on `host` as `name`, for which there is a certificate; the folder has PEM files.

        Raises OSError.
        """
        if self._executable is None:
            raise FileNotFoundError("nginx is not installed: make bench-peers")
        with TemporaryDirectory(prefix="rival-", ignore_cleanup_errors=True) as place:
            folder, own = Path(place), identity(name)
            listens = host.address, free_port()
            (folder / "key.pem").write_bytes(own.key)
            (folder / "chain.pem").write_bytes(own.chain)
            (folder / AUTHORITY).write_bytes(own.authority)
            file = folder / "nginx.conf"
            file.write_text(configuration(address=listens, folder=folder, site=self._site))
            command = (self._executable, "-c", str(file), "-e", "stderr")
            async with program(*command, port=listens[1], folder=folder, host=host) as address:
                yield address, own, folder


class ToNginx(OverRelay):
    """A peer of bench/pairs/peers.py. Its origin stays unused: nginx serves the same folder."""

    def __init__(self, site: Path) -> None:
        """`site`: the folder that the origin serves."""
        self._nginx = NginxSite(site)

    @property
    def missing(self) -> str:
        """What is not installed; empty: nothing."""
        return self._nginx.missing


class DirectHttp2(ToNginx):
    """The browser by itself."""

    name = "direct-h2"
    policy = ""

    @asynccontextmanager
    async def over(self, world: World, origin: Address) -> AsyncIterator[PageAccess]:
        async with self._nginx.served(world.far, name=SITE) as (address, own, _):
            host, port = await world.reach(address)
            yield PageAccess(
                base=f"https://{SITE}/",
                statistics=world.statistics,
                resolve={SITE: f"{host}:{port}"},
                authority=own.authority,
                host=world.near,
                backend=world.backend,
                rewind=world.rewind,
            )


class SluiceToHttps(ToNginx):
    """Our pair, which opens the TLS at both of its ends."""

    name = "sluice"
    policy = "default"

    @asynccontextmanager
    async def over(self, world: World, origin: Address) -> AsyncIterator[PageAccess]:
        name = world.far.address
        async with self._nginx.served(world.far, name=name) as (address, _, folder):
            pair = SluicePeer(ca_file=folder / AUTHORITY)
            async with pair.over(world, address) as access:
                yield replace(access, base=f"https://{address[0]}:{address[1]}/")


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())

"""Settings: one TOML file, the environment, flags, in that order of rising precedence.

Every key has a default, is validated, and is named in full when it is wrong. The environment
variable of [local] listen is SLUICE_LOCAL_LISTEN; lists are separated by commas.
"""

from __future__ import annotations

import os
import socket
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

FILE: Final = "sluice.toml"
"""Looked for in the working directory, then in the user's configuration folder."""

Address = Annotated[str, Meta(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^:\[\]\s]+):\d{1,5}$")]
"""host:port, [v6]:port; port 0 takes a free one."""


HostPattern = Annotated[str, Meta(pattern=r"^(\*|(\*\.)?[0-9A-Za-z._:-]+)$")]
"""bank.example, *.bank.example (bank.example too), *."""


SiteMode = Literal["adapt", "original", "text-only", "tunnel"]
"""What becomes of a site (local_proxy/sites.py)."""


class SettingsError(Exception):
    """A setting is wrong; the text names the key and what it may be."""


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where state is kept unless set (XDG Base Directory Specification)."""
    base = environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "sluice"


class LocalSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """[local]: the proxy on the device behind the slow link."""

    listen: Address = "127.0.0.1:8118"
    """Where browsers reach it."""
    remote: Address | Literal[""] = ""
    """Where the remote proxy (or the tunnel to it) listens; empty: as the pairing says, and
    without security 127.0.0.1:8119."""
    security: Literal["tls", "none"] = "tls"
    """Of the link; none only to loopback."""
    pair: str = ""
    """The string that `sluice pair` printed on the remote. It's kept, so one start needs it."""
    transport: Literal["tcp", "atp-udp", "atp-tcp"] = "tcp"
    """What carries the link: tcp; atp-udp (over UDP, and over TCP where that gets no answer);
    atp-tcp (over TCP in segments of one size, which hide those of what they hold)."""
    policy: list[str] = msgspec.field(default_factory=lambda: ["default"])
    """Policies in order: built-in names, module:attribute, or paths of .py files."""
    device: str = msgspec.field(default_factory=socket.gethostname)
    """Names this device to the remote proxy."""
    patience: Annotated[float, Meta(ge=0, le=86_400)] = 600.0
    """Seconds for which what is under way waits for a lost link before the browser is told."""
    notice: Annotated[float, Meta(ge=0, le=600)] = 8.0
    """Seconds until a page opened while the link is down says so (it loads itself later)."""
    export: Literal["auto", "swap", "multipart", "stream"] = "auto"
    """How pictures are refined in the browser: auto, swap, multipart, stream."""
    congestion: str = "cubic"
    """TCP congestion control of the link: cubic, bbr, reno."""
    state: str = msgspec.field(default_factory=lambda: str(state_directory(os.environ)))
    """Directory of what outlives a run: the pairing, the authority that browsers trust."""
    tunnel: list[HostPattern] = []
    """Hosts whose https is never adapted: names, *.name (and name itself), * for all."""
    sites: dict[HostPattern, SiteMode] = {}
    """[local.sites] has lines like "*.name" = "text-only"; also adapt, original, tunnel. The
    closest pattern counts. In the environment: a.example=original,*.b.example=tunnel"""
    history: bool = True
    """Keep in `state` what was saved, by day and site, and who rejects our certificates where."""


class RemoteSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """[remote]: the proxy on the fast side."""

    listen: Address = "127.0.0.1:8119"
    """Where local proxies reach it; 0.0.0.0:8119 for all of this machine's addresses."""
    security: Literal["tls", "none"] = "tls"
    """Of the link: paired devices only; none only on loopback."""
    udp: bool = True
    """Take paired devices over UDP too, at the same port, if it is free."""
    address: Address | Literal[""] = ""
    """HOST:PORT as devices reach it, for pairing strings. Empty: guessed."""
    state: str = msgspec.field(default_factory=lambda: str(state_directory(os.environ) / "remote"))
    """Directory of its identity and the paired devices."""
    memory: Annotated[int, Meta(ge=1 << 20)] = 64 << 20
    """Bytes that may wait for one device."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 2
    """Transcoding jobs at a time."""
    quantum: Annotated[int, Meta(ge=64, le=16384)] = 1024
    """Bytes per quantum before the link has been measured."""
    congestion: str = "cubic"
    """TCP congestion control of the link: cubic, bbr, reno."""
    allow: list[str] = msgspec.field(default_factory=list)
    """Hosts, *.domains, addresses or networks, each with a :port or without, that may be reached
    though they are not on the public internet (docs/security.md)."""
    max_requests: Annotated[int, Meta(ge=0)] = 1024
    """Requests of one device under way at a time. 0: no limit; so with those below."""
    max_requests_per_minute: Annotated[int, Meta(ge=0)] = 6000
    """Requests that one device may make within a minute."""
    max_connections: Annotated[int, Meta(ge=0)] = 256
    """Connections to origins at a time for one device; further requests wait, tunnels fail."""
    max_bytes_per_day: Annotated[int, Meta(ge=0)] = 0
    """Bytes to and from origins for one device within 24 hours."""
    ca_file: str = ""
    """A PEM file of root certificates to trust besides the system's, for private sites."""
    patience: Annotated[float, Meta(ge=0, le=86_400)] = 660.0
    """Seconds for which a device that has lost its link is expected back, at least. One that says
    that it is more patient (local.patience) is expected for as long, up to an hour."""


class Settings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """All of it."""

    local: LocalSettings = LocalSettings()
    remote: RemoteSettings = RemoteSettings()


_LISTS: Final = ("policy", "tunnel", "allow")
"""Settings whose values are separated by commas in the environment."""
_TABLES: Final = ("sites",)
"""Settings that are tables of text."""
_SECTIONS: Final[dict[str, type[msgspec.Struct]]] = {
    "local": LocalSettings,
    "remote": RemoteSettings,
}


def load(
    *,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """The settings. `path` None: the usual places, and none is fine. Raises SettingsError."""
    merged: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
    source = _file(path)
    if source is not None:
        for section, values in source.items():
            if section not in _SECTIONS or not isinstance(values, dict):
                raise SettingsError(
                    f"[{section}] is not a section; there are: {', '.join(_SECTIONS)}"
                )
            merged[section].update(values)
    _merge_environment(merged, os.environ if environ is None else environ)
    for section, values in (flags or {}).items():
        merged[section].update({key: value for key, value in values.items() if value is not None})
    return _convert(merged)


def _from_text(name: str, value: str) -> Any:
    """A variable's value: lists as a,b and tables as a=x,b=y."""
    if name in _TABLES:
        return dict(item.partition("=")[::2] for item in _list(value))
    return _list(value) if name in _LISTS else value


def _list(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def _file(path: Path | None) -> dict[str, Any] | None:
    """The parsed file, or None when none was asked for and none is there."""
    if path is None:
        places = [Path(FILE), Path.home() / ".config" / "sluice" / FILE]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            return None
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error


def _merge_environment(merged: dict[str, dict[str, Any]], environ: Mapping[str, str]) -> None:
    for section, struct in _SECTIONS.items():
        for name in struct.__struct_fields__:
            value = environ.get(f"SLUICE_{section}_{name}".upper())
            if value is not None:
                merged[section][name] = _from_text(name, value)


def _convert(merged: dict[str, dict[str, Any]]) -> Settings:
    sections: dict[str, Any] = {}
    for section, struct in _SECTIONS.items():
        unknown = set(merged[section]) - set(struct.__struct_fields__)
        if unknown:
            raise SettingsError(
                f"{section}.{min(unknown)} is not a setting; [{section}] has: "
                f"{', '.join(struct.__struct_fields__)}"
            )
        try:
            # strict=False: numbers may come as text, from the environment.
            sections[section] = msgspec.convert(merged[section], struct, strict=False)
        except msgspec.ValidationError as error:
            raise SettingsError(f"[{section}] {error}".replace("$.", f"{section}.")) from error
    return Settings(**sections)


def split_address(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[v6]:port"."""
    host, _, port = address.rpartition(":")
    number = int(port)
    if number > 65535:
        raise SettingsError(f"{address}: a port is at most 65535")
    return host.strip("[]"), number

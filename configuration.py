"""Settings: one TOML file, the environment, flags, in that order of rising precedence.

Every key has a default, is validated, and is named in full when it is wrong. The environment
variable of [local] listen is SLUICE_LOCAL_LISTEN; lists are separated by commas.

The file is the user's own: named by a flag, or in the user's configuration folder. Nothing is
looked for in the working directory, which may be anybody's: settings name code that is run and
whom to trust. For the same reason paths in the file are relative to the file, those of the
environment are whole; only those of flags start where the user is.
"""

from __future__ import annotations

import difflib
import os
import re
import socket
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec
from msgspec import Meta

from ownership import NotOwn, read_own
from setting_values import (
    Address,
    Addresses,
    ByteSize,
    HostPattern,
    Interface,
    PathCongestion,
    Processes,
    Role,
    Seconds,
    SettingsError,
    SiteMode,
    form,
    split_address,
)

FILE: Final = "sluice.toml"
"""Looked for in the user's configuration folder."""
PREFIX: Final = "SLUICE_"
"""Of environment variables that are settings."""


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where state is kept unless set (XDG Base Directory Specification)."""
    base = environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "sluice"


def user_file(environ: Mapping[str, str]) -> Path:
    """The settings file of this user, which need not exist (XDG Base Directory Specification)."""
    base = environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".config") / "sluice" / FILE


class LocalSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """[local]: the proxy on the device behind the slow link."""

    listen: Address = "127.0.0.1:8118"
    """Where browsers reach it. Beyond this device it needs `allow_clients`."""
    allow_clients: list[str] = []
    """Addresses and networks of other devices that may use it: 192.168.1.7, 192.168.1.0/24."""
    private: list[str] = []
    """Private hosts (name, *.name), addresses and networks that are on the remote's side, as its
    `allow` names them: the PAC file sends them through the proxy."""
    remote: Addresses | Literal[""] = ""
    """Where the remote proxy (or the tunnel to it) listens; empty: as the pairing says, and
    without security 127.0.0.1:8119. Of several, separated by commas, whichever answers."""
    security: Literal["tls", "none"] = "tls"
    """Of the link; none only to loopback."""
    pair: str = ""
    """The string that `sluice pair` printed on the remote. It's kept, so one start needs it."""
    transport: Literal["tcp", "atp-udp", "atp-tcp"] = "tcp"
    """What carries the link: tcp; atp-udp (over UDP, and over TCP where that gets no answer);
    atp-tcp (over TCP in segments of one size, which hide those of what they hold)."""
    paths: list[Interface] = []
    """Interfaces that carry the link together (wlan0, wwan0), each by a way of its own; auto: all
    with a default route. It goes over UDP; over TCP, and one of them, where that gets no answer."""
    roles: dict[Interface, Role] = {}
    """[local.roles] has lines like wwan0 = "spare": use (as all that are not named); spare (only
    while no other answers); metered (what `budgets` allows). In the environment: wwan0=spare"""
    budgets: dict[Interface, ByteSize] = {}
    """[local.budgets] has lines like wwan0 = "2 GB": what may cross a metered interface in a
    calendar month, both ways. It is spread evenly, with a tenth ahead; beyond that the interface is
    a spare one, and once all has crossed nothing does. In the environment: wwan0=2 GB"""
    path_congestion: dict[Interface, PathCongestion] = {}
    """[local.path_congestion] has lines like sat0 = "newreno": what controls the congestion of what
    comes over it: bottleneck (of all that are not named) goes by what it delivers, background does
    too and takes only what others leave."""
    policy: list[str] = msgspec.field(default_factory=lambda: ["default"])
    """Policies in order: built-in names, module:attribute, or paths of .py files, which nobody
    else may be able to write. Relative ones start at the settings file."""
    device: str = msgspec.field(default_factory=socket.gethostname)
    """Names this device to the remote proxy."""
    patience: Annotated[float, Meta(ge=0, le=86_400)] = 600.0
    """Seconds for which what is under way waits for a lost link before the browser is told."""
    notice: Annotated[float, Meta(ge=0, le=600)] = 8.0
    """Seconds until a page opened while the link is down says so (it loads itself later)."""
    export: Literal["auto", "swap", "multipart", "stream"] = "auto"
    """How pictures are refined in the browser: auto, swap, multipart, stream."""
    congestion: str = ""
    """Congestion control of the link: cubic, bbr or reno of its TCP (empty: cubic, or the system's
    own where it allows no cubic); or background: all that this device does gives way to other
    programs of its line, over whatever carries it."""
    state: str = msgspec.field(default_factory=lambda: str(state_directory(os.environ)))
    """Directory of what outlives a run: the pairing, the authority that browsers trust."""
    tunnel: list[HostPattern] = []
    """Hosts whose https is never adapted: names, *.name (and name itself), * for all."""
    sites: dict[HostPattern, SiteMode] = {}
    """[local.sites] has lines like "*.name" = "text-only"; also adapt, saver, original, tunnel. The
    closest pattern counts. In the environment: a.example=original,*.b.example=tunnel"""
    within: dict[HostPattern, Seconds] = {}
    """[local.within] has lines like "*.name" = 5: seconds in which all pictures of a page of that
    site are to be there, as fine as can be; 0: when they are. In the environment: *.a.example=5"""
    day_budget: ByteSize | Literal[""] = ""
    """What may cross the link in a day, both ways ("20 MB"): pages come as a saver's, and once it
    is gone without pictures until midnight. Empty: there is no limit."""
    texts: Annotated[int, Meta(ge=0)] = 16 << 20
    """Bytes of texts of pages that are kept, packed, in memory and in `state`: a page that is
    opened again crosses the link as what has changed in it. 0: none."""
    history: bool = True
    """Keep in `state` what was saved, by day and site, and who rejects our certificates where."""


class RemoteSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """[remote]: the proxy on the fast side."""

    listen: Address = "127.0.0.1:8119"
    """Where local proxies reach it; 0.0.0.0:8119 for all of this machine's addresses."""
    processes: Processes = 1
    """Processes that serve devices, each from a port of its own: the one in `listen` and those
    behind it (docs/fleet.md). auto: one for each processor. All other settings hold for each."""
    security: Literal["tls", "none"] = "tls"
    """Of the link: paired devices only; none only on loopback."""
    udp: bool = True
    """Take paired devices over UDP too, at the same port, if it is free."""
    address: Addresses | Literal[""] = ""
    """HOST:PORT as devices reach it, for pairing strings; several separated by commas, where
    several remotes are one (docs/fleet.md). Empty: guessed."""
    state: str = msgspec.field(default_factory=lambda: str(state_directory(os.environ) / "remote"))
    """Directory of its identity and the paired devices."""
    status: Address | Literal[""] = ""
    """HOST:PORT where /health and /metrics (Prometheus) are served; they name devices, so mind who
    can reach it. Empty: nowhere."""
    devices: Annotated[int, Meta(ge=1, le=4096)] = 64
    """Devices served at a time; others are told so. `memory` holds for each of them."""
    memory: Annotated[int, Meta(ge=1 << 20)] = 64 << 20
    """Bytes that may wait for one device, and as many again of pictures in the making."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 2
    """Transcoding jobs at a time."""
    texts: Annotated[int, Meta(ge=0)] = 64 << 20
    """Bytes of texts that devices have been sent, kept packed for their next visits; 0: none."""
    shared: Annotated[int, Meta(ge=0)] = 64 << 20
    """Bytes of made pictures that are kept for whoever gets the same ones next; 0: none."""
    store: str = ""
    """Where answers of origins are kept for all devices, as RFC 9111 allows: memory (of this
    process), or a Valkey or Redis that several remotes share: redis://HOST:6379/0, rediss:// (TLS),
    with USER:PASSWORD@ where it wants them, unix:///PATH. Empty: nowhere."""
    dask: str = ""
    """A Dask cluster's scheduler that makes pictures, tcp://HOST:8786 or tls://...; its workers
    need this release of Sluice, and who reaches it can have them do anything (docs/fleet.md).
    While it is away they are made here. Empty: there is none."""
    answers: Annotated[int, Meta(ge=0)] = 256 << 20
    """Bytes that `store = "memory"` may take."""
    worth: Annotated[float, Meta(ge=0)] = 0.2
    """Seconds that a picture would be waited for, from which on it is adapted; 0: always."""
    quantum: Annotated[int, Meta(ge=64, le=16384)] = 1024
    """Bytes per quantum before the link has been measured."""
    congestion: str = ""
    """TCP congestion control of the link: cubic, bbr, reno; empty: cubic, and BBR after pauses and
    losses, as far as the system allows them."""
    available: bool = False
    """Measure over UDP what other programs leave of each device's link, by the times at which what
    is sent anyway goes out (ImTCP). Policies and `sluice status` have it."""
    allow: list[str] = msgspec.field(default_factory=list)
    """Hosts, *.domains, addresses or networks, each with a :port or without, that may be reached
    though they are not on the public internet (docs/security.md)."""
    max_requests: Annotated[int, Meta(ge=0)] = 1024
    """Requests of one device under way at a time. 0: no limit; so with those below."""
    max_requests_per_minute: Annotated[int, Meta(ge=0)] = 6000
    """Requests that one device may make within a minute."""
    max_connections: Annotated[int, Meta(ge=0)] = 256
    """Connections to origins at a time for one device; further requests wait, tunnels fail."""
    max_connections_per_host: Annotated[int, Meta(ge=0)] = 12
    """Of these to one server, without those that stay open; further requests wait."""
    max_bytes_per_day: Annotated[int, Meta(ge=0)] = 0
    """Bytes to and from origins for one device within 24 hours."""
    ca_file: str = ""
    """A PEM file of root certificates to trust besides the system's, for private sites."""
    schedulers: list[str] = []
    """Plug-ins (docs/plugins.md): entry points' names, module:attribute, or paths of .py files,
    which nobody else may be able to write. Relative ones start at the settings file."""
    transcoders: list[str] = []
    """The same, for pictures."""
    import_drivers: list[str] = []
    """The same, for what pages are made of."""
    patience: Annotated[float, Meta(ge=0, le=86_400)] = 660.0
    """Seconds for which a device that has lost its link is expected back, at least. One that says
    that it is more patient (local.patience) is expected for as long, up to an hour."""


class Settings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """All of it."""

    local: LocalSettings = LocalSettings()
    remote: RemoteSettings = RemoteSettings()


_PLUGINS: Final = ("policy", "schedulers", "transcoders", "import_drivers")
"""Lists in which paths of .py files may be."""
_LISTS: Final = (*_PLUGINS, "tunnel", "allow", "allow_clients", "private", "paths")
"""Settings whose values are separated by commas in the environment."""
_TABLES: Final = ("sites", "within", "roles", "budgets", "path_congestion")
"""Settings that are tables."""
_PATHS: Final = ("state", "ca_file")
"""Settings that are paths."""
_SECTIONS: Final[dict[str, type[msgspec.Struct]]] = {
    "local": LocalSettings,
    "remote": RemoteSettings,
}
_NEAR: Final = 0.8
"""How alike two names are of which one is a slip of the other (difflib's ratio)."""


def load(
    *,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """The settings. `path` None: the user's own file, if there is one. Raises SettingsError."""
    environ = os.environ if environ is None else environ
    merged: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
    if path is None and os.path.lexists(usual := user_file(environ)):
        path = usual
    if path is not None:
        path = path.expanduser().absolute()
        for section, values in _parsed(path).items():
            if section not in _SECTIONS or not isinstance(values, dict):
                raise SettingsError(
                    f"[{section}] is not a section; there are: {', '.join(_SECTIONS)}"
                )
            merged[section].update(_placed(values, path.parent))
    _merge_environment(merged, environ)
    for section, values in (flags or {}).items():
        given = {key: value for key, value in values.items() if value is not None}
        merged[section].update(_placed(given, Path()))
    return _convert(merged)


def strays(environ: Mapping[str, str]) -> list[str]:
    """Variables that are named like settings and are none."""
    known = _variables()
    return sorted(name for name in environ if name.startswith(PREFIX) and name not in known)


def _variables() -> dict[str, tuple[str, str]]:
    """Section and setting by the name of the variable."""
    return {
        f"{PREFIX}{section}_{name}".upper(): (section, name)
        for section, struct in _SECTIONS.items()
        for name in struct.__struct_fields__
    }


def _from_text(name: str, value: str) -> Any:
    """A variable's value: lists as a,b and tables as a=x,b=y."""
    if name in _TABLES:
        return dict(item.partition("=")[::2] for item in _list(value))
    return _list(value) if name in _LISTS else value


def _list(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def _parsed(path: Path) -> dict[str, Any]:
    """What the file says."""
    try:
        return tomllib.loads(read_own(path).decode("utf-8"))
    except NotOwn as error:
        raise SettingsError(f"the settings in {path} are not used: {error}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error


def _merge_environment(merged: dict[str, dict[str, Any]], environ: Mapping[str, str]) -> None:
    known = _variables()
    for stray in strays(environ):
        meant = difflib.get_close_matches(stray, known, n=1, cutoff=_NEAR)
        if meant:
            raise SettingsError(f"{stray} is not a setting; did you mean {meant[0]}?")
    for variable, (section, name) in known.items():
        if variable in environ:
            value = {name: _from_text(name, environ[variable])}
            merged[section].update(_placed(value, None, variable=variable))


# -- paths -----------------------------------------------------------------------------------------


def _placed(
    values: Mapping[str, Any], folder: Path | None, *, variable: str = ""
) -> dict[str, Any]:
    """The values with their paths whole. `folder` None: relative ones of `variable` are refused."""

    def whole(path: str) -> str:
        try:
            expanded = Path(path).expanduser()
        except RuntimeError as error:  # ~somebody, who is not here
            raise SettingsError(f"{path}: {error}") from error
        if expanded.is_absolute():
            return str(expanded)
        if folder is None:
            raise SettingsError(
                f"{variable}: {path} would be looked for wherever sluice is started, which may be "
                "anybody's folder; write the whole path"
            )
        return str((folder / expanded).absolute())

    placed = dict(values)
    for name, value in values.items():
        if name in _PATHS and isinstance(value, str) and value:
            placed[name] = whole(value)
        elif name in _PLUGINS and isinstance(value, list):
            placed[name] = [
                whole(one) if isinstance(one, str) and _is_file(one) else one for one in value
            ]
    return placed


def _is_file(plugin: str) -> bool:
    """Whether it is file.py or file.py:name (plugins/finding.py)."""
    return plugin.endswith(".py") or plugin.rpartition(":")[0].endswith(".py")


# -- what is wrong ---------------------------------------------------------------------------------


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
            raise SettingsError(_said(error, section, merged[section])) from error
        _check(section, sections[section])
    return Settings(**sections)


def _check(section: str, settings: msgspec.Struct) -> None:
    """What types can't say. Raises SettingsError."""
    for name in ("listen", "remote", "address"):
        if address := getattr(settings, name, ""):
            try:
                split_address(address)
            except SettingsError as error:
                raise SettingsError(f"{section}.{name}: {error}") from error
    if isinstance(settings, LocalSettings):
        _check_paths(settings)


def _check_paths(settings: LocalSettings) -> None:
    """What is said of interfaces. Raises SettingsError."""
    if not settings.paths:
        for name in ("roles", "budgets", "path_congestion"):
            if getattr(settings, name):
                raise SettingsError(f"local.{name} is about local.paths, which names no interface")
    for name, role in settings.roles.items():
        if role == "metered" and name not in settings.budgets:
            raise SettingsError(
                f"local.roles: {name} is metered, so [local.budgets] must say how much may cross "
                f'it in a month: {name} = "2 GB"'
            )
    for name in settings.budgets:
        if settings.roles.get(name) != "metered":
            raise SettingsError(
                f'local.budgets: {name} is not metered; say so in [local.roles]: {name} = "metered"'
            )


def _said(error: msgspec.ValidationError, section: str, values: Mapping[str, Any]) -> str:
    """The fault in words: which setting, what it says, what it may be."""
    found = re.search(r"\$\.(\w+)", str(error))
    name = found[1] if found else ""
    hint = get_type_hints(_SECTIONS[section], include_extras=True).get(name)
    looks = form(hint)
    if not looks:
        return f"[{section}] {error}".replace("$.", f"{section}.")
    return f"{section}.{name}: {values[name]!r:.200} is not {looks}"

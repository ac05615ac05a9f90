"""Writes the units by which systemd runs a proxy.

The machine's own remote proxy runs as a user of its own, who may write nothing but its state and
read nobody's home. A local proxy is its user's, as its pages are, and opens office documents: it
keeps to what a user's manager can enforce. Source: systemd.exec(5), systemd.service(5).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Role = Literal["local", "remote"]
Scope = Literal["user", "system"]
"""Whose manager runs it: a user's, or the machine's own."""

USER: Final = "sluice"
"""Who a proxy of the whole machine runs as."""
HOME: Final = Path("/var/lib/sluice")
"""Where that user keeps what outlives a run."""
HOMES: Final = ("/home", "/root", "/run/user")
"""What ProtectHome hides."""
SETTINGS: Final = Path("/etc/sluice/sluice.toml")
"""Its settings, if there are any."""
REFUSED: Final = 2
"""Exit code of a proxy that can't be started as it is configured (cli.command)."""
_WHAT: Final = {
    "local": "Sluice, local proxy (the device behind the slow link)",
    "remote": "Sluice, remote proxy (the fast side of the link)",
}
_EVERYWHERE: Final = (
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "SystemCallArchitectures=native",
    "UMask=0077",
)
_OF_THE_MACHINE: Final = (
    f"User={USER}",
    f"StateDirectory={HOME.name}",
    "StateDirectoryMode=0700",
    "CapabilityBoundingSet=",
    "AmbientCapabilities=",
    "DevicePolicy=closed",
    "KeyringMode=private",
    "PrivateDevices=yes",
    "PrivateTmp=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectProc=invisible",
    "ProtectSystem=strict",
    "RemoveIPC=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "RestrictNamespaces=yes",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged",
    "SystemCallErrorNumber=EPERM",
)
"""All that a proxy does without: it talks to the network and writes its state."""


@dataclass(frozen=True, slots=True)
class Service:
    """One proxy that systemd is to run."""

    role: Role
    scope: Scope
    command: tuple[str, ...]
    """The program, by its whole path, and what goes before the role's own arguments."""
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The unit's, as systemctl takes it."""
        return f"sluice-{self.role}.service"

    def _homes(self) -> str:
        """Hidden, unless the program itself is in one."""
        words = [Path(word) for word in self.command if word.startswith("/")]
        places = {place for word in words for place in (word, word.resolve())}
        within = any(place.is_relative_to(home) for place in places for home in HOMES)
        return "read-only" if within else "yes"

    def unit(self) -> str:
        """The unit's file."""
        whole = self.scope == "system"
        start = " ".join(quoted(word) for word in (*self.command, self.role, *self.arguments))
        wanted = "multi-user.target" if whole else "default.target"
        places = (
            f"Environment=XDG_CONFIG_HOME={SETTINGS.parent.parent}",
            f"Environment=XDG_DATA_HOME={HOME.parent}",
        )
        lines = (
            f"# Written by `sluice service install {self.role}`; `sluice service remove "
            f"{self.role}` takes it away.",
            "[Unit]",
            f"Description={_WHAT[self.role]}",
            *(("Wants=network-online.target", "After=network-online.target") if whole else ()),
            "",
            "[Service]",
            "Type=notify",
            f"ExecStart={start}",
            "Restart=on-failure",
            "RestartSec=5",
            f"RestartPreventExitStatus={REFUSED}",
            "WatchdogSec=120",
            "TimeoutStartSec=120",
            "LimitNOFILE=65536",
            *(places if whole else ()),
            *_EVERYWHERE,
            *((*_OF_THE_MACHINE, f"ProtectHome={self._homes()}") if whole else ()),
            "",
            "[Install]",
            f"WantedBy={wanted}",
        )
        return "\n".join(lines) + "\n"


def sysusers() -> str:
    """The file by which systemd-sysusers(8) makes USER."""
    return f'u {USER} - "Sluice" {HOME}\n'


def quoted(word: str) -> str:
    """A word of a command line as systemd reads it (systemd.service(5), "Command lines"). Raises
    ValueError for one that no line can have."""
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in word):
        raise ValueError(f"{word!r} has characters that no unit can have")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    plain = all(char.isalnum() or char in "/._-:=,@+*" for char in word)
    return word if plain and word else f'"{escaped}"'

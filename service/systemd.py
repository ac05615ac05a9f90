"""Puts units in place and has systemd run them; takes them away again.

Everything that is done is said; `dry_run` only says it. Raises ServiceError with a sentence for
people where the machine does not play its part.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from service.removal import prune
from service.units import HOME, USER, Role, Scope, Service, sysusers

Say = Callable[[str], None]
Run = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]
SYSTEM_UNITS: Final = Path("/etc/systemd/system")
SYSUSERS: Final = Path("/etc/sysusers.d/sluice.conf")
_PATIENCE: Final = 150.0
"""Seconds that systemd is given: a start may take as long as TimeoutStartSec."""
_ADMINISTRATION: Final = "/usr/local/sbin:/usr/sbin:/sbin"
_UNREACHED: Final = "Failed to connect to bus"
"""systemctl's words where no manager runs."""
_LINES: Final = "8"
"""Of the journal, that are shown where a proxy does not start."""


class ServiceError(Exception):
    """It could not be done; the text says why, and what to do."""


class Unreached(ServiceError):
    """The manager is not there, or can't be reached."""


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of commands: root's programs are found by who came with `su`, and a user's
    manager that runs is reached by who has not logged in."""
    found = {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}", **environ}
    found["PATH"] = f"{environ.get('PATH', os.defpath)}:{_ADMINISTRATION}"
    return found


def run_command(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command of the system, and its words. Raises ServiceError if it is not there or hangs."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False,
            env=surroundings(os.environ),
        )  # fmt: skip
    except FileNotFoundError as error:
        raise ServiceError(
            f"{command[0]} is not on this machine, which does not run systemd"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ServiceError(f"{' '.join(command)} has not ended in {_PATIENCE:.0f} s") from error


@dataclass(frozen=True, slots=True)
class Systemd:
    """One manager: a user's, or the machine's."""

    scope: Scope
    say: Say = print
    run: Run = run_command
    dry_run: bool = False
    home: Path = field(default_factory=Path.home)
    root: Path = Path("/")
    """Where the machine's own files are."""

    def folder(self) -> Path:
        """Where this manager looks for units."""
        if self.scope == "system":
            return self.root / SYSTEM_UNITS.relative_to("/")
        base = os.environ.get("XDG_CONFIG_HOME", "")
        config = Path(base) if base.startswith("/") else self.home / ".config"
        return config / "systemd" / "user"

    def install(self, service: Service) -> None:
        """Run it from now on, and at every start. Raises ServiceError."""
        try:
            text = service.unit()
        except ValueError as error:
            raise ServiceError(str(error)) from error
        if self.scope == "system":
            self._check_reach(service.command)
            self._write(self.root / SYSUSERS.relative_to("/"), sysusers())
            self._do("systemd-sysusers", str(self.root / SYSUSERS.relative_to("/")))
        self._write(self.folder() / service.name, text)
        try:
            self._systemctl("daemon-reload")
        except Unreached:
            self._unlink(self.folder() / service.name)
            raise
        self._systemctl("enable", service.name)
        if self.scope == "user" and service.role == "remote":
            self._linger()
        try:
            self._systemctl("restart", service.name)
        except ServiceError as error:
            raise ServiceError(f"{error}\n{self._journal(service.name)}".rstrip()) from error

    def remove(self, role: Role) -> bool:
        """Run it no more; whether it was there. Raises ServiceError."""
        name = Service(role, self.scope, ()).name
        unit = self.folder() / name
        if not unit.exists():
            return False
        try:
            self._systemctl("disable", "--now", name)
            self._unlink(unit)
            self._systemctl("daemon-reload")
        except Unreached:  # none of it runs then: what is left are files
            self._do("env", "SYSTEMD_OFFLINE=1", *self._command(), "disable", name)
            self._unlink(unit)
        if self.scope == "system":
            self._unlink(self.root / SYSUSERS.relative_to("/"))
        elif role == "remote":
            self.say("unless other services of yours run without a login: loginctl disable-linger")
        return True

    def forget_user(self) -> None:
        """The user as whom the machine's proxy ran is gone too. Raises ServiceError."""
        if self.scope == "system" and self.run(["id", USER]).returncode == 0:
            self._do("userdel", USER)

    def state(self, role: Role) -> str:
        """What its manager says of it, in a line; "": there is none."""
        name = Service(role, self.scope, ()).name
        if not (self.folder() / name).exists():
            return ""
        shown = self.run(
            [*self._command(), "show", name, "--property=ActiveState,SubState,StatusText"]
        )
        if shown.returncode != 0:
            return _words(shown) or "its manager does not answer"
        said = dict(line.partition("=")[::2] for line in shown.stdout.splitlines())
        words = f"{said.get('ActiveState', '')} ({said.get('SubState', '')})"
        return f"{words}, {said['StatusText']}" if said.get("StatusText") else words

    def _command(self) -> list[str]:
        return ["systemctl"] if self.scope == "system" else ["systemctl", "--user"]

    def _systemctl(self, *arguments: str) -> None:
        self._do(*self._command(), *arguments)

    def _do(self, *command: str) -> None:
        self.say(" ".join(command))
        if self.dry_run:
            return
        done = self.run(command)
        if done.returncode != 0 and _UNREACHED in _words(done):
            raise Unreached(f"{' '.join(command)}: {_words(done)}{self._advice()}")
        if done.returncode != 0:
            raise ServiceError(f"{' '.join(command)}: {_words(done)}")

    def _advice(self) -> str:
        """What whoever reaches no manager can do."""
        if self.scope == "system":
            return ""
        return (
            ". No manager of your services runs: log in as yourself (su and sudo start none), or, "
            "as root: loginctl enable-linger USER"
        )

    def _linger(self) -> None:
        """Have it run on when its user logs out, if that may be."""
        try:
            self._do("loginctl", "enable-linger")
        except ServiceError as error:
            self.say(f"{error}: it ends at logout, unless root does: loginctl enable-linger USER")

    def _journal(self, name: str) -> str:
        user = [] if self.scope == "system" else ["--user"]
        read = self.run(["journalctl", *user, "-u", name, "-n", _LINES, "--no-pager", "-o", "cat"])
        return read.stdout.strip()

    def _write(self, path: Path, text: str) -> None:
        self.say(f"write {path}")
        if self.dry_run:
            self.say("\n".join(f"    {line}" for line in text.splitlines()))
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o644)
        except OSError as error:
            raise ServiceError(f"{path} can't be written: {error.strerror or error}") from error

    def _unlink(self, path: Path) -> None:
        self.say(f"remove {path}")
        if not self.dry_run:
            path.unlink(missing_ok=True)
            prune(path.parent, below=self.home if self.scope == "user" else self.root / "etc")

    def _check_reach(self, command: Sequence[str]) -> None:
        """The machine's proxy runs as another user, who must be able to read the program."""
        for word in command:
            if not word.startswith("/"):
                continue
            path = Path(word)
            for place in (path, path.resolve()):
                for folder in place.parents:
                    if folder.is_dir() and not folder.stat().st_mode & 0o001:
                        raise ServiceError(
                            f"{folder} can't be entered by the user {USER}, as whom the remote "
                            "proxy is to run: install Sluice where all may read it, as below /opt"
                        )


def _words(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr or done.stdout).split())


def runs_remote(root: Path = Path("/")) -> bool:
    """Is a remote proxy installed as the machine's own service?"""
    name = Service("remote", "system", ()).name
    return (root / SYSTEM_UNITS.relative_to("/") / name).exists()


def program() -> tuple[str, ...]:
    """How this very program is started: its Python, and itself, by whole paths. Where these lead
    is looked at before a unit names them. Raises ServiceError."""
    found = shutil.which(sys.argv[0]) or sys.argv[0]
    if not Path(found).exists():
        raise ServiceError(f"{sys.argv[0]} is not found any more")
    return sys.executable, str(Path(found).absolute())


def pairing_line(
    command: Sequence[str],
    name: str = "NAME",
    address: str = "HOST:PORT",
    *,
    environ: Mapping[str, str] = os.environ,
) -> str:
    """How a device of the machine's own remote is paired by root, who may have come by sudo: a
    machine need not have it. `command`: the program."""
    become = f"sudo -u {USER}" if environ.get("SUDO_USER") else f"runuser -u {USER} --"
    words = " ".join((*command, "pair", name))
    return f"{become} {words} --state {HOME}/remote --address {address}"


def hints(service: Service) -> list[str]:
    """What people should know once it runs."""
    if service.role == "local":
        return [
            "it starts when you log in; `sluice status` shows what it does",
            "its words: journalctl --user -u sluice-local",
        ]
    if service.scope == "user":
        return ["pair devices as ever: sluice pair NAME --address HOST:PORT"]
    return [
        f"pair devices: {pairing_line(service.command)}",
        "its words: journalctl -u sluice-remote",
    ]

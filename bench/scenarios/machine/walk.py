"""Walks README's and docs/upgrading.md's lines on a machine that has booted for the first time.

From the previous release, with a device that is paired and has loaded something, to this one as a
service of the machine and of its users, through a reboot, to a machine without Sluice. Knows what
people type and what they should see; not how the machine is made.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

from bench.scenarios.machine import leftovers
from bench.scenarios.machine.debian import environment
from bench.scenarios.machine.journal import Journal
from emulation.machines.booted import BootedMachine, CommandResult

CLONE: Final = "/opt/sluice"
SOURCE: Final = "/srv/sluice.git"
"""Where the machine clones from: this repository, bare."""
SITE: Final = "/srv/site"
PROGRAM: Final = f"{CLONE}/.venv/bin/sluice"
UNIT: Final = "sluice-remote.service"
ADDRESS: Final = "127.0.0.1:8119"
ORIGIN: Final = "http://news.test:8000"
"""An origin of the machine's own, which /etc/hosts knows."""
PAGE: Final = f"{ORIGIN}/index.html"
FILE: Final = f"{ORIGIN}/file.bin"
SETTINGS: Final = '[remote]\nallow = ["127.0.0.0/8"]\n'
USERS: Final = {"alice": "127.0.0.1:8118", "bob": "127.0.0.1:8128"}
"""Who has a device, and where their browsers reach it."""
PATIENCE: Final = 90.0
"""Seconds until a link is up, or a proxy answers."""
INSTALL: Final = 900.0
"""Seconds for `make install`, which fetches packages."""
_NEEDS_ROOT: Final = "needs root: "
VISITOR: Final = Path(__file__).with_name("visitor.py").read_text()


class Walk:
    """Does the walk's parts in order, each with its steps and checks in the journal."""

    def __init__(self, machine: BootedMachine, journal: Journal, wanted: dict[str, str]) -> None:
        """`wanted`: SHA-256 of what the origin has, by URL."""
        self._machine = machine
        self._journal = journal
        self._wanted = wanted
        self._before: dict[str, str] = {}
        self._savings: Any = None

    # -- parts -------------------------------------------------------------------------------------

    def bare(self) -> None:
        """Take down what the machine has before Sluice."""
        for user in USERS:
            self._must("useradd", "--create-home", "--shell", "/bin/bash", user)
        self._start_origin()
        self._log_in()
        self._before = self._files()

    def previous_release(self, release: str) -> None:
        """Install it, pair a device under it, load something, set a site's switch, end it."""
        with self._journal.step(f"git clone, checkout of {release[:12]}, make install"):
            self._must("git", "clone", "--quiet", SOURCE, CLONE)
            self._must("git", "-C", CLONE, "reset", "--quiet", "--hard", release)
            self._install()
        with self._journal.step("the previous release: remote, pair, local"):
            self._machine.run("mkdir", "-p", "/root/.config/sluice")
            self._write("/root/.config/sluice/sluice.toml", SETTINGS)
            self._start("old-remote", "root", PROGRAM, "remote", "--listen", "0.0.0.0:8119")
            self._until_listening("8119", "old-remote")
            string = self._must(PROGRAM, "pair", "laptop", "--address", ADDRESS).out.strip()
            # The string comes by standard input, as people paste it.
            line = f"echo '{string}' | {{ {self._congestion()}exec {PROGRAM} local --pair -; }}"
            self._start("old-local", "alice", "sh", "-c", line)
            self._until_linked("alice", "the previous release: a device is paired and connects")
        with self._journal.step("the previous release: a page, a file, a switch"):
            self._loads("alice", "the previous release")
            choice = self._visit("alice", "switch", "news.test", "original")
            self._journal.check(
                "the previous release: a switch is set", '"status": 200' in choice.out, said=choice
            )
            self._savings = self._saved()
            self._journal.check(
                "the previous release: it counts what it saved",
                bool(self._savings["days"]),
                said=self._savings,
            )
            self._machine.run("systemctl", "stop", "old-local", "old-remote")

    def upgrade(self) -> None:
        """docs/upgrading.md's lines, and from running by hand to services."""
        with self._journal.step("git pull && make install"):
            self._must("git", "-C", CLONE, "pull", "--quiet")
            self._install()
        with self._journal.step("sluice service install remote -- --listen 0.0.0.0:8119"):
            self._machine.run("mkdir", "-p", "/etc/sluice")
            self._must("mv", "/root/.config/sluice/sluice.toml", "/etc/sluice/")
            done = self._machine.run(
                *(PROGRAM, "service", "install", "remote", "--", "--listen", "0.0.0.0:8119")
            )
            self._journal.require("the remote is the machine's service", done.code == 0, said=done)
        with self._journal.step("the pairings of the remote that ran by hand"):
            line = self._said("to take them along: ", done.errors)
            taken = self._machine.run("sh", "-c", line)
            self._journal.require("are taken along", taken.code == 0, said=f"{line}\n{taken}")
        with self._journal.step("sluice service install local"):
            done = self._as("alice", PROGRAM, "service", "install", "local")
            self._journal.require(
                "the local proxy is its user's service", done.code == 0, said=done
            )
            self._until_linked("alice", "a device that the previous release paired connects")
        with self._journal.step("what was there is there"):
            sites = self._visit("alice", "sites").out
            kept = '"pattern":"news.test","mode":"original"' in sites.replace(" ", "")
            self._journal.check("its switch is kept", kept, said=sites)
            saved = self._saved()
            before, after = (one["days"] for one in (self._savings, saved))
            self._journal.check(
                "its savings are kept", bool(before) and len(after) >= len(before), said=saved
            )
            self._loads("alice", "after the upgrade")

    def another_device(self) -> None:
        """Pair one by the line that `service install remote` names."""
        with self._journal.step("sluice pair, sluice local --pair -"):
            line = self._pairing_line().replace("NAME", "tablet").replace("HOST:PORT", ADDRESS)
            paired = self._machine.run("sh", "-c", line)
            self._journal.require(
                "the line that pairs devices does",
                paired.code == 0 and bool(paired.out.strip()),
                said=f"{line}\n{paired}",
            )
            by_hand = f"exec {PROGRAM} local --pair - --listen {USERS['bob']}"
            by_hand = f"echo '{paired.out.strip()}' | {by_hand}"
            self._start("first-local", "bob", "sh", "-c", by_hand)
            self._until_linked("bob", "a new device connects")
            self._loads("bob", "on a new device")
            self._machine.run("systemctl", "stop", "first-local")
            done = self._as(
                "bob", PROGRAM, "service", "install", "local", "--", "--listen", USERS["bob"]
            )
            self._journal.require(
                "a second user has a local proxy as well", done.code == 0, said=done
            )

    def trust(self) -> None:
        """Have the system trust a device's authority, by the line that `sluice trust` names."""
        with self._journal.step("sluice trust"):
            said = self._logged_in("alice", f"{PROGRAM} trust")
            done = self._as_root(self._said(_NEEDS_ROOT, said.out))
            there = self._machine.run("test", "-e", "/etc/ssl/certs/sluice.pem").code == 0
            self._journal.check("the system trusts the authority", there, said=f"{said}\n{done}")

    def reboot(self) -> None:
        """Pull its plug, and boot it again."""
        with self._journal.step("reboot"):
            self._machine.stop()
            self.boot()
        with self._journal.step("after the reboot"):
            self._machine.until("SubState", "running", UNIT)
            for user in USERS:
                self._until_linked(user, f"after a reboot {user}'s device connects by itself")
                self._loads(user, f"after a reboot, {user}")

    def boot(self) -> None:
        """Boot it; its users log in, and its origin is there again. Raises NoBoot."""
        self._machine.boot()
        self._start_origin()
        self._log_in()

    def uninstall(self) -> list[str]:
        """`sluice uninstall` by each who has it; what is left of it."""
        with self._journal.step("sluice uninstall"):
            for user in USERS:
                done = self._logged_in(user, f"{PROGRAM} uninstall --yes")
                self._journal.check(f"{user} uninstalls", done.code == 0, said=done)
                if _NEEDS_ROOT in done.out:
                    self._as_root(self._said(_NEEDS_ROOT, done.out))
            done = self._machine.run(PROGRAM, "uninstall", "--system", "--yes")
            self._journal.check("root uninstalls", done.code == 0, said=done)
            left = leftovers.leftovers(self._before, self._files())
            named = leftovers.naming(self._machine.root, without=CLONE[1:])
            running = self._machine.run("pgrep", "-af", "sluice.py|bin/sluice").out
            self._journal.check(
                "nothing of it is left but the clone", left.none, goal="no file", said=left
            )
            self._journal.check(
                "no settings of the system name it", not named, goal="none", said=named
            )
            self._journal.check(
                "nothing of it runs", not running.strip(), goal="none", said=running
            )
        return str(left).splitlines()

    # -- what people do ----------------------------------------------------------------------------

    def _install(self) -> None:
        done = self._machine.run(
            *("env", "-C", CLONE, "make", "install"),
            network="outer", environment=environment(), patience=INSTALL,
        )  # fmt: skip
        self._journal.require("make install", done.code == 0, said=done)
        # What nobody of Sluice's installed is compiled where it lies: it is of the clone.

    def _congestion(self) -> str:
        """What 0.1.0 must be told where the system lets nobody but root have cubic."""
        kernel = "/proc/sys/net/ipv4/tcp_"
        allowed = self._must("cat", f"{kernel}allowed_congestion_control").out.split()
        if "cubic" in allowed:
            return ""
        own = self._must("cat", f"{kernel}congestion_control").out.strip()
        self._journal.note(f"no cubic for who is not root here: the local proxy is told {own}")
        return f"SLUICE_LOCAL_CONGESTION={own}; export SLUICE_LOCAL_CONGESTION; "

    def _pairing_line(self) -> str:
        """The line that the service's installation has named."""
        said = self._machine.run(PROGRAM, "service", "install", "remote", "--dry-run").errors
        return self._said("pair devices: ", said)

    def _said(self, before: str, words: str) -> str:
        """The command that was named so. Raises WalkStopped."""
        found = next((line for line in words.splitlines() if before in line), "")
        self._journal.require(f"a line says how: {before}...", bool(found), said=words)
        return found.partition(before)[2]

    def _log_in(self) -> None:
        """Have a session for each user, as a login has."""
        for user in USERS:
            self._must(
                *("systemd-run", "--quiet", f"--unit=login-{user}", "-p", "PAMName=login"),
                *("-p", f"User={user}", "sleep", "infinity"),
            )
        for user in USERS:
            number = self._number(user)
            self._until(
                f"{user} is logged in",
                lambda number=number: self._machine.run("test", "-S", f"/run/user/{number}/bus"),
            )

    def _start_origin(self) -> None:
        self._must(
            "systemd-run",
            "--quiet",
            "--unit=origin",
            "python3",
            "-m",
            "http.server",
            "8000",
            "--bind",
            "127.0.0.1",
            "--directory",
            SITE,
        )
        self._until_listening("8000", "origin")

    # -- what they see -----------------------------------------------------------------------------

    def _loads(self, user: str, when: str) -> None:
        for what, url in (("a page", PAGE), ("a file", FILE)):
            done = self._visit(user, "fetch", url)
            well = done.code == 0 and json.loads(done.out)["sha256"] == self._wanted[url]
            self._journal.check(f"{when}: {what} comes byte for byte", well, said=done)

    def _saved(self) -> Any:
        return json.loads(self._visit("alice", "savings").out)

    def _until_linked(self, user: str, what: str) -> None:
        def linked() -> CommandResult:
            done = self._as(user, PROGRAM, "status", "--proxy", USERS[user])
            if f"link to {ADDRESS}: up for" in done.out:
                return CommandResult(0, done.out, done.errors)
            words = self._machine.run("journalctl", "-n", "15", "--no-pager", "-o", "cat").out
            return CommandResult(1, done.out + done.errors, words)

        self._until(what, linked)

    def _until_listening(self, port: str, unit: str) -> None:
        def listening() -> CommandResult:
            script = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5).close()"
            done = self._machine.run("python3", "-c", script)
            journal = self._machine.run("journalctl", "-u", unit, "-n", "12", "--no-pager").out
            return CommandResult(done.code, journal, done.errors)

        self._until(f"{unit} listens", listening)

    def _until(self, what: str, ask: Any) -> None:
        """Ask until the answer's code is 0; what it said last is shown where it never is."""
        end = time.monotonic() + PATIENCE
        while (done := ask()).code != 0 and time.monotonic() < end:
            time.sleep(0.5)
        self._journal.require(what, done.code == 0, said=done)

    # -- tools -------------------------------------------------------------------------------------

    def _visit(self, user: str, *words: str) -> CommandResult:
        return self._as(user, "python3", "-", f"http://{USERS[user]}", *words, given=VISITOR)

    def _as(self, user: str, *command: str, given: str = "") -> CommandResult:
        number = self._number(user)
        places = (f"HOME=/home/{user}", f"XDG_RUNTIME_DIR=/run/user/{number}")
        return self._machine.run("runuser", "-u", user, "--", "env", *places, *command, given=given)

    def _logged_in(self, user: str, line: str) -> CommandResult:
        """A line in a login's shell, with the PATH that Debian gives it."""
        return self._machine.run("runuser", "-l", user, "-c", line)

    def _as_root(self, line: str) -> CommandResult:
        """A line for sudo, in root's shell: a bare Debian has no sudo."""
        return self._machine.run("sh", "-c", line.replace("sudo ", ""))

    def _number(self, user: str) -> str:
        return self._must("id", "-u", user).out.strip()

    def _start(self, unit: str, user: str, *command: str) -> None:
        """Run it as a person would in a terminal."""
        home = "/root" if user == "root" else f"/home/{user}"
        self._must(
            "systemd-run",
            "--quiet",
            f"--unit={unit}",
            "-p",
            f"User={user}",
            f"--setenv=HOME={home}",
            *command,
        )

    def _write(self, path: str, text: str) -> None:
        self._must("tee", path, given=text)

    def _must(self, *command: str, given: str = "") -> CommandResult:
        done = self._machine.run(*command, given=given)
        if done.code != 0:
            self._journal.require(" ".join(command), False, said=done)
        return done

    def _files(self) -> dict[str, str]:
        return leftovers.files(self._machine.root, without=CLONE[1:])

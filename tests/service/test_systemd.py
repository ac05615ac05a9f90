"""Puts units in place: by the real systemctl in a folder of its own, and by one that is made up."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from service.systemd import (
    ServiceError,
    Systemd,
    hints,
    pairing_line,
    run_command,
    runs_remote,
    surroundings,
)
from service.units import Service

COMMAND = ("/usr/bin/sluice",)
SERVICE = Service("remote", "user", COMMAND, ("--listen", "0.0.0.0:8119"))


class Manager:
    """Answers commands as systemd would, and notes them."""

    def __init__(self, *, fails: str = "", says: str = "", why: str = "no") -> None:
        self.ran: list[str] = []
        self._fails = fails
        self._why = why
        self._says = says

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.ran.append(" ".join(command))
        code = 1 if self._fails and self._fails in self.ran[-1] else 0
        words = self._why if code else ""
        return subprocess.CompletedProcess(list(command), code, self._says, words)


def manager(tmp_path: Path, answers: Manager, *, dry_run: bool = False) -> Systemd:
    return Systemd("user", say=lambda _: None, run=answers, dry_run=dry_run, home=tmp_path)


@pytest.fixture(autouse=True)
def no_settings_of_whoever_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def test_it_is_put_in_place_enabled_and_started_then_taken_away(tmp_path: Path) -> None:
    answers = Manager(says="ActiveState=active\nSubState=running\nStatusText=serves devices\n")
    systemd = manager(tmp_path, answers)
    assert systemd.state("remote") == ""
    systemd.install(SERVICE)
    unit = tmp_path / ".config/systemd/user/sluice-remote.service"
    assert unit.read_text() == SERVICE.unit()
    assert answers.ran == [
        "systemctl --user daemon-reload",
        "systemctl --user enable sluice-remote.service",
        "loginctl enable-linger",
        "systemctl --user restart sluice-remote.service",
    ]
    assert systemd.state("remote") == "active (running), serves devices"
    assert systemd.remove("remote")
    assert not unit.exists()
    assert "systemctl --user disable --now sluice-remote.service" in answers.ran
    assert not systemd.remove("remote")


def test_a_dry_run_touches_nothing_and_says_all(tmp_path: Path) -> None:
    said: list[str] = []
    answers = Manager()
    systemd = Systemd("user", say=said.append, run=answers, dry_run=True, home=tmp_path)
    systemd.install(SERVICE)
    assert answers.ran == []
    assert list(tmp_path.iterdir()) == []
    assert any("ExecStart=/usr/bin/sluice remote --listen 0.0.0.0:8119" in line for line in said)
    assert "systemctl --user enable sluice-remote.service" in said


def test_what_systemd_says_against_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="daemon-reload: no"):
        manager(tmp_path, Manager(fails="daemon-reload")).install(SERVICE)
    with pytest.raises(ServiceError, match=r"(?s)restart.*the address is in use"):
        manager(tmp_path, Manager(fails="restart", says="the address is in use")).install(SERVICE)
    systemd = manager(tmp_path, Manager(fails="show"))
    assert systemd.state("remote") == "no"


UNREACHED = "Failed to connect to bus: No medium found"


def test_where_no_manager_runs_nothing_is_left_and_people_are_told_how_to_have_one(
    tmp_path: Path,
) -> None:
    with pytest.raises(ServiceError, match=r"No medium found\. No manager.*enable-linger USER"):
        manager(tmp_path, Manager(fails="systemctl", why=UNREACHED)).install(SERVICE)
    assert not list(tmp_path.iterdir())


def test_what_is_left_of_it_is_taken_away_without_its_manager(tmp_path: Path) -> None:
    manager(tmp_path, Manager()).install(SERVICE)
    gone = Manager(fails="systemctl --user disable --now", why=UNREACHED)
    assert manager(tmp_path, gone).remove("remote")
    assert gone.ran[-1] == "env SYSTEMD_OFFLINE=1 systemctl --user disable sluice-remote.service"
    assert not list(tmp_path.iterdir())


def test_who_may_not_linger_has_it_all_the_same(tmp_path: Path) -> None:
    answers, said = Manager(fails="enable-linger", why="Access denied"), list[str]()
    Systemd("user", say=said.append, run=answers, home=tmp_path).install(SERVICE)
    assert any("Access denied: it ends at logout, unless root" in line for line in said)
    assert answers.ran[-1] == "systemctl --user restart sluice-remote.service"


def test_commands_are_found_and_managers_reached_by_who_came_with_su() -> None:
    found = surroundings({"PATH": "/usr/bin", "HOME": "/home/alice"})
    assert found["PATH"] == "/usr/bin:/usr/local/sbin:/usr/sbin:/sbin"
    assert found["XDG_RUNTIME_DIR"].startswith("/run/user/")
    assert surroundings({"XDG_RUNTIME_DIR": "/run/mine"})["XDG_RUNTIME_DIR"] == "/run/mine"


def test_words_that_no_unit_can_have_are_refused(tmp_path: Path) -> None:
    bad = Service("local", "user", COMMAND, ("--listen", "a\nb"))
    with pytest.raises(ServiceError, match="characters"):
        manager(tmp_path, Manager()).install(bad)


def test_without_systemd_it_says_so() -> None:
    with pytest.raises(ServiceError, match="does not run systemd"):
        run_command(["no-such-systemctl"])


def test_a_program_that_the_services_user_can_not_read_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    program = home / "sluice"
    program.write_text("")
    systemd = Systemd("system", say=lambda _: None, run=Manager(), root=tmp_path / "root")
    with pytest.raises(ServiceError, match="can't be entered by the user sluice"):
        systemd.install(Service("remote", "system", (str(program),)))
    assert not (tmp_path / "root").exists()


def test_the_machines_own_has_a_user_which_goes_with_it(tmp_path: Path) -> None:
    answers = Manager()
    systemd = Systemd("system", say=lambda _: None, run=answers, root=tmp_path)
    assert not runs_remote(tmp_path)
    systemd.install(Service("remote", "system", ("/usr/bin/env",)))
    assert runs_remote(tmp_path)
    assert answers.ran[0] == f"systemd-sysusers {tmp_path}/etc/sysusers.d/sluice.conf"
    assert "sluice" in (tmp_path / "etc/sysusers.d/sluice.conf").read_text()
    assert systemd.remove("remote")
    systemd.forget_user()
    assert answers.ran[-1] == "userdel sluice"
    assert not list((tmp_path / "etc").iterdir())  # the folders that it made are gone as well


@pytest.mark.skipif(shutil.which("systemctl") is None, reason="no systemd on this machine")
def test_the_real_systemctl_enables_it(tmp_path: Path) -> None:
    """In a folder that stands for the machine's root, which needs no manager."""

    def there(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        verb = command[1] if command[0] == "systemctl" else ""
        if verb in ("enable", "disable"):
            words = [one for one in command[1:] if one != "--now"]
            return run_command(["systemctl", f"--root={tmp_path}", *words])
        return subprocess.CompletedProcess(list(command), 0, "", "")

    systemd = Systemd("system", say=lambda _: None, run=there, root=tmp_path)
    systemd.install(Service("remote", "system", ("/usr/bin/env",)))
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants/sluice-remote.service"
    assert wanted.is_symlink()
    assert systemd.remove("remote")
    assert not wanted.is_symlink()


def test_devices_are_paired_as_the_services_user_with_sudo_only_by_who_came_with_it() -> None:
    rest = "/usr/bin/sluice pair tablet --state /var/lib/sluice/remote --address HOST:PORT"
    command = ("/usr/bin/sluice",)
    assert pairing_line(command, "tablet", environ={}) == f"runuser -u sluice -- {rest}"
    by_sudo = {"SUDO_USER": "alice"}
    assert pairing_line(command, "tablet", environ=by_sudo) == f"sudo -u sluice {rest}"


def test_people_are_told_what_comes_next() -> None:
    (line, _) = hints(Service("remote", "system", COMMAND))
    assert f"-u sluice {'' if 'sudo' in line else '-- '}{' '.join(COMMAND)} pair NAME" in line
    assert any("sluice status" in line for line in hints(Service("local", "user", COMMAND)))
    assert any("sluice pair" in line for line in hints(SERVICE))

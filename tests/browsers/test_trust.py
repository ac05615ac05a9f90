"""Trust, in real NSS stores of a temporary home and a system's folder of our own."""

from __future__ import annotations

import shutil
import ssl
from pathlib import Path

import pytest

from browsers import nss, trust
from browsers.launch import NICKNAME
from browsers.trust import StorePlaces, Task, carry_out
from local_proxy.front.tls.authority import PUBLIC, Authority
from local_proxy.kept.store import LocalStore
from local_proxy.status.offer import fingerprint

needs_certutil = pytest.mark.skipif(
    shutil.which("certutil") is None, reason="no certutil on this machine (libnss3-tools)"
)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.open(tmp_path / "state")


@pytest.fixture
def places(tmp_path: Path) -> StorePlaces:
    """A home with two Firefox profiles, one of a snap, and a system whose update is counted."""
    home, system = tmp_path / "home", tmp_path / "ca-certificates"
    system.mkdir()
    for folder in (".mozilla/firefox/a.default", "snap/firefox/common/.mozilla/firefox/b.default"):
        nss.create(home / folder)
    (home / ".mozilla/firefox/never-started").mkdir()
    update = tmp_path / "update"
    update.write_text(f"#!/bin/sh\necho updated >> {tmp_path}/updates\n")
    update.chmod(0o755)
    return StorePlaces(home, system=system, update=(str(update),), root=True)


def der(authority: Authority) -> bytes:
    return ssl.PEM_cert_to_DER_cert(authority.certificate_pem.decode())


def done(authority: Authority, places: StorePlaces, **how: bool) -> list[str]:
    lines: list[str] = []
    task = Task(authority.certificate_pem, authority.certificate_path, say=lines.append, **how)
    assert carry_out(task, places) == 0
    return lines


def trusting(authority: Authority, places: StorePlaces) -> list[str]:
    """Owners of the stores that have it."""
    return [
        owner
        for store, owner in places.stores()
        if (store / "cert9.db").exists() and der(authority) in nss.certificates(store, NICKNAME)
    ]


@needs_certutil
def test_it_is_added_everywhere_once_and_removed_everywhere(
    authority: Authority, places: StorePlaces, tmp_path: Path
) -> None:
    everybody = ["Chromium", "Firefox profile a.default", "Firefox profile b.default"]
    target = places.system / "sluice.crt"
    said = done(authority, places, dry_run=True)
    assert sum("would be added" in line for line in said) == 4
    assert trusting(authority, places) == []
    assert not target.exists()
    said = done(authority, places)
    assert sum(line.endswith(": added") for line in said) == 4
    assert trusting(authority, places) == everybody
    assert target.read_bytes() == authority.certificate_pem
    said = done(authority, places)
    assert sum(line.endswith(": there already") for line in said) == 4
    said = done(authority, places, remove=True)
    assert sum(line.endswith(": removed") for line in said) == 4
    assert trusting(authority, places) == []
    assert not target.exists()
    said = done(authority, places, remove=True)
    assert sum(line.endswith(": not there") for line in said) == 4
    assert (tmp_path / "updates").read_text() == "updated\nupdated\n"


@needs_certutil
def test_only_what_was_added_is_removed(
    authority: Authority, places: StorePlaces, tmp_path: Path
) -> None:
    """Not another authority, be it of the same nickname, nor another's file."""
    other = Authority.open(tmp_path / "other")
    store = places.home / ".mozilla/firefox/a.default"
    nss.add(store, der(other), nickname=NICKNAME)
    nss.add(store, der(other), nickname="Company CA")
    (places.system / "sluice.crt").write_bytes(other.certificate_pem)
    done(authority, StorePlaces(places.home, system=tmp_path / "nowhere"))
    assert der(authority) in nss.certificates(store, NICKNAME)
    said = done(authority, places, remove=True)
    assert any("holds another certificate; left alone" in line for line in said)
    assert nss.certificates(store, NICKNAME) == [der(other)]
    assert (places.system / "sluice.crt").read_bytes() == other.certificate_pem


@needs_certutil
def test_a_store_that_fails_does_not_keep_the_others(
    authority: Authority, places: StorePlaces
) -> None:
    (places.home / ".mozilla/firefox/a.default/cert9.db").write_bytes(b"not a database" * 100)
    lines: list[str] = []
    task = Task(authority.certificate_pem, authority.certificate_path, say=lines.append)
    assert carry_out(task, places) == 1
    assert any(line.startswith("Firefox profile a.default: not done") for line in lines)
    assert any(line.startswith("Firefox profile b.default") and "added" in line for line in lines)


def test_without_certutil_it_says_what_to_install(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lines: list[str] = []
    task = Task(authority.certificate_pem, authority.certificate_path, say=lines.append)
    assert carry_out(task, StorePlaces(tmp_path / "home", system=tmp_path)) == 1
    assert any("libnss3-tools" in line for line in lines)


def test_without_root_the_commands_are_named(authority: Authority, tmp_path: Path) -> None:
    lines: list[str] = []
    task = Task(authority.certificate_pem, authority.certificate_path, say=lines.append)
    system = tmp_path / "ca-certificates"
    system.mkdir()
    carry_out(task, StorePlaces(tmp_path, system=system, update=("true",), root=False))
    assert lines[:1] == [
        f"System: needs root: sudo install -m 644 {authority.certificate_path} "
        f"{system}/sluice.crt && sudo true"
    ]


def test_a_program_of_roots_is_found_by_who_has_no_such_folder_in_the_path(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a login of Debian's has none."""
    folder = tmp_path / "sbin"
    folder.mkdir()
    update = folder / "update-trust"
    update.write_text(f"#!/bin/sh\necho updated >> {tmp_path}/updates\n")
    update.chmod(0o755)
    monkeypatch.setattr(trust, "ADMINISTRATION", str(folder))
    task = Task(authority.certificate_pem, authority.certificate_path, say=lambda _: None)
    carry_out(task, StorePlaces(tmp_path, system=tmp_path, update=("update-trust",), root=True))
    assert (tmp_path / "updates").read_text() == "updated\n"


def test_sudo_is_turned_away_and_nothing_is_made_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    assert trust.run(tmp_path / "none", remove=True, dry_run=False) == 0
    assert trust.run(tmp_path / "none", remove=False, dry_run=True) == 0
    assert not (tmp_path / "none").exists()
    (tmp_path / PUBLIC).write_text("junk")
    assert trust.run(tmp_path, remove=True, dry_run=False) == 1
    monkeypatch.setenv("SUDO_USER", "somebody")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert trust.run(tmp_path / "none", remove=False, dry_run=False) == 2
    assert "not with sudo" in capsys.readouterr().out


def test_what_was_learnt_of_clients_is_void_whenever_trust_may_have_changed(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    state = authority.certificate_path.parent
    for remove in (False, True):
        store = LocalStore(state)
        store.learn("ours", [("fox", 1e9, "{}")], forgotten=store.forgotten())
        trust.run(state, remove=remove, dry_run=True)
        assert store.lessons("ours")[1] == [("fox", 1e9, "{}")]
        trust.forget(state)
        assert store.lessons("ours")[1] == []
    store.learn("ours", [("fox", 1e9, "{}")], forgotten=store.forgotten())
    trust.run(state, remove=True, dry_run=False)  # nothing is there to be removed
    assert store.lessons("ours") == (3, [])


@needs_certutil
def test_a_dry_run_prints_the_fingerprint(
    authority: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert trust.run(authority.certificate_path.parent, remove=False, dry_run=True) == 0
    assert fingerprint(authority.certificate_pem) in capsys.readouterr().out

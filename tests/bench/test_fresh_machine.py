"""The walk over a fresh machine: what it reads of this one, compares and says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.scenarios.machine import debian, fresh_machine, leftovers, own_kernel, releases
from bench.scenarios.machine.journal import Journal, WalkStopped
from emulation.uml import kernel

DEB822 = """\
Types: deb
URIs: https://mirror.example/debian
Suites: bookworm bookworm-updates

Types: deb
URIs: https://mirror.example/debian-security
"""


def machine_files(root: Path) -> dict[str, str]:
    return leftovers.files(root, without="opt/sluice")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("etc/apt/apt.conf.d", "usr/bin", "opt/sluice", "var/log", "home/alice"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "etc/passwd").write_text("root:x:0:0\n")
    (tmp_path / "usr/bin/env").write_text("")
    (tmp_path / "etc/localtime").symlink_to("/usr/share/zoneinfo/UTC")
    return tmp_path


def test_a_file_that_is_left_is_named_and_so_is_one_that_is_gone_or_says_something_else(
    root: Path,
) -> None:
    before = machine_files(root)
    assert leftovers.leftovers(before, machine_files(root)).none
    (root / "home/alice/.sluice").mkdir()
    (root / "etc/passwd").write_text("root:x:0:0\nsluice:x:999:999\n")
    (root / "usr/bin/env").unlink()
    found = leftovers.leftovers(before, machine_files(root))
    assert not found.none
    assert str(found) == "home/alice/.sluice\netc/passwd (changed)\nusr/bin/env (lost)"
    assert leftovers.naming(root, without="opt/sluice") == ["etc/passwd"]


def test_what_changes_while_any_machine_runs_is_no_trace(root: Path) -> None:
    before = machine_files(root)
    for name in ("var/log/syslog", "opt/sluice/README.md", "etc/passwd-"):
        (root / name).write_text("sluice")
    (root / "home/alice/.cache/pip").mkdir(parents=True)
    found = leftovers.leftovers(before, machine_files(root))
    assert found.added == ("home/alice/.cache",)
    assert leftovers.naming(root, without="opt/sluice") == []


def test_rights_and_links_are_compared_and_the_contents_of_settings_alone(root: Path) -> None:
    before = machine_files(root)
    (root / "usr/bin/env").write_text("other")
    assert leftovers.leftovers(before, machine_files(root)).none
    (root / "usr/bin/env").chmod(0o700)
    (root / "etc/localtime").unlink()
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Paris")
    found = leftovers.leftovers(before, machine_files(root))
    assert found.changed == ("etc/localtime", "usr/bin/env")


def test_a_bare_machine_gets_packages_as_this_one_does(root: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    for name in ("etc/apt/sources.list.d", "etc/apt/apt.conf.d"):
        (outer / name).mkdir(parents=True)
    (outer / "etc/apt/sources.list.d/debian.sources").write_text(DEB822)
    (outer / "etc/apt/sources.list.d/other.list.disabled").write_text("deb https://x.example y")
    (outer / "etc/apt/apt.conf.d/proxy").write_text('Acquire::http::Proxy "http://p.example";')
    (outer / "etc/apt/apt.conf.d/hooks").write_text("DPkg::Post-Invoke {};")
    (outer / "etc/pip.conf").write_text("[global]\n")
    (root / "etc/apt/sources.list").write_text("deb https://mirror.example/debian bookworm main\n")
    assert list(debian.mirrors(root)) == ["https://mirror.example/debian"]
    debian.lend(root, outer=outer)
    given = [one for one in (root / "etc").rglob("*") if one.is_file() and not one.is_symlink()]
    assert sorted(str(one.relative_to(root / "etc")) for one in given) == [
        "apt/apt.conf.d/proxy",
        "apt/sources.list.d/debian.sources",
        "passwd",
        "pip.conf",
    ]
    assert list(debian.mirrors(root)) == [
        "https://mirror.example/debian",
        "https://mirror.example/debian-security",
    ]


def test_of_the_environment_it_gets_what_leads_to_packages() -> None:
    environ = {"PIP_INDEX_URL": "i", "https_proxy": "p", "PIP_FIND_LINKS": "f", "HOME": "h"}
    assert debian.environment(environ) == {"PIP_INDEX_URL": "i", "https_proxy": "p"}


def test_the_previous_release_is_the_commit_that_wrote_its_heading(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        names = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        command = ["git", "-C", str(tmp_path), *names, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def commit(changelog: str) -> str:
        (tmp_path / "CHANGELOG.md").write_text(changelog)
        git("add", "CHANGELOG.md")
        git("commit", "-m", "more")
        return git("rev-parse", "HEAD")

    git("init", "--quiet")
    commit("## Unreleased\n- begun\n")
    with pytest.raises(releases.NoRelease, match="no heading of a release"):
        releases.commit(tmp_path)
    wrote = commit("## Unreleased\n\n## 0.1.0\n- begun\n")
    latest = commit("## Unreleased\n- more\n\n## 0.1.0\n- begun\n")
    assert releases.commit(tmp_path) == wrote
    assert releases.commit(tmp_path, "HEAD") == latest
    with pytest.raises(releases.NoRelease, match="no such commit"):
        releases.commit(tmp_path, "absent")


def test_a_failed_check_names_the_command_and_its_last_words() -> None:
    said: list[str] = []
    journal = Journal(say=said.append)
    with pytest.raises(WalkStopped), journal.step("a step"):
        journal.check("it starts", True)
        journal.require("it ends", False, goal="within a second", said="x" * 9000 + " code 3")
    assert journal.checks["it starts"].ok
    assert not journal.checks["it ends"].ok
    assert str(journal.checks["it ends"].value).endswith(" code 3")
    assert len(str(journal.checks["it ends"].value)) < 2000
    assert [step["what"] for step in journal.steps] == ["a step"]
    assert any(line.endswith("code 3") for line in said)


def test_without_debootstrap_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(debian, "missing", lambda: "it is not here")
    assert fresh_machine.run() == {"checks": {}, "runs": []}
    assert "not here: it is not here" in capsys.readouterr().out
    assert main(["fresh-machine", "--from", "HEAD", "--parts", "walk"]) == 0
    assert main(["fresh-machine", "--parts", "wlak"]) == 2
    assert "no part 'wlak'" in capsys.readouterr().err


KERNEL = """
import pathlib, sys
words = dict(word.partition("=")[::2] for word in sys.argv[1:])
root = pathlib.Path(words["rootflags"])
unit = root / "etc/systemd/system/multi-user.target.wants/walk-report.service"
times = root / "times"
times.write_text(times.read_text() + "x" if times.exists() else "x")
state = "active" if times.read_text() == "x" else "failed"
if unit.is_symlink():
    (root / "srv/report").write_text(f"ActiveState={state}\\n")
"""


def test_a_kernel_of_its_own_says_how_the_service_fares_and_leaves_no_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("srv", "etc/systemd/system/multi-user.target.wants"):
        (tmp_path / name).mkdir(parents=True)
    program = tmp_path / "kernel"
    program.write_text(f"#!{sys.executable}\n{KERNEL}")
    program.chmod(0o700)
    monkeypatch.setattr(kernel, "KERNEL", str(program))
    journal = Journal(say=lambda _: None)
    own_kernel.check(tmp_path, journal)
    first, second = journal.checks.values()
    assert first.ok
    assert not second.ok
    assert "ActiveState=failed" in str(second.value)
    assert not list(tmp_path.rglob("*report*"))

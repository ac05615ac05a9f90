"""Another kernel as a process: what it is told, and one that really boots, where there is one."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from emulation.uml import kernel, modules


def test_a_machine_without_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel, "KERNEL", "no-such-kernel")
    assert "apt-get install user-mode-linux" in kernel.missing()
    with pytest.raises(kernel.NoKernel, match="apt-get install"):
        asyncio.run(kernel.run(["true"], say=print, folder=tmp_path))
    monkeypatch.setattr(kernel, "KERNEL", "true")
    monkeypatch.setattr(kernel, "MODULES", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "needs root" in kernel.missing()
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "no module sch_netem" in kernel.missing()


def standing_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program in the kernel's place that does what its init would."""
    (folder / "modules").mkdir()
    for name in kernel.LOADED:
        (folder / "modules" / f"{name}.ko").touch()
    program = folder / "kernel"
    program.write_text(f"#!{sys.executable}\n{script}")
    program.chmod(0o700)
    monkeypatch.setattr(kernel, "KERNEL", str(program))
    monkeypatch.setattr(kernel, "MODULES", folder / "modules")
    monkeypatch.setattr("os.geteuid", lambda: 0)


COMMAND = """
import os, pathlib, re, sys
words = dict(word.partition("=")[::2] for word in sys.argv[1:])
init = pathlib.Path(words["init"]).read_text()
os.write(int(words["con1"].rpartition(":")[2]), init.encode())
status = re.search(r"echo \\$\\? > (\\S+)", init)[1]
pathlib.Path(status).write_text("3\\n")
print("booted")
"""


def test_a_command_is_run_with_its_words_and_its_code_comes_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    standing_in(tmp_path, monkeypatch, COMMAND)
    said: list[str] = []
    code = asyncio.run(
        kernel.run(
            ["echo", "it's; here"],
            say=said.append,
            folder=tmp_path / "a b",
            environment={"A": "1 2"},
        )
    )
    assert code == 3
    (line,) = [one for one in said if "insmod" in one or "modules.py" in one]
    assert "sch_netem.ko" in line
    assert f"cd '{tmp_path / 'a b'}'" in line
    assert "'A=1 2'" in line
    assert """echo 'it'"'"'s; here'""" in line


def test_a_kernel_that_ends_before_the_command_is_said_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    standing_in(tmp_path, monkeypatch, "print('Kernel panic - not syncing')")
    with pytest.raises(kernel.NoKernel, match="Kernel panic"):
        asyncio.run(kernel.run(["true"], say=print, folder=tmp_path))


def test_a_module_that_is_none_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "not.ko").write_bytes(b"nothing")
    assert modules.main([]) == 0
    assert modules.main([str(tmp_path / "not.ko")]) == 1
    assert "not.ko can't be loaded" in capsys.readouterr().err


@pytest.mark.skipif(bool(kernel.missing()), reason=kernel.missing() or "it is here")
def test_it_boots_on_this_machine_s_files_and_has_netem(tmp_path: Path) -> None:
    said: list[str] = []
    probe = "from emulation.worlds.netem_world import probe; print('why:', probe() or 'none')"
    code = asyncio.run(
        kernel.run(
            [sys.executable, "-c", probe],
            say=said.append,
            folder=Path(__file__).resolve().parents[2],
        )
    )
    assert code == 0, said
    assert said[-1] == "why: none"


def test_other_files_are_booted_with_an_init_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    standing_in(tmp_path, monkeypatch, "import sys\nprint(*sys.argv[1:], sep='\\n')")
    said = asyncio.run(kernel.boot(tmp_path / "root", "/sbin/init"))
    assert f"rootflags={tmp_path / 'root'}" in said
    assert "init=/sbin/init" in said
    monkeypatch.setattr(kernel, "KERNEL", "no-such-kernel")
    with pytest.raises(kernel.NoKernel, match="apt-get install"):
        asyncio.run(kernel.boot(tmp_path / "root", "/sbin/init"))

"""Where settings come from: the user's own files, and nobody else's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.commands import STRANGER, home, running, sluice

LOCAL = ("local", "--security=none", "--listen=127.0.0.1:0")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def policy(path: Path) -> Path:
    """A policy that leaves a trace where it is run."""
    path.write_text(
        "from pathlib import Path\n"
        "Path(__file__).with_suffix('.ran').touch()\n"
        "class Mine:\n"
        "    name = 'mine'\n"
        "    def react(self, event, view):\n"
        "        return ()\n"
    )
    return path


def ran(path: Path) -> bool:
    return path.with_suffix(".ran").exists()


def test_a_strangers_folder_has_no_say(tmp_path: Path) -> None:
    user = home(tmp_path)
    trap = policy(user.here / "trap.py")
    (user.here / "sluice.toml").write_text('[local]\npolicy = ["./trap.py"]\npair = "sluice://x"\n')
    with running(*LOCAL, home=user) as proxy:
        assert not ran(trap)
        (line,) = [line for line in proxy.errors.splitlines() if "sluice.toml" in line]
        assert line.startswith("sluice: ./sluice.toml is not read")
        assert "--config ./sluice.toml" in line
    assert not (user.folder / ".local/share/sluice/pairing").exists()


def test_the_file_that_is_read_is_named_and_its_paths_are_its_own(tmp_path: Path) -> None:
    user = home(tmp_path)
    file = user.write_settings('[local]\npolicy = ["default", "mine.py"]\n')
    own, trap = policy(file.with_name("mine.py")), policy(user.here / "mine.py")
    with running(*LOCAL, home=user) as proxy:
        assert f"sluice: settings from {file}" in proxy.errors
        assert ran(own)
        assert not ran(trap)


def test_paths_of_flags_start_where_the_user_is(tmp_path: Path) -> None:
    user = home(tmp_path)
    user.write_settings('[local]\npolicy = ["default"]\n')
    own = policy(user.here / "mine.py")
    with running(*LOCAL, "--policy=mine.py", "--state=kept", home=user):
        assert ran(own)
        assert (user.here / "kept" / "ca.pem").exists()


def test_paths_of_variables_are_whole(tmp_path: Path) -> None:
    user = home(tmp_path, SLUICE_LOCAL_POLICY="mine.py")
    trap = policy(user.here / "mine.py")
    assert sluice(*LOCAL, home=user).refused("SLUICE_LOCAL_POLICY", "write the whole path")
    assert not ran(trap)


def test_the_users_folder_is_where_the_system_says(tmp_path: Path) -> None:
    user = home(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "config"))
    (tmp_path / "config/sluice").mkdir(parents=True)
    (tmp_path / "config/sluice/sluice.toml").write_text("[lokal]\n")
    assert sluice("status", home=user).refused("[lokal] is not a section")


@pytest.mark.parametrize("mode", [0o664, 0o646])
@pytest.mark.skipif(os.geteuid() != 0, reason="a user's own group may write (below)")
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    user = home(tmp_path)
    file = user.write_settings("[local]\n")
    file.chmod(mode)
    assert sluice(*LOCAL, home=user).refused(str(file), "can be written by others", "chmod go-w")
    assert sluice(*LOCAL, f"--config={file}", home=user).refused("can be written by others")


def test_a_file_in_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    user = home(tmp_path)
    file = user.write_settings("[local]\n")
    file.parent.parent.chmod(0o777)
    assert sluice(*LOCAL, home=user).refused(f"{file.parent.parent} can be written by others")
    file.parent.parent.chmod(0o1777)  # where everybody may only add files this one is safe
    with running(*LOCAL, home=user) as proxy:
        assert str(file) in proxy.errors


@as_root
def test_another_users_file_is_refused(tmp_path: Path) -> None:
    user = home(tmp_path)
    file = user.write_settings("[local]\n")
    os.chown(file, STRANGER, -1)
    assert sluice(*LOCAL, home=user).refused(f"{file} belongs to")
    os.chown(file, 0, -1)
    os.chown(file.parent, STRANGER, -1)
    assert sluice(*LOCAL, home=user).refused(f"{file.parent} belongs to")


@as_root
def test_a_link_that_a_stranger_made_is_not_followed(tmp_path: Path) -> None:
    user = home(tmp_path)
    file = user.write_settings("[local]\n")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "sluice.toml").symlink_to(file)
    with running(*LOCAL, f"--config={shared}/sluice.toml", home=user) as proxy:
        assert "settings from" in proxy.errors
    os.chown(shared / "sluice.toml", STRANGER, -1, follow_symlinks=False)
    refused = sluice(*LOCAL, f"--config={shared}/sluice.toml", home=user)
    assert refused.refused(f"{shared}/sluice.toml belongs to")


@as_root
def test_a_policy_that_others_may_write_is_not_run(tmp_path: Path) -> None:
    user = home(tmp_path)
    mine = policy(user.here / "mine.py")
    user.write_settings(f'[local]\npolicy = ["{mine}"]\n')
    mine.chmod(0o666)
    assert sluice(*LOCAL, home=user).refused(str(mine), "is not run", "can be written by others")
    mine.chmod(0o644)
    os.chown(mine, STRANGER, -1)
    assert sluice(*LOCAL, home=user).refused(str(mine), "is not run", "belongs to")
    assert not ran(mine)


def test_a_policys_compiled_form_is_not_taken_from_beside_it(tmp_path: Path) -> None:
    """In a folder where everybody may add files, __pycache__ may be a stranger's."""
    user = home(tmp_path)
    mine, other = policy(user.here / "mine.py"), policy(user.here / "other.py")
    stamp = mine.stat()
    other.write_text(mine.read_text().replace(".ran", ".bad"))
    os.utime(other, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    _compiled_as(other, mine)
    with running(*LOCAL, "--policy=./mine.py", home=user):
        assert ran(mine)
        assert not mine.with_suffix(".bad").exists()


def _compiled_as(source: Path, other: Path) -> None:
    import importlib.util
    import py_compile

    py_compile.compile(str(source), importlib.util.cache_from_source(str(other)), doraise=True)


@as_root
@pytest.mark.parametrize("what", ["folder", "pairing"])
def test_whom_the_device_is_paired_with_comes_from_its_own_files(tmp_path: Path, what: str) -> None:
    user = home(tmp_path)
    user.write_settings('[local]\ntunnel = ["*"]\n')  # no authority, which looks at its folder too
    given = sluice("pair", "me", "--address=proxy.example:1", home=user).out
    state = user.folder / "state"
    state.mkdir(mode=0o700)
    (state / "pairing").write_text(given)
    os.chown(state if what == "folder" else state / "pairing", STRANGER, -1)
    refused = sluice("local", "--listen=127.0.0.1:0", f"--state={state}", home=user)
    assert refused.refused("belongs to")


@as_root
def test_roots_that_a_stranger_may_write_are_not_trusted(tmp_path: Path) -> None:
    user = home(tmp_path)
    roots = user.here / "roots.pem"
    roots.write_text("")
    roots.chmod(0o666)
    user.write_settings(f'[remote]\nca_file = "{roots}"\n')
    said = sluice("remote", "--listen=127.0.0.1:0", home=user)
    assert said.code != 0
    assert "ca_file is not trusted" in said.errors
    assert "Traceback" not in said.errors


def test_a_document_is_not_kept_through_a_link_that_lies_there(tmp_path: Path) -> None:
    from local_proxy.commands.open_document import keep

    document, elsewhere = tmp_path / "document", tmp_path / "elsewhere"
    document.write_bytes(b"a deck")
    (tmp_path / "deck.pptx").symlink_to(elsewhere)
    assert keep(document, tmp_path / "deck.pptx") == tmp_path / "deck (1).pptx"
    assert not elsewhere.exists()

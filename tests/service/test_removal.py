"""Takes away what Sluice wrote, and nothing else that may be in the same folder."""

from __future__ import annotations

from pathlib import Path

from service.removal import prune, traces


def test_a_folder_of_its_own_goes(tmp_path: Path) -> None:
    state = tmp_path / "sluice"
    (state / "remote" / "devices").mkdir(parents=True)
    (state / "remote" / "devices" / "laptop").write_bytes(bytes(500_000))
    (state / "remote" / "revoked").write_text("phone\n")
    for name in ("ca.pem", "authority.pem", "key", "sluice.sqlite3", "sluice.sqlite3-wal"):
        (state / name).write_bytes(b"x")
    (found,) = traces([(state, "keys"), (tmp_path / "nothing", "settings")])
    assert str(found) == f"{state} (keys, 0.5 MB)"
    found.remove()
    assert not state.exists()


def test_what_else_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("x")
    (tmp_path / "thesis.odt").write_text("years of work")
    (tmp_path / "photos").mkdir()
    (found,) = traces([(tmp_path, "keys")])
    assert "2 other files in it stay" in str(found)
    found.remove()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["photos", "thesis.odt"]


def test_a_link_goes_and_not_what_it_leads_to(tmp_path: Path) -> None:
    elsewhere, state = tmp_path / "elsewhere", tmp_path / "state"
    elsewhere.mkdir()
    (elsewhere / "thesis.odt").write_text("years of work")
    state.mkdir()
    (state / "documents").symlink_to(elsewhere)
    (found,) = traces([(state, "keys")])
    found.remove()
    assert (elsewhere / "thesis.odt").exists()
    assert not state.exists()


def test_where_there_is_nothing_of_it_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").write_text("years of work")
    assert traces([(tmp_path, "keys")]) == []


def test_a_folder_that_has_been_emptied_goes_if_it_has_the_usual_name(tmp_path: Path) -> None:
    usual, named = tmp_path / "sluice", tmp_path / "proxy-state"
    usual.mkdir()
    named.mkdir()
    (found,) = traces([(usual, "keys"), (named, "keys")])
    assert found.folder == usual
    found.remove()
    assert not usual.exists()


def test_folders_around_it_go_as_far_as_nothing_is_in_them(tmp_path: Path) -> None:
    (tmp_path / ".local/share").mkdir(parents=True)
    (tmp_path / ".config/systemd/user").mkdir(parents=True)
    (tmp_path / ".config/other.toml").write_text("")
    prune(tmp_path / ".local/share/sluice", below=tmp_path)
    prune(tmp_path / ".config/systemd/user", below=tmp_path)
    prune(tmp_path / "elsewhere", below=tmp_path / ".config")
    assert sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*")) == [
        ".config",
        ".config/other.toml",
    ]
    prune(tmp_path, below=tmp_path)
    assert tmp_path.exists()

"""Tests of a command's settings: where they come from, and what people are told of that."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from cli.command import REFUSED
from cli.settings import settings
from configuration import FILE


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings, in a folder without any."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def written(path: Path, listen: str = "127.0.0.1:1234") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[local]\nlisten = "{listen}"\n')
    return path


def test_without_a_file_all_is_as_usual_and_nothing_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert settings(None, {}, serves=True).local.listen == "127.0.0.1:8118"
    assert capsys.readouterr().err == ""


def test_a_flag_goes_before_the_file_that_is_named_to_who_goes_on(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = written(home / "config" / "sluice" / FILE)
    assert settings(None, {}).local.listen == "127.0.0.1:1234"
    assert capsys.readouterr().err == ""
    flags = {"local": {"listen": "127.0.0.1:9", "device": None}}
    assert settings(None, flags, serves=True).local.listen == "127.0.0.1:9"
    assert capsys.readouterr().err == f"sluice: settings from {own}\n"


def test_a_file_that_is_named_is_read_and_the_users_own_is_not(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(home / "config" / "sluice" / FILE)
    other = written(home / "other.toml", "127.0.0.1:5678")
    assert settings(other, {}, serves=True).local.listen == "127.0.0.1:5678"
    assert capsys.readouterr().err == f"sluice: settings from {other}\n"
    settings(Path("/dev/null"), {}, serves=True)
    assert capsys.readouterr().err == ""


def test_a_file_of_the_working_folder_is_not_read_and_that_is_said(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(Path(FILE))
    assert settings(None, {}).local.listen == "127.0.0.1:8118"
    said = capsys.readouterr().err
    assert said.startswith(f"sluice: ./{FILE} is not read, only {home / 'config'}")
    assert f"--config ./{FILE}" in said
    assert settings(Path(FILE), {}).local.listen == "127.0.0.1:1234"
    assert "is not read" not in capsys.readouterr().err


def test_a_variable_that_is_no_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_WEATHER", "fine")
    settings(None, {})
    assert capsys.readouterr().err == "sluice: SLUICE_WEATHER is not a setting, nobody reads it\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[local]\nlissten = 1\n", "local.lissten is not a setting"),
        ("[locals]\n", "[locals] is not a section"),
        ("[local", "sluice.toml"),
    ],
)
def test_settings_that_make_no_sense_end_the_program_in_a_sentence(
    text: str, words: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(home / "config" / "sluice" / FILE).write_text(text)
    with pytest.raises(typer.Exit) as raised:
        settings(None, {})
    assert raised.value.exit_code == REFUSED
    said = capsys.readouterr().err
    assert said.startswith("sluice: ") and said.count("\n") == 1
    assert words in said

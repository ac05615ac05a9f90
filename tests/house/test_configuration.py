"""Precedence and errors of the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from configuration import Settings, load, state_directory
from setting_values import SettingsError, split_address

PATHS = '[local]\npaths = ["wwan0"]\n'


def test_defaults() -> None:
    assert load(environ={}, path=None).remote == Settings().remote


def test_precedence(tmp_path: Path) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text('[local]\nlisten = "127.0.0.1:1"\nremote = "a:1"\npatience = 1\n')
    settings = load(
        path=file,
        environ={"SLUICE_LOCAL_REMOTE": "b:2", "SLUICE_LOCAL_PATIENCE": "2.5"},
        flags={"local": {"patience": 3.5, "policy": None}},
    )
    assert settings.local.listen == "127.0.0.1:1"
    assert settings.local.remote == "b:2"
    assert settings.local.patience == 3.5
    assert settings.local.policy == ["default"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[local]\nlisten = 7\n", "local.listen"),
        ('[local]\nlisten = "no port"\n', "local.listen"),
        ("[local]\nlissten = 7\n", r"local.lissten is not a setting; \[local\] has: listen"),
        ("[lokal]\n", r"\[lokal\] is not a section; there are: local, remote"),
        ("[remote]\nmemory = 5\n", "remote.memory"),
        ("[remote]\nmax_requests = -1\n", "remote.max_requests"),
        ('[remote]\nallow = "a"\n', "remote.allow"),
        ("local = 5\n", "not a section"),
        ('[local.roles]\nwwan0 = "spare"\n', "local.roles is about local.paths, which names no"),
        (PATHS + '[local.roles]\nwwan0 = "slow"\n', "each use, spare, metered"),
        (PATHS + '[local.roles]\nwwan0 = "metered"\n', r"must say how much .* wwan0 = \"2 GB\""),
        (PATHS + '[local.budgets]\nwwan0 = "2 GB"\n', "wwan0 is not metered; say so"),
        (PATHS + '[local.budgets]\nwwan0 = "2 gigs"\n', "a table of sizes by interface"),
        ('[local]\nday_budget = "plenty"\n', 'local.day_budget: .*a size such as "20 MB"'),
        (PATHS + '[local.path_congestion]\nwwan0 = "vegas"\n', "each bottleneck, newreno"),
        ("[local\n", "sluice.toml"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load(path=file, environ={})


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        load(path=tmp_path / "nowhere.toml", environ={})


def test_lists_from_the_environment() -> None:
    settings = load(
        environ={
            "SLUICE_LOCAL_POLICY": "text_first,/home/me/mine.py",
            "SLUICE_REMOTE_ALLOW": "a.lan, 10.0.0.0/8",
            "SLUICE_REMOTE_MAX_BYTES_PER_DAY": "5000000000",
            "SLUICE_LOCAL_TUNNEL": "a.test,*.b.test",
        }
    )
    assert settings.local.policy == ["text_first", "/home/me/mine.py"]
    assert settings.local.tunnel == ["a.test", "*.b.test"]
    assert settings.remote.allow == ["a.lan", "10.0.0.0/8"]
    assert settings.remote.max_bytes_per_day == 5_000_000_000


def test_plugins_are_files_beside_the_settings_or_whole_paths(tmp_path: Path) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text(
        '[remote]\nschedulers = ["mine.py", "x.y:Z"]\ntranscoders = ["sub/t.py:T"]\n'
        'import_drivers = ["/abs/d.py", "named"]\n'
    )
    remote = load(path=file, environ={}).remote
    assert remote.schedulers == [str(tmp_path / "mine.py"), "x.y:Z"]
    assert remote.transcoders == [str(tmp_path / "sub" / "t.py:T")]
    assert remote.import_drivers == ["/abs/d.py", "named"]
    for setting in ("SCHEDULERS", "TRANSCODERS", "IMPORT_DRIVERS"):
        with pytest.raises(SettingsError, match="write the whole path"):
            load(environ={f"SLUICE_REMOTE_{setting}": "x.y:Z,mine.py"})


def test_nothing_inner_is_allowed_by_default() -> None:
    assert load(environ={}).remote.allow == []


@pytest.mark.parametrize("pattern", ["", "a.*.test", "https://a.test", "a b"])
def test_patterns_of_hosts_are_checked(tmp_path: Path, pattern: str) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text(f'[local]\ntunnel = ["{pattern}"]\n')
    with pytest.raises(SettingsError, match=r"local\.tunnel"):
        load(path=file, environ={})


def test_state_is_kept_where_the_system_says() -> None:
    assert state_directory({"XDG_DATA_HOME": "/data"}) == Path("/data/sluice")
    home = Path.home() / ".local" / "share" / "sluice"
    assert state_directory({}) == state_directory({"XDG_DATA_HOME": "relative"}) == home
    assert load(environ={"SLUICE_LOCAL_STATE": "/elsewhere"}).local.state == "/elsewhere"


@pytest.mark.parametrize(
    ("address", "parts"), [("a.test:80", ("a.test", 80)), ("[::1]:8118", ("::1", 8118))]
)
def test_addresses(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts


def test_port_out_of_range() -> None:
    with pytest.raises(SettingsError, match="65535"):
        split_address("a:70000")


def test_sites_have_modes(tmp_path: Path) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text('[local.sites]\n"*.a.test" = "text-only"\n"b.test" = "tunnel"\n')
    assert load(path=file, environ={}).local.sites == {"*.a.test": "text-only", "b.test": "tunnel"}
    environ = {"SLUICE_LOCAL_SITES": "a.test=original, *=adapt", "SLUICE_LOCAL_HISTORY": "false"}
    local = load(environ=environ).local
    assert local.sites == {"a.test": "original", "*": "adapt"}
    assert not local.history


@pytest.mark.parametrize("line", ['"a.test" = "fast"', '"a b" = "adapt"', '"a.test" = 5'])
def test_sites_are_checked(tmp_path: Path, line: str) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text(f"[local.sites]\n{line}\n")
    with pytest.raises(SettingsError, match=r"local\.sites"):
        load(path=file, environ={})


def test_terms_of_interfaces(tmp_path: Path) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text(
        PATHS
        + '[local.roles]\nwwan0 = "metered"\nsat0 = "spare"\n[local.budgets]\nwwan0 = "2 GB"\n'
        + '[local.path_congestion]\nsat0 = "newreno"\n'
    )
    local = load(path=file, environ={}).local
    assert local.roles == {"wwan0": "metered", "sat0": "spare"}
    assert local.budgets == {"wwan0": "2 GB"}
    assert local.path_congestion == {"sat0": "newreno"}
    environ = {
        "SLUICE_LOCAL_PATHS": "auto",
        "SLUICE_LOCAL_ROLES": "wwan0=metered,sat0=use",
        "SLUICE_LOCAL_BUDGETS": "wwan0=500 MB",
    }
    assert load(environ=environ).local.budgets == {"wwan0": "500 MB"}

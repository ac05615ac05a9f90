"""Commands that can't be carried out say one sentence, exit with 2, and tell what to do."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, home, sluice

LOCAL = ("local", "--security=none", "--listen=127.0.0.1:0")


def test_the_version_is_said(tmp_path: Path) -> None:
    said = sluice("--version", home=home(tmp_path))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (said.code, said.out, said.errors) == (0, f"sluice {project['version']}\n", "")


@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        ("nonsuch", ("no policy is called 'nonsuch'", "text_first")),
        ("defualt", ("no policy is called 'defualt'", "default")),
        ("./absent.py", ("no file", "absent.py")),
        ("./imports.py", ("imports.py", "No module named 'nonsuch'")),
        ("./broken.py", ("broken.py", "SyntaxError", "line 2")),
        ("./raises.py", ("raises.py", "ValueError: at once")),
        ("./empty.py", ("empty.py", "no class in it has a method `react`")),
        ("./zeros.py", ("zeros.py", "null bytes")),
        ("nonsuch:policy", ("nonsuch:policy", "No module named 'nonsuch'")),
    ],
)
def test_a_policy_that_is_not_to_be_had(
    tmp_path: Path, policy: str, parts: tuple[str, ...]
) -> None:
    user = home(tmp_path)
    (user.here / "imports.py").write_text("import nonsuch\n")
    (user.here / "broken.py").write_text("\nclass {\n")
    (user.here / "raises.py").write_text("raise ValueError('at once')\n")
    (user.here / "empty.py").write_text("")
    (user.here / "zeros.py").write_bytes(b"\0\0\0")
    assert sluice(*LOCAL, f"--policy={policy}", home=user).refused(*parts)


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (("--transport=quic",), ("local.transport", "'quic'", "tcp, atp-udp, atp-tcp")),
        (("--export=gif",), ("local.export", "auto, swap, multipart, stream")),
        (("--listen=8118",), ("local.listen", "'8118'", "HOST:PORT")),
        (("--listen=127.0.0.1",), ("local.listen", "HOST:PORT or [IPv6]:PORT")),
        (("--listen=127.0.0.1:99999",), ("local.listen", "a port is at most 65535")),
        (("--remote=proxy.example:70000",), ("local.remote", "a port is at most 65535")),
        (("--state=~nobody-here/x",), ("~nobody-here",)),
    ],
)
def test_a_flag_that_makes_no_sense(
    tmp_path: Path, flags: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    assert sluice(*LOCAL, *flags, home=home(tmp_path)).refused(*parts)


def test_an_interface_that_can_be_none(tmp_path: Path) -> None:
    user = home(tmp_path, SLUICE_LOCAL_PATHS="wlan0, a name with spaces")
    assert sluice(*LOCAL, home=user).refused("local.paths")


def test_a_private_network_that_is_none(tmp_path: Path) -> None:
    user = home(tmp_path, SLUICE_LOCAL_PRIVATE="10.1.0.0/16, 10.0.0.0/40")
    assert sluice(*LOCAL, home=user).refused("local.private: '10.0.0.0/40'", "10.1.0.0/16")


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("SLUICE_LOCAL_LISTN", "SLUICE_LOCAL_LISTEN"),
        ("SLUICE_LOCAL_POLICIES", "SLUICE_LOCAL_POLICY"),
        ("SLUICE_REMOT_ALLOW", "SLUICE_REMOTE_ALLOW"),
    ],
)
def test_a_misspelt_variable_is_named_with_what_is_meant(
    tmp_path: Path, variable: str, meant: str
) -> None:
    user = home(tmp_path, **{variable: "x"})
    assert sluice("status", home=user).refused(variable, f"did you mean {meant}?")


def test_a_variable_that_is_like_no_setting_is_named(tmp_path: Path) -> None:
    said = sluice("pair", "--list", home=home(tmp_path, SLUICE_7_TCP_PROTO="tcp"))
    assert said.code == 0
    assert "SLUICE_7_TCP_PROTO is not a setting" in said.errors


@pytest.mark.parametrize("settings", ["", '[remote]\nlisten = "localhost:8119"\n'])
def test_no_string_is_made_for_an_address_that_no_device_reaches(
    tmp_path: Path, settings: str
) -> None:
    user = home(tmp_path)
    user.write_settings(settings)
    assert sluice("pair", "laptop", home=user).refused("--address HOST:PORT")
    assert not list(user.folder.rglob("laptop.pem"))
    said = sluice("pair", "laptop", "--address=proxy.example:8119", home=user)
    assert said.code == 0
    assert said.out.strip().endswith("@proxy.example:8119")


def test_the_readme_pairs_as_it_works() -> None:
    lines = re.findall(r"sluice pair \w.*", (ROOT / "README.md").read_text())
    assert lines
    assert all("--address" in line for line in lines)

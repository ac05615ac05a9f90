"""A service goes on with the pairings of the remote that ran by hand, once root says so."""

from __future__ import annotations

from pathlib import Path

from service.takeover import by_hand, line


def paired(state: Path) -> Path:
    devices = state / "remote" / "devices"
    devices.mkdir(parents=True)
    (devices / "laptop.pem").write_text("")
    return state


def test_pairings_of_a_remote_that_ran_by_hand_are_found_while_the_service_has_none(
    tmp_path: Path,
) -> None:
    service, root, alice = (tmp_path / name for name in ("service", "root", "alice"))
    (service / "remote").mkdir(parents=True)
    assert by_hand([root, alice], service) is None
    paired(alice)
    assert by_hand([root, alice], service) == alice / "remote"
    paired(service)
    assert by_hand([root, alice], service) is None


def test_the_line_moves_them_while_the_service_rests() -> None:
    assert line(Path("/home/alice/.local/share/sluice/remote")) == (
        "systemctl stop sluice-remote && rm -r /var/lib/sluice/remote && "
        "mv /home/alice/.local/share/sluice/remote /var/lib/sluice/ && "
        "chown -R sluice: /var/lib/sluice/remote && systemctl start sluice-remote"
    )

"""Both ends keep their pairing: private, whole or not at all, and safe beside other commands."""

from __future__ import annotations

import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pairing import command
from pairing.errors import PairingError
from pairing.files import write_private
from pairing.identity import device_identity
from pairing.invitation import Invitation, parse
from pairing.kept import keep, kept
from pairing.store import MAX_PAIRED, PairingStore
from setting_values import Processes

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def store(tmp_path: Path) -> PairingStore:
    return PairingStore(tmp_path / "state" / "remote")


def pair(store: PairingStore, name: str = "") -> Invitation:
    return store.pair(name, host="h", port=1, now=NOW)


def test_a_device_is_kept_without_its_secret(store: PairingStore) -> None:
    invitation = pair(store, "phone")
    (device,), wrong = store.devices()
    assert (device.name, device.paired, wrong) == ("phone", "2030-01-02T03:04:05+00:00", [])
    assert device.certificate == device_identity(invitation.seed).certificate
    assert invitation.pin == store.identity().pin
    for path in store.folder.rglob("*.pem"):
        content = path.read_bytes()
        assert invitation.seed not in content
        assert (b"PRIVATE" in content) == (path.name == "identity.pem")


def test_everything_is_private(store: PairingStore) -> None:
    pair(store)
    store.note_listening("127.0.0.1:8119")
    assert files(store.folder) == {"identity.pem", "listening", "devices/device.pem"}
    for path in (store.folder, *store.folder.rglob("*")):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_a_folder_that_others_can_read_is_closed(store: PairingStore) -> None:
    store.folder.mkdir(parents=True, mode=0o755)
    store.identity()
    assert mode(store.folder) == 0o700


def test_the_identity_is_made_once_even_by_many_at_once(store: PairingStore) -> None:
    pins: list[bytes] = []
    starts = [threading.Thread(target=lambda: pins.append(store.identity().pin)) for _ in range(8)]
    for thread in starts:
        thread.start()
    for thread in starts:
        thread.join()
    assert len(pins) == 8
    assert set(pins) == {store.identity().pin}
    assert files(store.folder) == {"identity.pem"}


def test_a_damaged_identity_is_not_replaced_in_silence(store: PairingStore) -> None:
    write_private(store.folder / "identity.pem", b"half of it")
    with pytest.raises(PairingError, match=r"identity\.pem.*pair every device anew"):
        store.identity()


def test_devices_without_a_name_get_free_ones(store: PairingStore) -> None:
    for _ in range(3):
        pair(store)
    assert [device.name for device in store.devices()[0]] == ["device", "device-2", "device-3"]


def test_a_name_is_given_once_and_again_after_its_revocation(store: PairingStore) -> None:
    first = pair(store, "phone")
    with pytest.raises(PairingError, match="already"):
        pair(store, "phone")
    (device,), _ = store.devices()
    assert device.certificate == device_identity(first.seed).certificate
    before = store.revision()
    store.revoke("phone")
    assert store.devices() == ([], [])
    assert store.revision() != before
    second = pair(store, "phone")
    assert second.seed != first.seed
    assert store.revision() != before


@pytest.mark.parametrize(
    "name", ["../identity", "a/b", ".hidden", "a b", "é", "x" * 64, "-rf", "a\n", "a\0b"]
)
def test_names_that_are_no_file_names_are_refused(store: PairingStore, name: str) -> None:
    with pytest.raises(PairingError, match="can't name a device"):
        pair(store, name)
    with pytest.raises(PairingError, match="can't name a device"):
        store.revoke(name)


def test_revoking_nobody_names_those_there_are(store: PairingStore) -> None:
    pair(store, "phone")
    with pytest.raises(PairingError, match="no device is named tablet; paired are: phone"):
        store.revoke("tablet")


def test_a_damaged_file_costs_its_own_device_only(store: PairingStore) -> None:
    pair(store, "phone")
    pair(store, "tablet")
    (store.folder / "devices" / "phone.pem").write_bytes(b"paired\nnoise")
    (store.folder / "devices" / "notes.txt").write_text("not one of ours")
    devices, (wrong,) = store.devices()
    assert [device.name for device in devices] == ["tablet"]
    assert "phone.pem" in wrong


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    (path / "x").touch()
    with pytest.raises(PairingError, match="can't be written"):
        write_private(path, b"data")
    assert files(tmp_path) == {"taken/x"}


def test_a_folder_that_can_t_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PairingError, match="Not a directory"):
        PairingStore(tmp_path / "file" / "state").identity()


def test_there_is_a_limit(store: PairingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairing.store.MAX_PAIRED", 2)
    assert MAX_PAIRED == 1000
    pair(store)
    pair(store)
    with pytest.raises(PairingError, match="revoke some"):
        pair(store)


def test_a_device_keeps_its_latest_pairing(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "local"
    assert kept(folder) is None
    for port in (1, 2):
        keep(folder, Invitation("h", port, bytes(32), bytes(32)))
    found = kept(folder)
    assert found is not None
    assert found.port == 2
    assert mode(folder / "pairing") == 0o600
    (folder / "pairing").write_text("sluice://noise")
    with pytest.raises(PairingError, match="pairing: "):
        kept(folder)


class Settings:
    def __init__(self, folder: Path, *, listen: str = "127.0.0.1:8119", address: str = "") -> None:
        self.listen, self.address, self.state = listen, address, str(folder)
        self.processes: Processes = 1


def test_the_command_prints_one_string_and_lists_and_revokes(tmp_path: Path) -> None:
    out: list[str] = []
    notices: list[str] = []
    settings = Settings(tmp_path, address="proxy.example:9")
    command.pair(settings, "phone", out=out.append, notice=notices.append)
    (printed,) = out
    assert parse(printed).address == "proxy.example:9"
    command.list_devices(settings, out=out.append, notice=notices.append)
    assert out[1].startswith("phone  20")
    command.revoke(settings, "phone", notice=notices.append)
    command.list_devices(settings, out=out.append, notice=notices.append)
    assert len(out) == 2
    assert notices[-1] == "no device is paired"


@pytest.mark.parametrize(
    ("listen", "noted", "address", "notice"),
    [
        ("proxy.example:7", "", "proxy.example:7", ""),
        ("192.0.2.1:7", "", "192.0.2.1:7", ""),
        ("127.0.0.1:0", "192.0.2.1:4711", "192.0.2.1:4711", ""),
        ("192.0.2.1:7", "noise", "192.0.2.1:7", ""),
    ],
)
def test_where_a_string_leads(
    tmp_path: Path, listen: str, noted: str, address: str, notice: str
) -> None:
    out: list[str] = []
    notices: list[str] = []
    settings = Settings(tmp_path, listen=listen)
    PairingStore(tmp_path).identity()
    if noted:
        PairingStore(tmp_path).note_listening(noted)
    command.pair(settings, "", out=out.append, notice=notices.append)
    assert parse(out[0]).address == address
    assert notice in notices[0]
    assert len(notices) == (2 if notice else 1)


@pytest.mark.parametrize(
    ("listen", "noted"),
    [("127.0.0.1:8119", ""), ("localhost:7", ""), ("[::1]:7", ""), ("0.0.0.0:7", "127.0.0.1:8")],
)
def test_an_address_that_no_device_reaches_makes_no_string(
    tmp_path: Path, listen: str, noted: str
) -> None:
    out: list[str] = []
    if noted:
        PairingStore(tmp_path).note_listening(noted)
    settings = Settings(tmp_path, listen=listen)
    with pytest.raises(PairingError, match=r"--address proxy\.example:"):
        command.pair(settings, "", out=out.append, notice=out.append)
    assert not out
    assert PairingStore(tmp_path).devices() == ([], [])


def strings(settings: Settings, count: int = 60) -> list[str]:
    """Addresses of so many strings, in order."""
    out: list[str] = []
    for _ in range(count):
        command.pair(settings, "", out=out.append, notice=lambda _: None)
    return [parse(one).address for one in out]


@pytest.mark.parametrize(
    ("address", "noted", "processes", "found"),
    [
        ("", ["192.0.2.1:7", "192.0.2.1:8"], 1, ("192.0.2.1:{}", "7 8")),
        ("", [], 2, ("192.0.2.9:{}", "8119 8120")),
        ("a.example:7", [], 3, ("a.example:{}", "7 8 9")),
        ("a.example:7", ["127.0.0.1:7", "127.0.0.1:8"], 1, ("a.example:{}", "7 8")),
        ("a.example:7", ["127.0.0.1:7"], 8, ("a.example:{}", "7")),
    ],
)
def test_a_string_names_all_processes_from_any_of_them_on(
    tmp_path: Path, address: str, noted: list[str], processes: Processes, found: tuple[str, str]
) -> None:
    settings = Settings(tmp_path, listen="192.0.2.9:8119", address=address)
    settings.processes = processes
    if noted:
        PairingStore(tmp_path).note_listening(*noted)
    form, ports = found
    places = [form.format(port) for port in ports.split()]
    turned = {",".join(places[n:] + places[:n]) for n in range(len(places))}
    assert set(strings(settings)) == turned


def test_a_string_names_processes_of_all_machines_and_no_more_than_it_may(tmp_path: Path) -> None:
    settings = Settings(tmp_path, address="a.example:10,b.example:20,c.example:30")
    settings.processes = 64
    for one in strings(settings, 20):
        hosts = [address.partition(":")[0] for address in one.split(",")]
        assert hosts == ["a.example"] * 2 + ["b.example"] * 2 + ["c.example"] * 2


def test_processes_beyond_the_last_port_make_no_string(tmp_path: Path) -> None:
    settings = Settings(tmp_path, address="a.example:65535")
    settings.processes = 2
    with pytest.raises(PairingError, match="no ports from 65535"):
        strings(settings, 1)


def test_all_addresses_are_none_so_one_is_guessed(tmp_path: Path) -> None:
    out: list[str] = []
    notices: list[str] = []
    settings = Settings(tmp_path, listen="0.0.0.0:8119")
    command.pair(settings, "", out=out.append, notice=notices.append)
    assert "is a guess" in notices.pop(0)
    assert f"--state {tmp_path}" in notices.pop(0)  # no remote has run from here yet
    assert parse(out[0]).port == 8119
    assert parse(out[0]).host != "0.0.0.0"

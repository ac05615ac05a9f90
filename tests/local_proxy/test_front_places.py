"""Tests of who is let in at the proxy's port, and whose requests are the owner's."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from pathlib import Path

import pytest

from local_proxy.front import users
from local_proxy.front.owner import COOKIE, FIELD, Owner, key
from local_proxy.front.places import Room
from local_proxy.front.users import user_at, user_listening
from local_proxy.http.client_socket import ClientSocket
from local_proxy.http.model import Request
from tests.watched import run, until
from wire.fields import header

CLIENT, SERVER = ("127.0.0.1", 50_001), ("127.0.0.1", 8118)


# -- places ----------------------------------------------------------------------------------------


class Guest(ClientSocket):
    """A connection from some address."""

    def __init__(self, peer: str) -> None:
        super().__init__(lambda client: None)
        self.from_where = peer
        self.given_up = False

    @property
    def peer(self) -> str:
        return self.from_where

    def give_up(self) -> None:
        self.given_up = True


class Guests:
    """A room for two, and those who have come."""

    def __init__(self, most: int = 2) -> None:
        self.room = Room(most)
        self.ends: list[asyncio.Event] = []

    def enter(self, peer: str = "192.0.2.1", *, then: str = "owes") -> Guest:
        guest, end = Guest(peer), asyncio.Event()
        self.ends.append(end)

        async def serve() -> None:
            place = self.room.mine()
            assert place is not None
            if then != "owes":
                getattr(place, then)()
            await end.wait()

        self.room.enter(guest, asyncio.ensure_future(serve()))
        return guest

    async def leave(self) -> None:
        for end in self.ends:
            end.set()
        await until(lambda: not len(self.room))


def test_a_full_room_gives_the_place_of_the_longest_waiting() -> None:
    async def main() -> None:
        guests = Guests()
        assert guests.room.make()
        first, second = guests.enter(), guests.enter()
        await asyncio.sleep(0)
        assert guests.room.make()
        assert (first.given_up, second.given_up, len(guests.room)) == (True, False, 1)
        await guests.leave()

    run(main())


def test_a_crowd_of_one_network_puts_out_its_own() -> None:
    async def main() -> None:
        guests = Guests(3)
        alone, *crowd = (
            guests.enter("198.51.100.1"),
            guests.enter("192.0.2.1"),
            guests.enter("192.0.2.1"),
        )
        await asyncio.sleep(0)
        assert guests.room.make()
        assert [one.given_up for one in (alone, *crowd)] == [False, True, False]
        await guests.leave()

    run(main())


def test_the_idle_go_after_those_who_owe_and_the_served_never() -> None:
    async def main() -> None:
        guests = Guests()
        idle, owing = guests.enter(then="idles"), guests.enter()
        await asyncio.sleep(0)
        assert guests.room.make()
        assert (idle.given_up, owing.given_up) == (False, True)
        served = guests.enter(then="is_served")
        await asyncio.sleep(0)
        assert guests.room.make()
        assert idle.given_up
        guests.enter(then="is_served")
        await asyncio.sleep(0)
        assert not guests.room.make()
        assert not served.given_up
        assert guests.room.mine() is None
        await guests.leave()

    run(main())


# -- users of this machine -------------------------------------------------------------------------


def spelt(host: str, port: int) -> str:
    """As Linux writes it."""
    packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"


def line(
    one: tuple[str, int], other: tuple[str, int], *, user: int, inode: int = 7, state: str = "01"
) -> str:
    return (
        f"   0: {spelt(*one)} {spelt(*other)} {state} 00000000:00000000 00:00000000 00000000"
        f" {user:5d}        0 {inode} 1 0000000000000000\n"
    )


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(users, "FOLDER", tmp_path)
    return tmp_path


def test_a_connection_is_the_user_of_its_clients_socket(tables: Path) -> None:
    lines = [line(SERVER, CLIENT, user=1), line(CLIENT, SERVER, user=1234)]
    (tables / "tcp").write_text("heading\n" + "".join(lines))
    assert user_at(CLIENT, SERVER) == 1234
    assert user_at(SERVER, CLIENT) == 1
    assert user_at(("127.0.0.1", 50_002), SERVER) is None
    assert user_at(("no address", 1), SERVER) is None


def test_a_mapped_address_is_found_among_the_others_of_ipv6(tables: Path) -> None:
    mapped = [(f"::ffff:{host}", port) for host, port in (CLIENT, SERVER)]
    (tables / "tcp6").write_text("heading\n" + line(mapped[0], mapped[1], user=5))
    assert user_at(CLIENT, SERVER) == 5
    assert user_at(mapped[0], mapped[1]) == 5


def test_a_socket_that_no_program_holds_is_nobodys(tables: Path) -> None:
    (tables / "tcp").write_text("heading\n" + line(CLIENT, SERVER, user=0, inode=0))
    assert user_at(CLIENT, SERVER) is None


def test_a_listener_is_found_at_its_address_or_at_any(tables: Path) -> None:
    nobody = ("0.0.0.0", 0)
    lines = [
        line(SERVER, nobody, user=1, state="06"),
        line(("0.0.0.0", 8118), nobody, user=9, state="0A"),
    ]
    (tables / "tcp").write_text("heading\n" + "".join(lines))
    assert user_listening(SERVER) == 9
    assert user_listening(("127.0.0.1", 8119)) is None


def test_a_system_that_does_not_tell_tells_nobody(tables: Path) -> None:
    assert user_at(CLIENT, SERVER) is None
    assert user_listening(SERVER) is None


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system tells nobody")
def test_our_own_connection_is_our_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert user_listening(("127.0.0.1", port)) == os.getuid()
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert user_at(client.getsockname(), ("127.0.0.1", port)) == os.getuid()


# -- the owner -------------------------------------------------------------------------------------


def asked(
    *fields: tuple[str, str],
    url: str = "http://sluice.local/status.json",
    peer: tuple[str, int] | None = CLIENT,
    reached: tuple[str, int] | None = SERVER,
    method: str = "GET",
) -> Request:
    return Request(method, url, list(fields), peer=peer, reached=reached)


def test_who_knows_the_key_on_this_machine_is_the_owner(tmp_path: Path, tables: Path) -> None:
    async def main() -> None:
        owner = Owner(tmp_path / "state")
        secret = key(tmp_path / "state").decode()
        assert len(secret) >= 32
        assert await owner.asks(asked((FIELD, secret)))
        assert await owner.asks(asked(("cookie", f"a=b; {COOKIE}={secret}")))
        for fields in ((FIELD, secret + "x"), (FIELD, ""), ("cookie", f"{COOKIE}=x"), ("a", "b")):
            assert not await owner.asks(asked(fields))
        assert not await owner.asks(asked(("cookie", f'{COOKIE}="\x00')))
        elsewhere = asked((FIELD, secret), peer=("192.0.2.7", 5), reached=("192.0.2.1", 8118))
        assert not await owner.asks(elsewhere)
        assert not await owner.asks(asked((FIELD, secret), peer=None))

    run(main())


def test_the_key_is_made_once_and_is_the_owners_alone(tmp_path: Path) -> None:
    Owner(tmp_path / "state")
    secret = key(tmp_path / "state")
    Owner(tmp_path / "state")
    assert key(tmp_path / "state") == secret
    assert (tmp_path / "state" / "key").stat().st_mode & 0o077 == 0
    assert key(tmp_path / "other") == b""


def test_where_the_system_tells_no_key_is_needed(tables: Path) -> None:
    async def main() -> None:
        (tables / "tcp").write_text("heading\n" + line(CLIENT, SERVER, user=os.getuid()))
        assert await Owner(None).asks(asked())
        (tables / "tcp").write_text("heading\n" + line(CLIENT, SERVER, user=os.getuid() + 1))
        assert not await Owner(None).asks(asked())

    run(main())


def test_an_address_with_the_key_is_answered_by_a_cookie(tmp_path: Path) -> None:
    owner = Owner(tmp_path / "state")
    secret = key(tmp_path / "state").decode()
    url = f"http://sluice.local/setup?key={secret}"
    answer = owner.greets(asked(url=url))
    assert answer is not None
    assert (answer.status, header(answer.headers, "location")) == (303, "/setup")
    cookie = header(answer.headers, "set-cookie")
    assert cookie.startswith(f"{COOKIE}={secret}; ")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert owner.greets(asked(url=url + "x")) is None
    assert owner.greets(asked(url="http://sluice.local/?key=")) is None
    assert owner.greets(asked(url=url, method="POST")) is None
    assert owner.greets(asked(url=url, peer=("192.0.2.7", 5))) is None


def test_without_a_place_for_a_key_none_is_good(tmp_path: Path, tables: Path) -> None:
    async def main() -> None:
        (tmp_path / "file").write_bytes(b"")
        owner = Owner(tmp_path / "file" / "state")
        assert not await owner.asks(asked((FIELD, "")))
        assert owner.greets(asked(url="http://sluice.local/?key=")) is None

    run(main())

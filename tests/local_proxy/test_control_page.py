"""Tests of the status page's controls: who may change what, and what he is told."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Https
from local_proxy.http.model import Request
from local_proxy.kept.savings import Savings
from local_proxy.kept.store import LocalStore, Sum
from local_proxy.sites.sites import Mode, Sites
from local_proxy.status.control import MAX_BODY, TOKEN, Answer, ControlPage
from tests.local_proxy.export_world import stream
from tests.malformed import NESTED_JSON
from tests.watched import run

OWN = "http://sluice.local"


class Controlled:
    """A control page, and what it changes."""

    def __init__(self, folder: Path, *, https: Https | None = None) -> None:
        self.store = LocalStore(folder)
        self.sites = Sites({"news.test": "text-only"})
        self.savings = Savings(self.store, today=lambda: date(2026, 1, 2))
        self.erased = 0
        self.page = ControlPage(
            *(self.sites, self.savings),
            store=self.store,
            https=lambda: https,
            erase=self._erase,
            now=lambda: 100.0,
        )

    async def _erase(self) -> None:
        self.erased += 1

    async def read(self, path: str = "/sites.json") -> Any:
        return msgspec.json.decode(await self.page.read(Request("GET", OWN + path, [])))

    async def change(
        self, path: str, body: bytes = b"{}", *fields: tuple[str, str], token: str | None = None
    ) -> Answer:
        given = (await self.read())["token"] if token is None else token
        request = Request("POST", OWN + path, [(TOKEN, given), *fields], body=stream(body))
        return await self.page.change(request)


def choice(pattern: str, mode: str | None) -> bytes:
    return msgspec.json.encode({"pattern": pattern, "mode": mode})


def test_a_choice_holds_is_kept_and_can_be_taken_back(tmp_path: Path) -> None:
    async def main() -> None:
        at = Controlled(tmp_path)
        assert await at.change("/sites", choice("*.A.test.", "tunnel")) == (200, b"{}")
        assert at.sites.mode("b.a.test") is Mode.TUNNEL
        assert at.store.choices() == {"*.a.test": "tunnel"}
        told = await at.read()
        assert told["modes"] == ["adapt", "saver", "original", "text-only", "tunnel"]
        assert told["sites"] == [
            {"pattern": "*.a.test", "mode": "tunnel", "chosen": True, "within": 0.0},
            {"pattern": "news.test", "mode": "text-only", "chosen": False, "within": 0.0},
        ]
        await at.change("/sites", choice("*.a.test", None))
        assert at.sites.mode("b.a.test") is Mode.ADAPT
        assert at.store.choices() == {}

    run(main())


def test_a_time_for_pictures_holds_is_kept_and_can_be_taken_back(tmp_path: Path) -> None:
    async def main() -> None:
        at = Controlled(tmp_path)
        body = b'{"pattern": "*.a.test", "seconds": 5}'
        assert await at.change("/sites/within", body) == (200, b"{}")
        assert (at.sites.within("b.a.test"), at.sites.within("b.test")) == (5.0, None)
        assert at.store.times() == {"*.a.test": 5.0}
        told = await at.read()
        assert told["sites"][0] == {
            "pattern": "*.a.test",
            "mode": "adapt",
            "chosen": True,
            "within": 5.0,
        }
        for wrong in (b"-1", b"3601", b'"x"'):
            body = b'{"pattern": "a.test", "seconds": ' + wrong + b"}"
            assert (await at.change("/sites/within", body))[0] == 400
        await at.change("/sites/within", b'{"pattern": "*.a.test", "seconds": null}')
        assert (at.sites.within("b.a.test"), at.store.times()) == (None, {})

    run(main())


@pytest.mark.parametrize(
    ("token", "field"),
    [
        ("", ("a", "b")),
        ("wrong", ("a", "b")),
        (None, ("sec-fetch-site", "cross-site")),
        (None, ("origin", "http://evil.test")),
        (None, ("origin", "null")),
    ],
)
def test_only_our_own_page_changes_anything(
    tmp_path: Path, token: str | None, field: tuple[str, str]
) -> None:
    async def main() -> None:
        at = Controlled(tmp_path)
        for path in ("/sites", "/sites/forget", "/savings/erase"):
            status, said = await at.change(path, choice("a.test", "tunnel"), field, token=token)
            assert status == 403
            assert b"problem" in said
        assert at.sites.mode("a.test") is Mode.ADAPT

    run(main())


def test_what_a_browser_says_of_our_own_page_is_taken(tmp_path: Path) -> None:
    async def main() -> None:
        at = Controlled(tmp_path)
        fields = (("sec-fetch-site", "same-origin"), ("origin", OWN))
        assert (await at.change("/sites", choice("a.test", "tunnel"), *fields))[0] == 200

    run(main())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'{"pattern":"a.test","mode":"fast"}',
        b'{"pattern":"a\xff.test","mode":"tunnel"}',
        NESTED_JSON[:MAX_BODY],
        b'{"pattern":"a.test","mode":"tunnel","more":1}',
        choice("no host", "tunnel"),
        choice("a" * MAX_BODY, "tunnel"),
    ],
)
def test_what_is_no_choice_is_said_and_changes_nothing(tmp_path: Path, body: bytes) -> None:
    async def main() -> None:
        at = Controlled(tmp_path)
        assert (await at.change("/sites", body))[0] == 400
        assert [one.pattern for one in at.sites.listed()] == ["news.test"]

    run(main())


def test_a_choice_that_can_not_be_written_holds_all_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "file").write_bytes(b"")
        at = Controlled(tmp_path / "file" / "x")
        status, said = await at.change("/sites", choice("a.test", "tunnel"))
        assert status == 503
        assert b"It holds" in said
        assert at.sites.mode("a.test") is Mode.TUNNEL

    run(main())


def test_savings_are_told_by_day_and_erased(tmp_path: Path) -> None:
    async def main() -> None:
        at = Controlled(tmp_path)
        at.savings.add("a.test", Sum(100, 10, 2, 1))
        told = await at.read("/savings.json")
        assert told["days"][0]["day"] == "2026-01-02"
        assert [one["site"] for one in told["sites"]] == ["a.test"]
        assert (await at.read("/savings.json?day=2025-01-01"))["sites"] == []
        assert (await at.change("/savings/erase"))[0] == 200
        assert at.erased == 1, "texts of earlier visits, too"
        assert (await at.read("/savings.json"))["days"] == []

    run(main())


def test_clients_that_were_refused_are_listed_and_can_be_tried_again(tmp_path: Path) -> None:
    async def main() -> None:
        https = Https(Authority.open(tmp_path / "authority"), now=lambda: 100.0)
        https.rejected("a.test", "program", sure=True)
        (learnt,) = https.learnt()
        at = Controlled(tmp_path / "state", https=https)
        (one,) = (await at.read())["learnt"]
        assert (one["host"], one["client"]) == (learnt.host, "program")
        assert one["seconds"] == learnt.until - 100.0 > 0
        assert (await at.change("/sites/forget"))[0] == 200
        assert (await at.read())["learnt"] == []

    run(main())


def test_tokens_are_of_one_page_alone(tmp_path: Path) -> None:
    async def main() -> None:
        one, other = Controlled(tmp_path), Controlled(tmp_path)
        token = (await one.read())["token"]
        assert len(token) >= 32
        assert (await other.change("/sites", choice("a.test", "tunnel"), token=token))[0] == 403

    run(main())

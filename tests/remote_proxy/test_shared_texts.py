"""A device that goes on at another remote is sent what has changed there, too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from coding.dictionary import Dictionary, TextGathering
from coding.owner import owner_of
from pairing.identity import Identity, new_identity
from remote_proxy.jobs.device_texts import DeviceTexts, SessionTexts
from remote_proxy.jobs.job import Job
from remote_proxy.sharing.texts import MAX_WRITING, SharedTexts
from remote_proxy.store.memory import MemoryStore
from tests.watched import run, until
from wire.fields import Headers
from wire.origin_request import OriginRequest

PAGE = "https://a.example/news"
HTML = "text/html"
PHONE, TABLET = "11" * 32, "22" * 32
"""Digests of certificates."""
IDENTITY = new_identity()


class CountedStore(MemoryStore):
    """It counts what it was asked, and waits before it answers for as long as it is held."""

    def __init__(self) -> None:
        super().__init__(1 << 22)
        self.asked = self.told = 0
        self.open = asyncio.Event()
        self.open.set()

    async def get(self, key: bytes) -> bytes | None:
        self.asked += 1
        await self.open.wait()
        return await super().get(key)

    async def put(self, key: bytes, value: bytes, *, seconds: float) -> None:
        await self.open.wait()
        self.told += 1
        await super().put(key, value, seconds=seconds)

    @property
    def values(self) -> list[bytes]:
        return [value for value, _ in self._values.values()]

    def lie(self, change: Callable[[bytes], bytes]) -> None:
        """What is kept is not what was put there."""
        for key, (value, until_) in list(self._values.items()):
            self._values[key] = change(value), until_


class OtherRemote:
    """One of the remotes, with one session."""

    def __init__(
        self, store: CountedStore, *, device: str = PHONE, identity: Identity = IDENTITY
    ) -> None:
        self.texts = DeviceTexts(1 << 20, elsewhere=SharedTexts(store, identity))
        self.session = SessionTexts(self.texts, lambda: "phone", wanted=lambda: True, proven=device)

    async def nearest(self, *names: bytes, document: int = 1) -> list[Dictionary]:
        """What a page is coded against, of which a device names what it has."""
        self.session.named(document, b"".join(names))
        await self.session.gathered(document)
        return self.session.nearest(job(document), HTML)


def text(body: str) -> Dictionary:
    gathering = TextGathering()
    gathering.add(body.encode() * 400)
    made = gathering.finish(owner_of(PAGE, []), PAGE, media=HTML, page="")
    assert made is not None
    return made


def job(document: int = 1, *, headers: Headers | None = None) -> Job:
    request = OriginRequest("GET", PAGE, headers or [])
    return Job(component=document, document=document, request=request)


def with_store(work: Callable[[CountedStore], Awaitable[None]]) -> None:
    async def go() -> None:
        await work(CountedStore())

    run(go())


def test_what_one_remote_sent_another_codes_against() -> None:
    async def go(store: CountedStore) -> None:
        one, other, kept = OtherRemote(store), OtherRemote(store), text("a")
        one.session.keep(kept)
        await until(lambda: store.told == 1)
        assert await other.nearest(kept.name) == [kept]
        assert await other.nearest(kept.name, document=2) == [kept]
        assert store.asked == 1, "it is here now"
        assert kept.packed not in store.values[0]
        assert b"a.example" not in store.values[0]

    with_store(go)


def test_nobody_but_the_device_itself_at_remotes_of_one_identity_has_it() -> None:
    async def go(store: CountedStore) -> None:
        kept = text("a")
        OtherRemote(store).session.keep(kept)
        await until(lambda: store.told == 1)
        assert await OtherRemote(store, device=TABLET).nearest(kept.name) == []
        assert await OtherRemote(store, identity=new_identity()).nearest(kept.name) == []
        assert await OtherRemote(store, device="").nearest(kept.name) == []

    with_store(go)


def test_a_device_that_has_proved_nothing_is_told_to_nobody() -> None:
    async def go(store: CountedStore) -> None:
        remote = OtherRemote(store, device="")
        remote.session.keep(text("a"))
        await remote.texts.close()
        assert store.told == 0

    with_store(go)


def test_what_lies_there_changed_is_nothing() -> None:
    async def go(store: CountedStore) -> None:
        kept = text("a")
        OtherRemote(store).session.keep(kept)
        await until(lambda: store.told == 1)
        store.lie(lambda value: value[:-1] + bytes([value[-1] ^ 1]))
        assert await OtherRemote(store).nearest(kept.name) == []
        store.lie(lambda value: b"")
        assert await OtherRemote(store).nearest(kept.name) == []

    with_store(go)


def test_one_text_is_not_taken_for_another() -> None:
    async def go(store: CountedStore) -> None:
        one, two = text("a"), text("b")
        remote = OtherRemote(store)
        remote.session.keep(one)
        remote.session.keep(two)
        await until(lambda: store.told == 2)
        first, second = store.values
        store.lie(lambda value: second if value == first else first)
        assert await OtherRemote(store).nearest(one.name, two.name) == []

    with_store(go)


def test_a_store_that_is_silent_holds_a_text_for_half_a_second_and_no_longer() -> None:
    async def go(store: CountedStore) -> None:
        kept = text("a")
        OtherRemote(store).session.keep(kept)
        await until(lambda: store.told == 1)
        store.open.clear()
        other = OtherRemote(store)
        clock = asyncio.get_running_loop().time
        began = clock()
        assert await other.nearest(kept.name) == []
        assert clock() - began < 5.0
        store.open.set()
        await until(lambda: len(other.texts.of("phone")) == 1)
        assert await other.nearest(kept.name) == [kept], "it has come since"

    with_store(go)


def test_what_is_nowhere_is_looked_for_once() -> None:
    async def go(store: CountedStore) -> None:
        other = OtherRemote(store)
        for document in range(1, 5):
            assert await other.nearest(b"nobody", b"has it", document=document) == []
        assert store.asked == 2

    with_store(go)


def test_what_its_origin_clears_is_cleared_there_too() -> None:
    async def go(store: CountedStore) -> None:
        one, kept = OtherRemote(store), text("a")
        one.session.keep(kept)
        await until(lambda: store.told == 1)
        one.session.keeps(job(), 200, [("clear-site-data", '"cache"')])
        await until(lambda: store.values == [])
        assert await OtherRemote(store).nearest(kept.name) == []

    with_store(go)


def test_all_that_an_origin_clears_is_cleared_while_the_store_is_slow() -> None:
    async def go(store: CountedStore) -> None:
        shared = SharedTexts(store, IDENTITY)
        texts = [text(str(number)) for number in range(2 * MAX_WRITING)]
        for one in texts:
            shared.keep(PHONE, one)
            await asyncio.sleep(0)
        await until(lambda: len(store.values) == len(texts))
        store.open.clear()
        for number in range(MAX_WRITING):
            shared.keep(TABLET, text(f"more {number}"))
        shared.forget(PHONE, [one.name for one in texts])
        await until(lambda: store.values == [])
        await shared.close()

    with_store(go)


def test_writing_is_bounded_and_ends_with_the_remote() -> None:
    async def go(store: CountedStore) -> None:
        store.open.clear()
        one = OtherRemote(store)
        for number in range(2 * MAX_WRITING):
            one.session.keep(text(str(number)))
        other = OtherRemote(store)
        other.session.named(1, b"nobody")
        await until(lambda: store.asked == 1)
        for remote in (one, other):
            await remote.texts.close()
        store.open.set()
        assert store.told == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with_store(go)

"""Texts of service workers tell which sites' pages they may answer for."""

from __future__ import annotations

from itertools import count

import pytest

from local_proxy.export_drivers.markup.service_workers import (
    MAX_EXPECTED,
    MAX_IMPORTS,
    MAX_ORIGINS,
    MAX_READ,
    MAX_TEXT,
    MAX_URL,
    ServiceWorkers,
)
from local_proxy.link.components import Component, OriginHead
from wire.skeleton import Kind

ORIGIN = "https://a.test"
WORKER = f"{ORIGIN}/worker.js"
PUSHES = b"addEventListener('push', show)"
ANSWERS = b"addEventListener('fetch', answer)"
_numbers = count(1)


def script(url: str = WORKER, status: int = 200) -> Component:
    number = next(_numbers)
    return Component(number, number, url, Kind.OTHER, head=OriginHead(status, [], None))


def come(workers: ServiceWorkers, one: Component, data: bytes, *, last: bool = True) -> None:
    one.data += data
    one.complete = last
    workers.look(one)


def registered(*texts: tuple[str, bytes]) -> ServiceWorkers:
    """A browser registers the first; whatever is imported is read in this order."""
    workers = ServiceWorkers()
    workers.expect(texts[0][0])
    for url, data in texts:
        come(workers, script(url), data)
    return workers


def test_a_worker_that_answers_nothing_is_let_go_once_all_of_it_is_here() -> None:
    workers, one = ServiceWorkers(), script()
    workers.expect(WORKER)
    come(workers, one, b'addEventListener("push", show);', last=False)
    assert workers.answer(ORIGIN), "the rest may be more"
    come(workers, one, b"//")
    assert not workers.answer(ORIGIN)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "text",
    [
        b'addEventListener("fetch", f)',
        b"onfetch = f",
        b"importScripts('/w.js')",
        b"importScripts(`/w.js`)",
        b"importScripts(where)",
        b"self.importScripts;importScripts('/read.js')",
        b"import './w.js'",
        b"import('./w.js')",
    ],
)
def test_a_worker_that_may_answer_is_remembered(text: bytes, size: int) -> None:
    workers, one = registered((f"{ORIGIN}/read.js", PUSHES)), script()
    workers.expect(WORKER)
    for at in range(0, len(text), size):
        come(workers, one, text[at : at + size], last=at + size >= len(text))
    assert workers.answer(ORIGIN)


def test_one_that_takes_in_what_answers_nothing_answers_nothing() -> None:
    cdn = "https://cdn.test/sdk/sw.js"
    line = b"// for messages, important\nimportScripts('https://cdn.test/sdk/sw.js?v=2#x',\n'more.js');"
    workers = registered((WORKER, line))
    assert workers.answer(ORIGIN), "what it imports is not here"
    come(workers, script(cdn + "?v=2"), PUSHES)
    assert workers.answer(ORIGIN)
    come(workers, script(f"{ORIGIN}/more.js"), b"crypto.subtle.importKey(raw)")
    assert not workers.answer(ORIGIN)
    # Of another site the import may be in the browser's cache: it is known.
    workers.expect("https://b.test/w.js")
    come(workers, script("https://b.test/w.js"), b'importScripts("' + cdn.encode() + b'?v=2")')
    assert not workers.answer("https://b.test")


@pytest.mark.parametrize("depth", [1, 2])
def test_what_answers_is_found_however_deep_it_is_imported(depth: int) -> None:
    chain = [(f"{ORIGIN}/{n}.js", f"importScripts('{n + 1}.js')".encode()) for n in range(depth)]
    workers = registered(*chain, (f"{ORIGIN}/{depth}.js", ANSWERS))
    assert workers.answer(ORIGIN)
    workers = registered(*chain, (f"{ORIGIN}/{depth}.js", PUSHES))
    assert not workers.answer(ORIGIN)
    workers.expect("https://b.test/w.js")
    come(workers, script("https://b.test/w.js"), f"importScripts('{ORIGIN}/0.js')".encode())
    assert not workers.answer("https://b.test"), "all of these have been read"


def test_scripts_that_import_each_other_end() -> None:
    workers = registered(
        (WORKER, b"importScripts('b.js')"), (f"{ORIGIN}/b.js", b"importScripts('worker.js')")
    )
    assert not workers.answer(ORIGIN)


@pytest.mark.parametrize("first_here", [True, False])
def test_a_worker_that_answers_is_not_forgotten_for_another_that_does_not(first_here: bool) -> None:
    workers, first, second = ServiceWorkers(), script(), script(f"{ORIGIN}/other.js")
    for one in (first, second):
        workers.expect(one.url)
    if first_here:
        come(workers, first, ANSWERS)
    come(workers, second, PUSHES)
    assert workers.answer(ORIGIN)


@pytest.mark.parametrize("status", [304, 404, 500])
def test_a_worker_that_nobody_could_read_is_believed_to_answer(status: int) -> None:
    workers = ServiceWorkers()
    workers.expect(WORKER)
    come(workers, script(status=status), b"x")
    assert workers.answer(ORIGIN)


@pytest.mark.parametrize(("text", "answers"), [(PUSHES, False), (ANSWERS, True)])
def test_a_worker_that_has_not_changed_is_what_it_was(text: bytes, answers: bool) -> None:
    workers = registered((WORKER, text))
    workers.expect(WORKER)
    come(workers, script(status=304), b"")
    assert workers.answer(ORIGIN) is answers


@pytest.mark.parametrize(("text", "takes"), [(ANSWERS, False), (b"event.addRoutes(r)", True)])
def test_only_where_requests_are_routed_a_browsers_own_may_go_to_a_worker(
    text: bytes, takes: bool
) -> None:
    workers, one = ServiceWorkers(), script()
    workers.expect(WORKER)
    for at in range(len(text)):
        come(workers, one, text[at : at + 1], last=at == len(text) - 1)
    assert workers.answer(ORIGIN)
    assert workers.may_take(ORIGIN) is takes


def test_pictures_are_a_workers_once_it_has_asked_for_one() -> None:
    workers = registered((WORKER, ANSWERS))
    for origin in (ORIGIN, "https://b.test"):
        assert not workers.take_pictures(origin)
        workers.asked_picture(origin)
    assert workers.take_pictures(ORIGIN)
    assert not workers.take_pictures("https://b.test"), "it has no worker"


def test_a_script_of_which_the_beginning_was_not_seen_is_believed_to_answer() -> None:
    workers, one = ServiceWorkers(), script()
    workers.expect(WORKER)
    one.trimmed = 10
    come(workers, one, PUSHES)
    assert workers.answer(ORIGIN)


def test_two_answers_to_one_address_are_not_mixed() -> None:
    workers, first, second = ServiceWorkers(), script(), script()
    workers.expect(WORKER)
    come(workers, first, PUSHES * 3, last=False)
    come(workers, second, ANSWERS)
    assert workers.answer(ORIGIN)


@pytest.mark.parametrize("tail", [b"", b",", b"x", b")"])
def test_a_script_of_spaces_is_read_once(tail: bytes) -> None:
    """Read for each of them anew it would take minutes."""
    text = b"importScripts('b.js'" + b" " * 250_000 + tail
    workers = registered((WORKER, text), (f"{ORIGIN}/b.js", PUSHES))
    assert workers.answer(ORIGIN) is (tail != b")")


def test_a_long_script_is_believed_to_answer() -> None:
    workers = registered((WORKER, PUSHES + b" " * MAX_TEXT))
    assert workers.answer(ORIGIN)
    assert not registered((WORKER, PUSHES.ljust(MAX_TEXT))).answer(ORIGIN)


def test_what_is_remembered_is_bounded() -> None:
    workers = ServiceWorkers()
    for number in range(MAX_ORIGINS + 1):
        workers.expect(f"https://{number}.test/w.js")
    assert not workers.answer("https://0.test")
    assert workers.answer(f"https://{MAX_ORIGINS}.test")
    late = script(f"https://{MAX_ORIGINS - MAX_EXPECTED}.test/w.js")
    come(workers, late, PUSHES)
    assert workers.answer(f"https://{MAX_ORIGINS - MAX_EXPECTED}.test"), "too many are expected"
    come(workers, script(f"https://{MAX_ORIGINS}.test/w.js"), PUSHES)
    assert not workers.answer(f"https://{MAX_ORIGINS}.test")


@pytest.mark.parametrize(("count", "answers"), [(MAX_IMPORTS, False), (MAX_IMPORTS + 1, True)])
def test_a_script_that_imports_many_is_believed_to_answer(count: int, answers: bool) -> None:
    names = [f"{number}.js" for number in range(count)]
    line = "".join(f"importScripts('{name}');" for name in names).encode()
    workers = registered((WORKER, line), *((f"{ORIGIN}/{name}", PUSHES) for name in names))
    assert workers.answer(ORIGIN) is answers


def test_a_script_that_imports_from_a_long_address_is_believed_to_answer() -> None:
    name = "n" * MAX_URL
    workers = registered((WORKER, f"importScripts('{name}')".encode()))
    come(workers, script(f"{ORIGIN}/{name}"), PUSHES)
    assert workers.answer(ORIGIN)


def test_what_was_read_longest_ago_is_read_again() -> None:
    workers = ServiceWorkers()
    for number in range(MAX_READ + 1):
        url = f"{ORIGIN}/{number}.js"
        workers.expect(url)
        come(workers, script(url), PUSHES)
    for number, answers in ((MAX_READ, False), (0, True)):
        site = f"https://{number}.test"
        workers.expect(f"{site}/w.js")
        line = f"importScripts('{ORIGIN}/{number}.js')".encode()
        come(workers, script(f"{site}/w.js"), line)
        assert workers.answer(site) is answers

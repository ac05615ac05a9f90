"""Films that wait for a tap."""

from __future__ import annotations

import pytest

from local_proxy.http.model import Request
from local_proxy.requests.intent import is_film
from local_proxy.requests.waiting_films import FOLLOWS, MAX_FILMS, TOUCHED, WaitingFilms
from wire.fields import Headers

A, B, ELSEWHERE = "http://a.test/a.mp4", "http://a.test/b.mp4", "http://cdn.test/1.mp4"


def test_one_waits_until_it_is_tapped_and_then_comes_for_good() -> None:
    films = WaitingFilms()
    assert not films.comes(A, now=0.0) and not films.comes(B + "#t=3", now=0.0)
    assert films.tap(A, now=10.0)
    for now in (10.0, 11.0, 1000.0):
        assert films.comes(A, now=now)
    assert not films.comes(B, now=11.0 + FOLLOWS)


def test_what_its_address_leads_to_comes_too_and_no_later() -> None:
    films = WaitingFilms()
    films.comes(A, now=0.0)
    films.tap(A, now=10.0)
    assert films.comes(ELSEWHERE, now=10.5)
    assert not films.comes(ELSEWHERE, now=10.0 + FOLLOWS)


def test_a_tap_on_what_does_not_wait_changes_nothing() -> None:
    films = WaitingFilms()
    assert not films.tap(A, now=0.0)
    assert not films.comes(A, now=0.1)


def test_a_sound_comes_where_a_reader_has_just_done_something() -> None:
    films = WaitingFilms()
    assert not films.comes(A, sound=True, now=0.0)
    films.tap("", now=10.0)
    assert not films.comes(B, now=10.1)
    assert films.comes(A, sound=True, now=10.1)
    assert films.comes(A, sound=True, now=60.0)
    assert not films.comes(ELSEWHERE, sound=True, now=10.0 + TOUCHED)


def test_a_page_of_endless_films_is_bounded() -> None:
    films = WaitingFilms()
    for number in range(2 * MAX_FILMS):
        films.comes(f"{A}?{number}", now=0.0)
    films.tap("", now=10.0)
    for number in range(2 * MAX_FILMS):
        assert films.comes(f"{B}?{number}", sound=True, now=10.0)
    assert not films.comes(f"{B}?0", sound=True, now=20.0)
    assert films.comes(f"{B}?{2 * MAX_FILMS - 1}", sound=True, now=20.0)
    for number in range(MAX_FILMS):
        films.comes(f"{A}?{MAX_FILMS + number}", now=20.0)
    assert not films.tap(f"{A}?0", now=0.0)
    assert films.tap(f"{A}?{2 * MAX_FILMS - 1}", now=0.0)


@pytest.mark.parametrize(
    ("headers", "film"),
    [
        ([("sec-fetch-dest", "video")], True),
        ([("sec-fetch-dest", "audio"), ("range", "bytes=0-")], True),
        ([("sec-fetch-dest", "empty"), ("accept", "video/mp4"), ("range", "bytes=0-")], False),
        ([("accept", "*/*"), ("accept-encoding", "identity;q=1, *;q=0"), ("range", "b")], True),
        ([("accept", "video/webm,video/*;q=0.9,*/*;q=0.5")], True),
        ([("accept", "*/*"), ("accept-encoding", "gzip, deflate"), ("range", "bytes=0-")], False),
        ([("accept", "*/*"), ("accept-encoding", "identity"), ("range", "bytes=0-")], False),
        ([("accept", "image/avif,image/webp,*/*;q=0.8")], False),
        ([], False),
    ],
)
def test_a_script_fetches_no_film(headers: Headers, film: bool) -> None:
    assert is_film(Request("GET", A, headers)) is film

"""Preflights that are answered on the device: only browsers', and nothing gets past them."""

from __future__ import annotations

from typing import Any

import pytest

from local_proxy.http.model import Request, Response
from local_proxy.requests.preflights import FORGOTTEN, MAX_NAMES, MOST, AnsweredPreflights
from wire.abilities import Takes
from wire.fields import header

URL = "https://api.test/things"
HERE = "https://page.test"
AGENT = "Mozilla/5.0 X"


def asks(url: str = URL, method: str = "PUT", names: str = "x-key", **fields: str) -> Request:
    said = {
        "origin": HERE,
        "user-agent": AGENT,
        "sec-fetch-mode": "cors",
        "access-control-request-method": method,
        "access-control-request-headers": names,
    } | {name.replace("_", "-"): value for name, value in fields.items()}
    return Request("OPTIONS", url, [(name, value) for name, value in said.items() if value])


def follows(url: str = URL, method: str = "PUT", **fields: str) -> Request:
    said = {
        "origin": HERE,
        "user-agent": AGENT,
        "sec-fetch-mode": "cors",
        "x-key": "k",
    } | {name.replace("_", "-"): value for name, value in fields.items()}
    return Request(method, url, [(name, value) for name, value in said.items() if value])


def is_asked_for(preflights: AnsweredPreflights, request: Request) -> bool:
    return bool(preflights.follow(request).takes & Takes.PREFLIGHT)


def test_leave_is_for_what_was_asked() -> None:
    preflights = AnsweredPreflights()
    response = preflights.answer(asks(names="content-type,x-key"), now=0.0)
    assert response is not None and response.status == 204
    said = {name.removeprefix("access-control-"): value for name, value in response.headers}
    assert said == {
        "allow-origin": HERE,
        "allow-credentials": "true",
        "allow-methods": "PUT",
        "allow-headers": "content-type, x-key",
        "max-age": "0",
    }
    for _ in range(2):  # whether it has one of its own or not, its origin is asked
        followed = preflights.follow(follows(content_type="application/json"))
        assert followed.takes == Takes.PREFLIGHT
        assert header(followed.headers, "access-control-request-method") == "PUT"
        assert header(followed.headers, "access-control-request-headers") == "content-type,x-key"
    plain = follows(method="GET")
    assert preflights.follow(plain) is plain


@pytest.mark.parametrize(
    "other",
    [
        {"method": "DELETE"}, {"url": URL + "?1"}, {"origin": "https://other.test"},
        {"user_agent": "Mozilla/5.0 Y"}, {"sec_fetch_mode": "no-cors"}, {"sec_fetch_mode": ""},
    ],
)  # fmt: skip
def test_another_request_is_not_what_it_was_for(other: dict[str, Any]) -> None:
    preflights = AnsweredPreflights()
    assert preflights.answer(asks(), now=0.0) is not None
    assert not is_asked_for(preflights, follows(**other))
    assert is_asked_for(preflights, follows())


@pytest.mark.parametrize(
    "other",
    [
        {"user_agent": "curl/8"}, {"user_agent": ""}, {"origin": ""}, {"sec_fetch_mode": ""},
        {"sec_fetch_mode": "no-cors"}, {"cookie": "a=b"}, {"authorization": "x"},
        {"access_control_request_private_network": "true"},
        {"access_control_request_else": "1"}, {"names": "a b"},
        {"access_control_request_method": ""}, {"method": "POST", "names": ""},
        {"names": "range,x-key"}, {"names": "x-key,sluice-within"}, {"names": "keep_alive"},
        {"names": "x" * (MAX_NAMES + 1)}, {"names": "http2-settings"}, {"names": "priority,x-key"},
        {"names": "if-none-match"},
    ],
)  # fmt: skip
def test_what_is_no_browsers_preflight_is_its_origins(other: dict[str, Any]) -> None:
    preflights = AnsweredPreflights()
    assert preflights.answer(asks(**other), now=0.0) is None
    assert preflights.answered == 0


def test_one_that_asks_with_a_body_or_for_the_original_is_its_origins() -> None:
    preflights, asked = AnsweredPreflights(), asks()
    whole = Request("OPTIONS", URL, asked.headers, original=True)
    assert preflights.answer(whole, now=0.0) is None
    assert preflights.answer(Request("PUT", URL, asked.headers), now=0.0) is None


def test_requests_side_by_side_are_told_apart_by_what_they_have() -> None:
    preflights = AnsweredPreflights()
    for names in ("x-key", "x-key,x-more"):
        assert preflights.answer(asks(names=names), now=0.0) is not None
    got = [
        header(preflights.follow(one).headers, "access-control-request-headers")
        for one in (follows(), follows(x_more="1"), follows())
    ]
    assert got == ["x-key", "x-key,x-more", "x-key"]


def test_what_a_script_has_written_itself_is_not_what_is_asked() -> None:
    preflights = AnsweredPreflights()
    assert preflights.answer(asks(), now=0.0) is not None
    sly = follows(access_control_request_method="GET", access_control_request_headers="x")
    followed = preflights.follow(sly)
    assert header(followed.headers, "access-control-request-method") == "PUT"
    assert header(followed.headers, "access-control-request-headers") == "x-key"


def test_what_needs_leave_is_asked_for_though_its_fields_are_not_what_was_said() -> None:
    preflights = AnsweredPreflights()
    for method in ("PUT", "POST"):
        assert preflights.answer(asks(method=method), now=0.0) is not None
    assert is_asked_for(preflights, follows(x_key=""))
    assert not is_asked_for(preflights, follows(method="POST", x_key=""))


def test_no_leave_is_forgotten_before_its_request_could_have_come() -> None:
    preflights = AnsweredPreflights()
    for number in range(MOST):
        assert preflights.answer(asks(f"{URL}?{number}"), now=number / MOST) is not None
    assert preflights.answer(asks(), now=FORGOTTEN - 1) is None  # its browser asks itself
    assert preflights.answer(asks(f"{URL}?1"), now=FORGOTTEN - 1) is not None
    assert is_asked_for(preflights, follows(f"{URL}?0"))
    assert preflights.answer(asks(), now=FORGOTTEN + 1) is not None  # the oldest gives way
    assert not is_asked_for(preflights, follows(f"{URL}?0"))
    assert all(is_asked_for(preflights, follows(f"{URL}?{n}")) for n in range(1, MOST))
    assert is_asked_for(preflights, follows())
    assert preflights.answered == MOST + 2


def test_who_was_refused_after_all_passes_no_other_time() -> None:
    preflights = AnsweredPreflights()
    assert preflights.answer(asks(), now=0.0) is not None
    preflights.answered_with(preflights.follow(follows()), Response(307, [("location", URL)]))
    assert preflights.answer(asks(), now=0.0) is None  # its browser hears no from the origin
    assert preflights.answer(asks(), now=0.0) is not None
    assert is_asked_for(preflights, follows())


def test_who_is_led_back_asks_for_itself_once_and_its_request_passes() -> None:
    preflights = AnsweredPreflights()
    assert preflights.answer(asks(), now=0.0) is not None
    sent = preflights.follow(follows())
    for status, where in ((307, URL + "?else"), (302, URL), (200, "")):
        preflights.answered_with(sent, Response(status, [("location", where)]))
    preflights.answered_with(follows(), Response(307, [("location", URL)]))
    assert preflights.answer(asks(), now=0.0) is not None
    preflights.answered_with(sent, Response(307, [("location", URL)]))
    assert preflights.answer(asks(URL + "?else"), now=0.0) is not None
    assert preflights.answer(asks(), now=0.0) is None
    assert is_asked_for(preflights, follows(cookie="id=7"))  # that was another's
    assert not is_asked_for(preflights, follows())
    assert is_asked_for(preflights, follows())
    assert preflights.answer(asks(), now=0.0) is not None

"""Fields that browsers send of their own are told from those that may say who asks."""

from __future__ import annotations

from web.request_fields import unusual


def test_what_browsers_say_is_usual() -> None:
    asked = [("user-agent", "x"), ("accept", "*/*"), ("sec-ch-ua", "x"), ("cookie", "a=1")]
    assert unusual(asked) == frozenset()


def test_anything_else_may_be_a_login() -> None:
    asked = [("authorization", "x"), ("api-key", "x"), ("x-forwarded-host", "x"), ("dnt", "1")]
    assert unusual(asked) == {"authorization", "api-key", "x-forwarded-host"}

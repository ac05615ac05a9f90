"""Regular expressions mean the same to every Python that this runs with."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

CODES = importlib.import_module("re._constants")
PARSER = importlib.import_module("re._parser")
PACKAGES = (
    "local_proxy",
    "remote_proxy",
    "web",
    "wire",
    "office",
    "transcoders",
    "coding",
    "policies",
)
NAMED = type(CODES.MAX_REPEAT)
SEVERAL = {
    *(CODES.MAX_REPEAT, CODES.MIN_REPEAT, CODES.POSSESSIVE_REPEAT),
    *(CODES.ATOMIC_GROUP, CODES.ASSERT, CODES.ASSERT_NOT),
}


def operations(tokens: Any) -> Iterator[tuple[Any, Any]]:
    """All of a parsed expression, those within others behind them."""
    for token in tokens:
        if isinstance(token, tuple) and token and isinstance(token[0], NAMED):
            yield token
            yield from operations(token[1:])
        elif isinstance(token, list | tuple | PARSER.SubPattern):
            yield from operations(token)


def wrong(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether it gives nothing back of what can be matched in several ways: Python before 3.11.5,
    which Debian 12 has, ends such a match too early (CPython's issue 106052)."""
    for code, argument in operations(PARSER.parse(pattern, flags & ~re.UNICODE)):
        if code in (CODES.POSSESSIVE_REPEAT, CODES.ATOMIC_GROUP):
            body = argument[2] if code is CODES.POSSESSIVE_REPEAT else argument
            if any(within in SEVERAL for within, _ in operations(body)):
                return True
    return False


def patterns(values: Iterable[object]) -> Iterator[re.Pattern[Any]]:
    for value in values:
        if isinstance(value, re.Pattern):
            yield value
        elif isinstance(value, dict):
            yield from patterns(value.values())
        elif isinstance(value, list | tuple):
            yield from patterns(value)


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_given_back_by_nobody_can_be_matched_in_one_way(package: str) -> None:
    found = importlib.import_module(package)
    names = [one.name for one in pkgutil.walk_packages(found.__path__, f"{package}.")]
    helper = "local_proxy.export_drivers.libreoffice.helper"  # another Python's modules
    modules = [importlib.import_module(name) for name in names if not name.startswith(helper)]
    seen = {one for module in modules for one in patterns(vars(module).values())}
    assert [one.pattern for one in seen if wrong(one.pattern, one.flags)] == []


def test_what_is_looked_for_is_found() -> None:
    assert wrong(rb"(?:a|b*+c(?=d))*+")
    assert wrong("(?>a+b)")
    assert not wrong(r"[^a]*+b(?:c|d)*+")
    assert re.match(rb"(?:ab?c)*", b"acabc").end() == 5

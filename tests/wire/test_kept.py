"""A document's request tells of its browser's cache, to ends that know of it and to others."""

from __future__ import annotations

import msgspec

from wire import messages as m
from wire.continuation import Kept
from wire.names import name_of, names_in

AT = 1 + m.Request.__struct_fields__.index("kept")
"""Its place in a request, behind the tag."""
REQUEST = m.Request(1, 1, "GET", "http://a.test/", b"", kept=Kept(name_of("a"), b""))


def test_an_end_that_does_not_know_of_it_is_understood() -> None:
    fields = msgspec.msgpack.decode(m.encode(REQUEST))
    before = msgspec.msgpack.encode(fields[:AT])
    decoded = m.decode(before)
    assert isinstance(decoded, m.Request)
    assert decoded.kept is None


def test_fields_of_later_versions_are_passed_over() -> None:
    fields = msgspec.msgpack.decode(m.encode(REQUEST))
    assert m.decode(msgspec.msgpack.encode([*fields, "later"])) == REQUEST


def test_most_requests_pay_one_byte_for_it() -> None:
    bare = m.Request(1, 1, "GET", "http://a.test/", b"")
    assert msgspec.msgpack.decode(m.encode(bare))[AT] is None


def test_names_are_cut_where_they_end() -> None:
    names = name_of("a") + name_of("b")
    assert names_in(names) == {name_of("a"), name_of("b")}
    assert len(names_in(names + b"x")) == 3  # a broken one names nothing
    assert names_in(b"") == frozenset()

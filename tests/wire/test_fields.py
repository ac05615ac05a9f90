"""Header fields: joined, sized, and those that concern one connection only."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wire.fields import FIELD, Headers, header, of_connection, size, without

FIELDS = st.lists(st.tuples(st.sampled_from(["a", "b", "via"]), st.text(max_size=9)))


def test_repeated_fields_are_one_value() -> None:
    fields = [("via", "1.1 a"), ("x", "y"), ("via", "1.1 b")]
    assert header(fields, "via") == "1.1 a, 1.1 b"
    assert header(fields, "age") == ""
    assert header(fields, "age", "0") == "0"
    assert header([("age", "")], "age", "0") == "", "there is one, and it is empty"


@given(FIELDS)
def test_nothing_but_the_named_is_left_out(fields: Headers) -> None:
    left = without(fields, {"via"})
    assert left == [one for one in fields if one[0] != "via"]
    assert size(fields) - size(left) == sum(
        3 + len(value) + FIELD for name, value in fields if name == "via"
    )


def test_a_sender_names_fields_of_this_connection() -> None:
    fields = [("connection", "Keep-Alive, X-Hop"), ("connection", " close "), ("x-hop", "1")]
    assert of_connection(fields) == {"keep-alive", "x-hop", "close"}
    assert of_connection([]) == set()

"""Tests of a component's way out: what is said of it and when, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from hats.tree.node import Node
from remote_proxy.jobs.job import Job
from remote_proxy.jobs.way_out import WayOut
from remote_proxy.origin.client import OriginResponse
from remote_proxy.reach.failures import OriginError
from scheduling.commands import Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Budget
from wire import messages as m
from wire.applications import Application
from wire.fields import Headers
from wire.frames import Control, Data
from wire.origin_request import OriginRequest
from wire.session import Session, Side
from wire.skeleton import Kind, Use


@dataclass
class Link:
    """A session's side of the link, with its real tree and outbox."""

    said: list[m.Message] = field(default_factory=list)
    tree: Tree = field(default_factory=lambda: Tree(quantum=256))

    def __post_init__(self) -> None:
        self.obedience = Obedience(self.tree, Plan())
        session = Session(Side.REMOTE, agent="test")
        assert session.next_control() is not None
        session.receive(m.encode(m.Hello([1])))
        self.outbox = TreeOutbox(
            session,
            self.tree.hierarchy,
            self.tree.multiplexer,
            Budget(1 << 20),
            wake=lambda: None,
        )

    def say(self, message: m.Message, headers: Headers | None = None) -> None:
        self.said.append(message)

    def frames(self) -> list[Data | Control]:
        """All that the link would take now."""
        found = []
        while (frame := self.outbox.next_frame(now=0.0, urgent=False)) is not None:
            found.append(frame)
        return found

    def leaf(self) -> Node | None:
        return self.tree.find_leaf(2)


def job(*, promised: bool = False, kind: Kind | None = None, withheld: bool = False) -> Job:
    request = OriginRequest("GET", "http://a.test/x", [])
    return Job(2, 1, request, kind=kind, use=Use.ELEMENT, promised=promised, withheld=withheld)


def response(status: int = 200, trailers: Headers | None = None) -> OriginResponse:
    async def nothing() -> object:
        return
        yield

    return OriginResponse(
        status, "", [], nothing(), None, lambda: None, lambda: trailers or []  # type: ignore[arg-type]
    )  # fmt: skip


def test_what_a_browser_waits_for_is_said_at_once() -> None:
    link = Link()
    WayOut(job(), link).head(response(), [("etag", '"1"')], length=7)
    assert link.said == [m.Head(2, 200, b"", length=7)]


@pytest.mark.parametrize(
    ("kind", "withheld", "at_once"),
    [(Kind.IMAGE, False, False), (Kind.STYLE, False, True), (Kind.IMAGE, True, True)],
)
def test_a_promise_s_head_waits_for_its_turn_unless_it_is_text_or_all_that_is_sent(
    kind: Kind, withheld: bool, at_once: bool
) -> None:
    link = Link()
    way = WayOut(job(promised=True, kind=kind, withheld=withheld), link)
    way.head(response(), [], length=None)
    assert bool(link.said) is at_once
    way.open(kind).write(b"bytes")
    assert [type(frame) for frame in link.frames()] == ([Data] if at_once else [Control, Data])


def test_a_component_enters_the_tree_under_its_application() -> None:
    link = Link()
    asked = OriginRequest("GET", "http://a.test/x", [], application=Application.OFFICE)
    WayOut(replace(job(), request=asked), link).open(Kind.TEXT)
    leaf = link.leaf()
    assert leaf is not None
    assert link.tree.hierarchy.path(leaf) == ("office", "1", "2")


def test_a_head_that_no_message_can_hold_is_an_error_of_the_origin() -> None:
    with pytest.raises(OriginError, match="too large"):
        WayOut(job(), Link()).head(response(), [("x", "y" * 200_000)], length=1)


def test_an_interim_answer_and_trailers_are_said_where_there_are_any() -> None:
    link = Link()
    way = WayOut(job(), link)
    way.hint(103, [("link", "</a.css>; rel=preload")])
    way.hint(103, [("link", "y" * 200_000)])
    way.trail(response())
    way.trail(response(trailers=[("digest", "x")]))
    assert link.said == [m.Hint(2, 103, b""), m.Trailers(2, b"")]


def test_an_opened_component_has_a_leaf_of_its_kind_under_its_document() -> None:
    link = Link()
    way = WayOut(job(), link)
    way.document = 9
    way.open(Kind.IMAGE)
    leaf = link.leaf()
    assert leaf is not None and leaf.parent is not None
    assert (leaf.kind, leaf.parent.name) == ("image", "9")


def test_a_tunnel_is_open_before_a_byte_has_come() -> None:
    link = Link()
    WayOut(job(), link).open_tunnel()
    assert link.said == [m.Head(2, 200, b"")]
    leaf = link.leaf()
    assert leaf is not None and leaf.kind == "tunnel"


def test_marks_are_the_picture_s_levels_or_its_steps_where_it_grows() -> None:
    link = Link()
    way = WayOut(job(kind=Kind.IMAGE), link)
    way.open(Kind.IMAGE)
    way.mark([10, 30], [20, 30], ends={"low": 10, "original": 30})
    leaf = link.leaf()
    assert leaf is not None and tuple(leaf.marks) == (10, 30)
    link.tree.grow(1)
    assert tuple(leaf.marks) == (20, 30)


def test_a_failure_before_the_first_byte_is_an_answer_of_its_own() -> None:
    link = Link()
    WayOut(job(), link).fail(504, "no word " + "x" * 5000, retry=7)
    [failed] = link.said
    assert isinstance(failed, m.Failed)
    assert (failed.status, failed.retry, len(failed.reason)) == (504, 7, 2000)


def test_a_promise_of_which_nothing_has_left_is_taken_back() -> None:
    link = Link()
    way = WayOut(job(promised=True, kind=Kind.IMAGE), link)
    way.open(Kind.IMAGE).write(b"never sent")
    way.fail(502, "broken")
    assert link.said == [m.Reset(2, "broken")]
    assert link.leaf() is None
    assert link.frames() == []


def test_what_has_begun_is_sent_as_far_as_it_came() -> None:
    link = Link()
    way = WayOut(job(), link)
    way.open(Kind.TEXT).write(b"half of it")
    way.fail(502, "broken")
    data, reset = link.frames()
    assert isinstance(data, Data) and data.payload == b"half of it"
    assert isinstance(reset, Control)


def test_who_leaves_takes_leaf_and_bytes_along() -> None:
    link = Link()
    way = WayOut(job(), link)
    way.open(Kind.TEXT).write(b"text")
    way.leave()
    assert link.leaf() is None
    assert link.frames() == []

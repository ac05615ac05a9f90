"""Tests of promises: what a page needs is said before it comes, and what may not come is not."""

from __future__ import annotations

import pytest

from policies.api.plan import Rule, to_wire
from remote_proxy.jobs.job import Job
from remote_proxy.promises.plugged_drivers import PluggedDrivers
from remote_proxy.promises.promise import MAX_DOCUMENTS, MAX_MOVES, MAX_SHARED, Promising
from scheduling.commands import Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from tests.remote_proxy.document_world import response
from wire import messages as m
from wire.abilities import Takes
from wire.applications import Application
from wire.continuation import Continuation, Kept
from wire.fields import Headers, header
from wire.names import name_of
from wire.session import Session, Side
from wire.skeleton import Kind, Use

PAGE = "http://a.test/"
ASKED: Headers = [("user-agent", "Chrome/156"), ("accept", "text/html"), ("cookie", "c=1")]
HTML: Headers = [("content-type", "text/html; charset=utf-8")]
CSS: Headers = [("content-type", "text/css")]
BODY = b"<!doctype html><link rel=stylesheet href=a.css><img src=b.png><script src=c.js></script>"


class World:
    """One session's promises, and what the device is told of them."""

    def __init__(self) -> None:
        self.session = Session(Side.REMOTE, agent="t")
        self.local = Session(Side.LOCAL, agent="t")
        hello = self.local.next_control()
        assert hello is not None
        self.session.receive(hello)
        self.tree = Tree(quantum=1024)
        self.plan = Plan()
        self.begun: list[Job] = []
        self.spare = 1000
        self.refused: set[str] = set()
        self.promising = Promising(
            self.session,
            self.tree,
            self.plan,
            Obedience(self.tree, self.plan),
            start=self.begun.append,
            may=lambda url: url not in self.refused,
            spare=lambda: self.spare,
            drivers=PluggedDrivers(),
            whose=lambda: "phone",
        )

    def page(
        self,
        body: bytes = BODY,
        *,
        component: int = 5,
        url: str = PAGE,
        asked: Headers = ASKED,
        headers: Headers = HTML,
        **more: object,
    ) -> None:
        request = m.Request(component, component, "GET", url, b"", **more)  # type: ignore[arg-type]
        self.read(Job.requested(request, asked, None), body, headers)

    def read(self, job: Job, body: bytes, headers: Headers) -> bool:
        """Whether anybody reads it for what it needs."""
        importer = self.promising.importer(job, response(body, headers=headers))
        if importer is None:
            return False
        importer.feed(body)
        importer.close()
        return True

    def promised(self) -> list[m.Skeleton]:
        """The promises that the device hears of."""
        found = []
        while (payload := self.session.next_control()) is not None:
            message, _ = self.local.receive(payload)
            if isinstance(message, m.Skeleton):
                found.append(message)
        return found

    def paths(self) -> list[str]:
        return [
            part.url.removeprefix("http://a.test/")
            for skeleton in self.promised()
            for part in skeleton.parts
        ]

    def job(self, path: str) -> Job:
        return next(job for job in self.begun if job.request.url.endswith(path))


def test_what_a_page_needs_is_promised_entered_and_begun() -> None:
    world = World()
    world.page()
    parts = [part for skeleton in world.promised() for part in skeleton.parts]
    assert [part.url[len(PAGE) :] for part in parts[:3]] == ["a.css", "b.png", "c.js"]
    assert [part.component for part in parts[:3]] == [2, 4, 6]
    assert [job.part for job in world.begun] == parts
    assert {leaf.name for leaf in world.tree.leaves()} == {str(part.component) for part in parts}
    assert all(job.promised and not job.withheld for job in world.begun)


def test_what_a_page_needs_stands_under_its_application() -> None:
    world = World()
    world.page(application=Application.OFFICE)
    assert world.begun
    assert {job.request.application for job in world.begun} == {Application.OFFICE}
    paths = [world.tree.hierarchy.path(leaf) for leaf in world.tree.leaves()]
    assert {path[:2] for path in paths} == {("office", "5")}


def test_a_sheet_that_was_promised_brings_what_it_needs_for_its_page() -> None:
    world = World()
    world.page()
    world.promised()
    assert world.read(world.job("a.css"), b"body{background:url(d.png)}", CSS)
    assert world.paths() == ["d.png"]
    assert world.job("d.png").document == 5


JAVASCRIPT: Headers = [("content-type", "text/javascript")]


def test_what_a_module_imports_is_promised_and_read_in_its_turn() -> None:
    world = World()
    world.page(b"<script type=module src=m.js></script><script src=c.js></script>")
    world.promised()
    assert world.read(world.job("m.js"), b'import "./n.js"; import "./c.js"; 1', JAVASCRIPT)
    assert world.paths() == ["n.js"]  # the other is there already, and holds the page up
    assert world.job("n.js").document == 5
    assert world.read(world.job("n.js"), b'import "./m.js"; import "./o.js"', JAVASCRIPT)
    assert world.paths() == ["o.js"]
    assert not world.read(world.job("c.js"), b'import "./p.js"', JAVASCRIPT)


@pytest.mark.parametrize(
    ("allows", "read"),
    [("*", True), ("http://a.test", True), ("http://c.test", False), ("", False)],
)
def test_a_module_of_another_origin_is_read_where_it_is_let_in(allows: str, read: bool) -> None:
    world = World()
    world.page(b"<script type=module src=http://b.test/m.js></script>")
    world.promised()
    told = [*JAVASCRIPT, ("access-control-allow-origin", allows)]
    assert world.read(world.job("m.js"), b'import "./n.js"', told) is read
    assert world.paths() == ["http://b.test/n.js"] * read


@pytest.mark.parametrize(("mode", "read"), [("cors", True), ("no-cors", False)])
def test_a_module_that_a_script_asks_for_is_read(mode: str, read: bool) -> None:
    world = World()
    world.page(b"<p>")
    asked = [*ASKED, ("sec-fetch-dest", "script"), ("sec-fetch-mode", mode)]
    request = m.Request(9, 5, "GET", "http://a.test/m.js", b"")
    body = b'import "./n.js"'
    assert world.read(Job.requested(request, asked, None), body, JAVASCRIPT) is read
    assert world.paths() == ["n.js"] * read


def test_a_sheet_that_no_page_links_is_not_read() -> None:
    world = World()
    world.page()
    request = m.Request(9, 5, "GET", "http://a.test/other.css", b"")
    assert not world.read(Job.requested(request, ASKED, None), b"a{}", CSS)


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("HEAD", HTML, 200),
        ("PUT", HTML, 200),
        ("POST", HTML, 404),
        ("GET", HTML, 404),
        ("GET", [("content-type", "text/plain")], 200),
    ],
)
def test_only_pages_that_are_shown_are_read(method: str, headers: Headers, status: int) -> None:
    world = World()
    job = Job.requested(m.Request(5, 5, method, PAGE, b""), ASKED, None)
    answer = response(BODY, headers=headers, status=status)
    assert world.promising.importer(job, answer) is None


@pytest.mark.parametrize(("origin", "read"), [("http://a.test", True), ("http://b.test", False)])
def test_a_page_that_answers_a_form_of_its_own_is_read(origin: str, read: bool) -> None:
    world = World()
    asked = [*ASKED, ("origin", origin)]
    job = Job.requested(m.Request(5, 5, "POST", PAGE, b""), asked, None)
    found = world.promising.importer(job, response(BODY, headers=HTML, status=200))
    assert (found is not None) is read


def test_what_may_not_come_unasked_does_not() -> None:
    world = World()
    world.refused.add(PAGE + "a.css")
    world.plan.replace([])
    world.page(treatment=m.Treatment.TEXT_ONLY)
    assert world.paths() == ["c.js"]


def test_what_the_plan_withholds_is_promised_and_held() -> None:
    world = World()
    world.plan.replace(to_wire([Rule(kind=Kind.IMAGE, level="none")]))
    world.page()
    assert "b.png" in world.paths()
    for name, ready in (("b.png", False), ("c.js", True)):
        leaf = world.tree.find_leaf(world.job(name).component)
        assert leaf is not None
        world.tree.hierarchy.enqueue(leaf, 100)
        assert leaf.ready is ready


def test_no_more_is_promised_than_there_is_to_spare() -> None:
    world = World()
    world.spare = 1
    world.page()
    assert len(world.paths()) == 1
    world.spare = 0
    world.page(component=7)
    assert world.paths() == []


def test_what_the_device_has_is_not_promised_and_what_may_be_stale_waits() -> None:
    world = World()
    kept = Kept(fresh=name_of(PAGE + "a.css"), stale=name_of(PAGE + "b.png"))
    world.page(kept=kept)
    assert "a.css" not in world.paths()
    assert world.job("b.png").withheld
    assert not world.job("c.js").withheld
    leaf = world.tree.find_leaf(world.job("b.png").component)
    assert leaf is not None
    world.tree.hierarchy.enqueue(leaf, 100)
    assert not leaf.ready


def test_what_an_earlier_session_promised_is_not_promised_again() -> None:
    world = World()
    world.page(resume=Continuation(0, known=name_of(PAGE + "b.png")))
    assert "b.png" not in world.paths()


def test_a_request_that_says_nothing_of_its_maker_cannot_be_promised() -> None:
    world = World()
    world.page(headers=[*HTML, ("referrer-policy", "no-referrer")])
    assert world.paths() == []


def test_headers_that_fill_a_message_are_not_shared() -> None:
    world = World()
    world.page(asked=[*ASKED, ("accept-language", "x" * MAX_SHARED)])
    assert world.paths() == []


def test_many_parts_go_in_messages_that_fit_a_frame() -> None:
    world = World()
    names = [f"{number:04}" + "x" * 400 for number in range(200)]
    world.page(b"".join(b"<img src=%s.png>" % name.encode() for name in names))
    skeletons = world.promised()
    assert len(skeletons) > 2
    assert sum(len(one.parts) for one in skeletons) >= 200
    assert all(sum(len(part.url) for part in one.parts) <= 32_768 for one in skeletons)


def test_a_frame_is_read_as_far_as_its_page_lets_it_be_shown() -> None:
    world = World()
    world.page(b"<iframe src=frame.html></iframe>")
    world.promised()
    frame = world.job("frame.html")
    assert (frame.kind, frame.use) == (Kind.TEXT, Use.DOCUMENT)
    denied = [*HTML, ("x-frame-options", "DENY")]
    assert not world.read(frame, BODY, denied)
    other = World()
    other.page(b"<iframe src=frame.html></iframe>")
    other.promised()
    assert other.read(other.job("frame.html"), b"<img src=in.png>", HTML)
    assert "in.png" in other.paths()


def test_a_frame_that_no_page_has_is_not_read() -> None:
    world = World()
    request = m.Request(5, 5, "GET", PAGE, b"")
    asked = [*ASKED, ("sec-fetch-dest", "iframe")]
    assert not world.read(Job.requested(request, asked, None), BODY, HTML)


def test_what_frames_of_a_page_have_in_common_is_promised_once() -> None:
    world = World()
    world.page(b"<img src=b.png><iframe src=one.html></iframe><iframe src=two.html></iframe>")
    world.promised()
    body = b"<script src=ad.js></script><link rel=stylesheet href=a.css><img src=b.png>"
    assert world.read(world.job("one.html"), body, HTML)
    assert sorted(world.paths()) == ["a.css", "ad.js"]
    assert world.read(world.job("two.html"), body + b"<img src=c.png>", HTML)
    assert world.paths() == ["c.png"]
    assert world.read(world.job("a.css"), b"body{background:url(d.png)}", CSS)
    assert world.paths() == ["d.png"]


def kinds(world: World) -> dict[str, str]:
    """What each script is in the tree, by its name."""
    names = {str(job.component): job.request.url.rpartition("/")[2] for job in world.begun}
    return {
        names[leaf.name]: leaf.kind
        for leaf in world.tree.leaves()
        if names[leaf.name].endswith(".js")
    }


def test_a_script_stands_in_the_tree_for_what_it_holds_up() -> None:
    world = World()
    tags = (
        "<script async src=a.js>",
        "<link rel=preload as=script href=b.js>",
        "<script src=c.js>",
    )
    world.page("".join(f"{tag}</script>" for tag in tags).encode() + b"text<iframe src=f>")
    assert kinds(world) == {
        "a.js": "deferred_script", "b.js": "deferred_script", "c.js": "script",
    }  # fmt: skip
    world.read(world.job("/f"), b"<script src=d.js></script>text", HTML)
    assert kinds(world)["d.js"] == "deferred_script"


def test_what_a_script_holds_up_may_be_known_later() -> None:
    world = World()
    request = m.Request(5, 5, "GET", PAGE, b"")
    importer = world.promising.importer(
        Job.requested(request, ASKED, None), response(b"", headers=HTML)
    )
    assert importer is not None
    importer.feed(b"<link rel=preload as=script href=a.js><script src=z.js></script>text")
    assert kinds(world) == {"a.js": "deferred_script", "z.js": "script"}
    importer.feed(b"<script src=a.js></script>text<script src=y.js></script>")
    assert kinds(world) == dict.fromkeys(("a.js", "z.js", "y.js"), "script")
    importer.close()
    assert kinds(world) == {"a.js": "script", "z.js": "script", "y.js": "deferred_script"}


@pytest.mark.parametrize(
    ("body", "deferred"),
    [
        (b"<script src=/x.js></script>text", True),
        (b"<script src=/asked.js></script>text", False),
        (b"<script async src=/asked.js></script>text", True),
        (b"<i>" * 3000 + b"text", False),  # not read to its end
    ],
)
def test_a_script_that_a_script_asks_for_holds_nothing_up(body: bytes, deferred: bool) -> None:
    world = World()
    world.spare = 0
    world.page(body)
    asked = m.Request(7, 5, "GET", PAGE + "asked.js", b"")
    headers = [*ASKED, ("sec-fetch-dest", "script")]
    job = world.promising.place(Job.requested(asked, headers, None), pictures=False)
    leaf = world.tree.leaf(job.document, job.component, kind="script", order=job.order)
    assert leaf.kind == ("deferred_script" if deferred else "script")


def test_a_device_that_asked_is_told_of_scripts_that_it_was_promised() -> None:
    world = World()
    world.page(takes=Takes.SCRIPTS)
    assert world.promising.script(world.job("c.js")) is not None
    assert world.promising.script(world.job("b.png")) is None
    asked = m.Request(9, 5, "GET", PAGE + "x.js", b"")
    assert world.promising.script(Job.requested(asked, ASKED, None)) is None
    other = World()
    other.page()
    assert other.promising.script(other.job("c.js")) is None


def moving(
    world: World,
    *,
    treatment: m.Treatment = m.Treatment.ADAPTED,
    takes: Takes = Takes.MOVED,
) -> Job:
    """A page that leads on, of a device that wants to know."""
    asked = m.Request(5, 5, "GET", PAGE, b"", treatment=treatment, takes=takes)
    job = Job.requested(asked, ASKED, None)
    assert world.promising.goes_on(job, response(b"", status=301, headers=[("location", "/en/")]))
    return job


def test_the_page_that_a_page_leads_to_is_promised_and_read() -> None:
    world = World()
    moving(world)
    (skeleton,) = world.promised()
    (part,) = skeleton.parts
    assert (skeleton.document, part.url, part.use) == (5, PAGE + "en/", Use.DOCUMENT)
    (job,) = world.begun
    assert header(job.request.headers, "cookie") == "c=1"
    assert job.request.takes == Takes.MOVED
    assert world.promising.goes_on(job, response(BODY, headers=HTML))
    assert world.read(job, BODY, HTML)
    assert world.paths() == ["en/a.css", "en/b.png", "en/c.js"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [(200, [("content-type", "application/pdf")]), (404, HTML), (204, []), (206, HTML)],
)
def test_what_is_no_page_is_left_to_the_browser(status: int, headers: Headers) -> None:
    world = World()
    moving(world)
    (job,) = world.begun
    assert not world.promising.goes_on(job, response(b"", status=status, headers=headers))


def test_a_page_leads_on_a_few_times_and_to_nothing_that_was_there() -> None:
    world = World()
    moving(world)
    for step in range(MAX_MOVES + 2):
        last = world.begun[-1]
        back = response(b"", status=302, headers=[("location", PAGE)])
        assert world.promising.goes_on(last, back)
        leads = response(b"", status=302, headers=[("location", f"/{step}")])
        assert world.promising.goes_on(last, leads)
    assert len(world.begun) == MAX_MOVES


@pytest.mark.parametrize(
    ("takes", "treatment", "refused"),
    [
        (Takes.NOTHING, m.Treatment.ADAPTED, ""),
        (Takes.MOVED, m.Treatment.ORIGINAL, ""),
        (Takes.MOVED, m.Treatment.TEXT_ONLY, ""),
        (Takes.MOVED, m.Treatment.ADAPTED, PAGE + "en/"),
    ],
)
def test_a_page_leads_on_where_its_device_wants_that(
    takes: Takes, treatment: m.Treatment, refused: str
) -> None:
    world = World()
    world.refused.add(refused)
    moving(world, takes=takes, treatment=treatment)
    assert world.promised() == []


def test_a_frame_does_not_lead_on_before_it_is_asked_for() -> None:
    world = World()
    world.page(b"<iframe src=/frame></iframe>", takes=Takes.MOVED)
    frame = world.begun[-1]
    assert frame.use is Use.DOCUMENT
    leads = response(b"", status=301, headers=[("location", "/en/")])
    assert world.promising.goes_on(frame, leads)
    assert world.begun[-1] is frame


def test_a_page_says_that_pictures_of_its_origin_go_to_a_service_worker() -> None:
    world = World()
    world.page(takes=Takes.OWN_WHOLE)
    world.page(component=7)
    assert world.promising.whole(5, PAGE + "a.png")
    assert not world.promising.whole(5, "https://cdn.test/a.png")
    assert not world.promising.whole(7, PAGE + "a.png")
    world.promising.close_document(5)
    assert not world.promising.whole(5, PAGE + "a.png")


def test_a_page_says_whether_its_device_enlarges_sketches_of_cameras_pictures() -> None:
    world = World()
    world.page(takes=Takes.CAMERAS)
    world.page(component=7)
    assert world.promising.cameras(5)
    assert not world.promising.cameras(7) and not world.promising.cameras(9)
    world.promising.close_document(5)
    assert not world.promising.cameras(5)


def test_another_page_is_promised_what_the_page_before_it_has() -> None:
    world = World()
    world.page()
    assert "b.png" in world.paths()
    world.page(component=7)
    assert "b.png" in world.paths()


def test_pictures_are_shown_by_pages_that_are_open() -> None:
    world = World()
    world.page()
    assert world.promising.shows(5, PAGE + "b.png")
    assert not world.promising.shows(5, PAGE + "z.png")
    assert not world.promising.shows(7, PAGE + "b.png")
    world.promising.close_document(5)
    assert not world.promising.shows(5, PAGE + "b.png")


def test_frames_without_end_are_not_read() -> None:
    world = World()
    for _ in range(MAX_DOCUMENTS):
        world.page(b"<p>x")
    request = m.Request(5, 5, "GET", PAGE, b"")
    assert not world.read(Job.requested(request, ASKED, None), BODY, HTML)


@pytest.mark.parametrize(
    ("frame", "placed"), [(b"<p>text", True), (b"<body style='background:url(b.png)'>", False)]
)
def test_a_lazy_picture_is_placed_unless_a_frame_shows_it_otherwise(
    frame: bytes, placed: bool
) -> None:
    world = World()
    world.page(b"<img src=b.png loading=lazy width=40 height=30><iframe src=/f></iframe>")
    (found,) = [job for job in world.begun if job.use is Use.DOCUMENT]
    assert world.read(found, frame, HTML)
    asked = m.Request(7, 5, "GET", PAGE + "b.png", b"", levels=True)
    job = world.promising.place(Job.requested(asked, ASKED, None), pictures=True)
    assert (job.use, job.width) == ((Use.ELEMENT, 40) if placed else (Use.OTHER, 0))

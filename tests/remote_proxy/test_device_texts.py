"""The remote keeps texts apart by device, and bounded over all."""

from __future__ import annotations

from coding.dictionary import Dictionary, TextGathering
from coding.owner import owner_of
from remote_proxy.jobs.device_texts import (
    MAX_DOCUMENTS,
    MAX_NAMED,
    SHARE,
    DeviceTexts,
    SessionTexts,
)
from remote_proxy.jobs.job import Job
from wire.continuation import Continuation
from wire.fields import Headers
from wire.origin_request import OriginRequest

PAGE = "https://a.example/news"
HTML = "text/html"


def text(body: str, *, url: str = PAGE, asked: Headers | None = None) -> Dictionary:
    gathering = TextGathering()
    gathering.add(body.encode() * 400)
    made = gathering.finish(owner_of(url, asked or []), url, media=HTML, page="")
    assert made is not None
    return made


def job(
    *, method: str = "GET", asked: Headers | None = None, resume: Continuation | None = None,
    document: int = 1,
) -> Job:  # fmt: skip
    request = OriginRequest(method, PAGE + "#top", asked or [])
    return Job(component=1, document=document, request=request, resume=resume)


class Remote:
    def __init__(self, *, max_bytes: int = 1 << 20, wanted: bool = True) -> None:
        self.texts = DeviceTexts(max_bytes)
        self.wanted = wanted

    def session(self, device: str = "phone") -> SessionTexts:
        return SessionTexts(self.texts, lambda: device, wanted=lambda: self.wanted)


def test_what_a_device_names_is_coded_against_and_nothing_else() -> None:
    session, kept = Remote().session(), text("a")
    session.keep(kept)
    assert session.nearest(job(), HTML) == []
    session.named(1, b"other!" + kept.name)
    assert session.nearest(job(), HTML)[0] is kept
    assert session.nearest(job(document=3), HTML) == [], "named for another page"
    session.close_document(1)
    assert session.nearest(job(), HTML) == []


def test_devices_have_nothing_of_each_other() -> None:
    remote, kept = Remote(), text("a")
    remote.session("phone").keep(kept)
    tablet = remote.session("tablet")
    tablet.named(1, kept.name)
    assert tablet.nearest(job(), HTML) == []


def test_credentials_are_apart() -> None:
    session, kept = Remote().session(), text("a", asked=[("cookie", "who=ann")])
    session.keep(kept)
    session.named(1, kept.name)
    assert session.nearest(job(asked=[("cookie", "who=bob")]), HTML) == []
    assert session.nearest(job(asked=[("cookie", "who=ann")]), HTML)[0] is kept


def test_only_whole_answers_to_gets_are_coded_so() -> None:
    session, kept = Remote().session(), text("a")
    session.keep(kept)
    session.named(1, kept.name)
    assert session.nearest(job(method="POST"), HTML) == []
    assert session.nearest(job(resume=Continuation(0, anew=True)), HTML) == []


def test_a_session_that_comes_back_finds_them() -> None:
    remote, kept = Remote(), text("a")
    remote.session().keep(kept)
    again = remote.session()
    again.named(1, kept.name)
    assert again.nearest(job(), HTML)[0] is kept


def test_one_device_takes_a_part_and_all_take_no_more_than_there_is() -> None:
    remote = Remote(max_bytes=40_000)
    for device in "abcdefgh":
        session = remote.session(device)
        for number in range(50):
            session.keep(text(str(number), url=f"{PAGE}/{number}"))
            assert remote.texts.used <= 40_000
        assert 0 < remote.texts.of(device).bytes <= 40_000 // SHARE
    assert len(remote.texts.of("h"))
    assert not len(remote.texts.of("a")), "it was away for longest"


def test_a_remote_without_room_and_a_device_that_keeps_none_keep_none() -> None:
    assert not Remote(max_bytes=0).session().keeps(job(), 200, [])
    assert not Remote(wanted=False).session().keeps(job(), 200, [])
    assert Remote().session().keeps(job(), 200, [])
    assert not Remote().session().keeps(job(), 200, [("cache-control", "no-store")])


def test_an_origin_can_have_them_forgotten() -> None:
    session, kept = Remote().session(), text("a")
    session.keep(kept)
    session.named(1, kept.name)
    session.keeps(job(), 200, [("clear-site-data", '"storage"')])
    assert session.nearest(job(), HTML) == []


def test_a_device_that_names_without_end_is_not_heard() -> None:
    session, kept = Remote().session(), text("a")
    session.keep(kept)
    for number in range(200):
        session.named(1, b"".join(b"%06d" % (100 * number + one) for one in range(100)))
    assert session.names_held <= 2 * MAX_NAMED
    for document in range(3000):
        session.named(document, kept.name)
    assert session.names_held <= 2 * MAX_NAMED + MAX_DOCUMENTS
    session.named(5000, b"cut")
    assert session.nearest(job(document=5000), HTML) == []

"""A device names what it has of earlier visits, and uses what is its owner's."""

from __future__ import annotations

from coding.dictionary import NAME, TextGathering
from coding.text_shelf import TextShelf
from local_proxy.link.components import Component, OriginHead
from local_proxy.link.dictionaries import Dictionaries
from wire.fields import Headers
from wire.messages import UNATTRIBUTED
from wire.origin_request import OriginRequest
from wire.skeleton import Use

PAGE = "https://a.example/news"
PLACE = ("browser", "a.example")
HTML: Headers = [("content-type", "text/HTML; charset=utf-8")]


class Device:
    """Its texts, and pages that come and are kept."""

    def __init__(self, *, max_bytes: int = 1 << 20) -> None:
        self.texts = Dictionaries(TextShelf(max_bytes=max_bytes))
        self.next = 1

    def open(self, url: str = PAGE, *, place: tuple[str, str] | None = PLACE) -> Component:
        document = self.next
        self.next += 2
        self.texts.opened(document, url, place=place)
        return Component(document, document, url, use=Use.DOCUMENT)

    def come(
        self, component: Component, body: bytes, *, asked: Headers | None = None,
        said: Headers | None = None,
    ) -> TextGathering | None:  # fmt: skip
        """All of it comes; what was gathered."""
        request = OriginRequest("GET", component.url, asked or [])
        head = OriginHead(200, HTML if said is None else said, None)
        component.head = head
        gathering = self.texts.begin(component, request, head, text=True)
        if gathering is not None:
            gathering.add(body)
            self.texts.keep(component, request, gathering, came=100)
        return gathering

    def names(self, component: Component, asked: Headers | None = None) -> int:
        """How many texts are named when it is asked for."""
        named = self.texts.names(component, OriginRequest("GET", component.url, asked or []))
        return len(named) // NAME


BODY = b"<p>the news of today</p>" * 40


def test_a_page_that_comes_again_names_what_is_here_of_it() -> None:
    device = Device()
    page = device.open()
    assert device.names(page) == 0
    device.come(page, BODY)
    part = Component(2, page.id, "https://cdn.example/a.js")
    device.come(part, b"script " * 99, said=[("content-type", "text/javascript")])
    device.texts.closed(page.id)
    again = device.open(PAGE + "#latest")
    assert device.names(again) == 2
    alone = Component(4, again.id, "https://cdn.example/a.js")
    assert device.names(alone) == 1


def test_what_no_site_is_known_of_is_not_kept() -> None:
    device = Device()
    assert device.come(device.open(place=None), BODY) is None
    download = Component(9, UNATTRIBUTED, PAGE)
    assert device.come(download, BODY) is None
    assert device.names(download) == 0
    assert not len(device.texts.shelf)


def test_it_is_found_by_its_owner_alone() -> None:
    device = Device()
    page = device.open()
    device.come(page, BODY, asked=[("cookie", "who=ann")])
    (text,) = device.texts.shelf

    def find(component: Component, who: str) -> bytes | None:
        request = OriginRequest("GET", component.url, [("cookie", f"who={who}")])
        return device.texts.find(text.digest, component, request)

    assert find(device.open(), "ann") == BODY
    assert find(device.open(), "bob") is None
    assert find(device.open(place=("other browser", "a.example")), "ann") is None
    assert find(device.open(place=("browser", "b.example")), "ann") is None
    assert find(device.open("https://b.example/"), "ann") is None
    assert find(Component(9, UNATTRIBUTED, PAGE), "ann") is None
    assert device.texts.lost == 5


def test_one_that_is_damaged_is_named_no_more() -> None:
    device = Device()
    page = device.open()
    device.come(page, BODY)
    (text,) = device.texts.shelf
    object.__setattr__(text, "packed", b"rubbish")
    request = OriginRequest("GET", PAGE, [])
    assert device.texts.find(text.digest, page, request) is None
    assert not len(device.texts.shelf)


def test_an_origin_that_clears_its_data_clears_no_other() -> None:
    device = Device()
    device.come(device.open(), BODY)
    device.come(device.open("https://b.example/"), BODY + b"b")
    clear = [("clear-site-data", '"*"'), ("cache-control", "no-store")]
    device.come(device.open("https://a.example/logout"), b"bye", said=clear)
    assert [text.url for text in device.texts.shelf] == ["https://b.example/"]


def test_a_device_that_keeps_nothing_names_nothing() -> None:
    device = Device(max_bytes=0)
    assert not device.texts.kept
    page = device.open()
    assert device.come(page, BODY) is None
    assert device.names(page) == 0


def test_what_must_not_be_repeated_is_not_coded_so() -> None:
    device = Device()
    device.come(device.open(), BODY)
    post = OriginRequest("POST", PAGE, [], has_body=True)
    assert device.texts.names(device.open(), post) == b""

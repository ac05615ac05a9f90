"""Who may have made a request, by what it says of itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from local_proxy.http.model import Request
from local_proxy.promises.initiators import MAX_FRAMES, MAX_LENT, Lent, Partition
from local_proxy.requests.open_documents import Documents
from wire.fields import Headers

A, B = "https://www.a.example", "https://b.example"
NETWORK = "https://static.network.example"
ALONE = Partition("https://a.example", "https://a.example")


def request(url: str, *fields: tuple[str, str]) -> Request:
    return Request("GET", url, list(fields))


def told(site: str, dest: str = "image") -> Headers:
    return [("sec-fetch-site", site), ("sec-fetch-dest", dest)]


class Browser:
    """Opens pages as https ones are."""

    def __init__(self) -> None:
        self.documents = Documents()
        self._next = -1

    def open(self, url: str, *fields: tuple[str, str], dest: str = "document") -> int:
        self._next += 2
        asked = request(url, ("sec-fetch-dest", dest), *fields)
        framed = dest == "iframe"
        partition = self.documents.partition(asked, framed=framed, document=self._next)
        self.documents.open(self._next, url, now=0.0, partition=partition)
        return self._next

    def asks(self, url: str, *fields: tuple[str, str]) -> tuple[int | None, set[int], set[int]]:
        """The document that asks, those that may as well, those that share with it."""
        found = self.documents.initiators(request(url, *fields))
        return found.own, set(found.peers), set(found.others)


def test_a_page_is_known_by_its_own_address_and_shares_with_its_site() -> None:
    browser = Browser()
    one, two, other = (browser.open(url) for url in (A + "/1", A + "/2", B + "/"))
    site = browser.open("https://shop.a.example/")
    fields = [("referer", A + "/1"), *told("same-origin")]
    assert browser.asks(A + "/x", *fields) == (one, set(), {two, site})
    assert browser.asks(A + "/x", ("referer", A + "/2")) == (two, set(), {one, site})
    assert browser.asks(B + "/x", ("referer", B + "/")) == (other, set(), set())


def test_across_origins_the_newest_page_of_the_origin_is_likely_and_the_others_may_be() -> None:
    browser = Browser()
    one, two = browser.open(A + "/1"), browser.open(A + "/2")
    fields = [("referer", A + "/"), *told("cross-site")]
    assert browser.asks(NETWORK + "/x", *fields) == (two, {one}, set())
    root = browser.open(A + "/")  # its address is what all their Referers say
    assert browser.asks(NETWORK + "/x", *fields) == (root, {one, two}, set())


def test_an_address_of_the_pages_own_making_is_of_its_origin() -> None:
    browser = Browser()
    one = browser.open(A + "/")
    assert browser.asks(A + "/x", ("referer", A + "/pushed"))[0] == one


def test_without_a_referer_other_fields_may_tell_the_origin() -> None:
    browser = Browser()
    one = browser.open(A + "/")
    assert browser.asks(A + "/x", *told("same-origin"))[0] == one
    assert browser.asks(NETWORK + "/x", ("origin", A), *told("cross-site"))[0] == one
    for fields in ([], told("cross-site"), told("same-site"), told("none"), [("origin", "null")]):
        assert browser.asks(A + "/x", *fields) == (None, set(), set())


def test_what_the_fields_say_must_agree() -> None:
    browser = Browser()
    browser.open(A + "/")
    fields = [("referer", A + "/"), *told("cross-site")]
    assert browser.asks(A + "/x", *fields) == (None, set(), set())


def test_a_frame_is_of_the_page_around_it_and_of_its_own_site() -> None:
    browser = Browser()
    browser.open(A + "/")
    inside = browser.open(B + "/in", ("referer", A + "/"), *told("cross-site"), dest="iframe")
    window = browser.open(B + "/")
    fields = [("referer", B + "/"), *told("cross-site")]
    deeper = browser.open(A + "/deep", *fields, dest="iframe")
    partitions = {one.id: one.pages[0].partition for one in browser.documents}
    assert partitions[inside] == Partition("https://a.example", "https://b.example")
    assert partitions[window] == Partition("https://b.example", "https://b.example")
    # Two pages of b.example may have opened it: which of them can't be told.
    assert partitions[deeper].top == f"document {deeper}"
    assert browser.asks(B + "/x", ("referer", B + "/in"), *told("same-origin"))[0] == inside


def test_pages_of_one_origin_under_several_tops_are_mixed_and_share_nothing() -> None:
    browser = Browser()
    browser.open(A + "/")
    inside = browser.open(B + "/in", ("referer", A + "/"), *told("cross-site"), dest="iframe")
    window = browser.open(B + "/")
    asked = request(NETWORK + "/x", ("referer", B + "/"), *told("cross-site"))
    found = browser.documents.initiators(asked)
    assert (found.own, found.peers, found.others, found.mixed) == (
        window, {inside}, frozenset(), True,
    )  # fmt: skip


def test_over_http_a_page_named_by_another_site_may_be_in_its_frame() -> None:
    browser = Browser()
    typed = browser.open("http://a.example/", dest="")
    followed = browser.open("http://a.example/2", ("referer", "http://a.example/"), dest="")
    linked = browser.open("http://a.example/3", ("referer", "http://b.example/"), dest="")
    asked = ("referer", "http://a.example/2")
    assert browser.asks("http://a.example/x", asked) == (followed, set(), {typed})
    asked = ("referer", "http://a.example/3")
    assert browser.asks("http://a.example/x", asked) == (linked, set(), set())


def test_a_sheet_tells_its_page_while_one_site_alone_has_it() -> None:
    browser = Browser()
    one, sheet = browser.open(A + "/"), NETWORK + "/app.css"
    fields = [("referer", sheet), *told("cross-site")]
    assert browser.asks(NETWORK + "/x", *fields) == (None, set(), set())
    browser.documents.lend(request(sheet, ("referer", A + "/"), *told("cross-site", "style")))
    assert browser.asks(NETWORK + "/x", *fields)[0] == one
    browser.open(B + "/")
    browser.documents.lend(request(sheet, ("referer", B + "/"), *told("cross-site", "style")))
    assert browser.asks(NETWORK + "/x", *fields) == (None, set(), set())


def test_a_page_whose_sheet_another_has_is_not_known_by_a_referer_alone() -> None:
    browser = Browser()
    one, sheet = browser.open(A + "/"), A + "/app.css"
    across = [("referer", A + "/"), *told("cross-site")]
    within = [("referer", sheet), *told("same-origin")]
    browser.open(B + "/")
    browser.documents.lend(request(sheet, *told("cross-site", "style")))  # nobody says who
    assert browser.asks(NETWORK + "/x", *across) == (None, set(), set())
    assert browser.asks(A + "/x", ("referer", sheet)) == (None, set(), set())
    assert browser.asks(A + "/x", *within)[0] == one  # its browser vouches for that


def test_a_page_of_its_own_takes_what_it_borrowed_with_it() -> None:
    browser = Browser()
    one = browser.open("http://a.example/")
    alone = browser.open("http://a.example/2", ("referer", "http://b.example/"), dest="")
    sheet = request("http://a.example/s.css", ("referer", "http://a.example/2"))
    asked = ("referer", "http://a.example/s.css")
    browser.documents.lend(sheet)
    assert browser.documents.initiators(request("http://a.example/x", asked)).mixed
    browser.documents.close(alone)
    assert browser.asks("http://a.example/x", asked)[0] == one


def test_other_browsers_pages_are_none_of_it() -> None:
    browser = Browser()
    browser.open(A + "/")
    fields = [("referer", A + "/"), ("user-agent", "other"), *told("same-origin")]
    assert browser.asks(A + "/x", *fields) == (None, set(), set())


def test_what_is_remembered_is_bounded() -> None:
    lent, documents = Lent(), Documents()
    for number in range(MAX_LENT + 10):
        lent.give(f"{A}/{number}.css", ALONE)
    sheets = [lent.to(f"{A}/{number}.css") for number in range(MAX_LENT + 10)]
    assert sum(map(bool, sheets)) + 1 == MAX_LENT  # and the origin, to which Referers are trimmed
    assert lent.to(A + "/") == {ALONE}
    assert lent.to(A + "/0.css") == frozenset()
    assert lent.to(A + "/" + "x" * 9000) != {ALONE}
    documents.open(1, A + "/", now=0.0)
    for number in range(MAX_FRAMES + 5):
        documents.frame(1, request(f"{B}/{number}"))
    (one,) = documents
    assert len(one.pages) == MAX_FRAMES + 1
    assert (one.pages[0].url, one.pages[1].url) == (A + "/", f"{B}/5")


@given(st.lists(st.tuples(st.sampled_from(("referer", "origin", "sec-fetch-site")), st.text())))
def test_any_fields_are_looked_at(fields: list[tuple[str, str]]) -> None:
    browser = Browser()
    one = browser.open(A + "/")
    assert browser.asks(A + "/x", *fields)[0] in (one, None)

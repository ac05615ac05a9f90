"""Lists what a page can tell apart, with the reason. An entry that no longer differs fails the
test."""

from __future__ import annotations

from typing import Final, NamedTuple


class Difference(NamedTuple):
    topic: str
    name: str
    where: str
    """Combinations in which it may differ, as "browser protocol", split by commas; "*" is any."""
    always: bool
    """It differs in each of them on every run; else the link's speed decides."""
    reason: str


_LEVELS: Final = "a picture's first answer is a level, and its size is that level's"
_CODING: Final = "the device undoes the codings: its link to the browser is no slow one"
_TAG: Final = "the page's bytes have the driver's tag in them, about 80 bytes"
_BFCACHE: Final = (
    "Firefox keeps no page with an open channel; to be mended: "
    "local_proxy/export_drivers/browser/driver.js opens it again after a return"
)
DIFFERENCES: Final = (
    Difference(
        "fetch", "an answer's status text is told", "*", True,
        "a reason phrase means nothing (RFC 9112, 4), and HTTP/2 has none",
    ),
    Difference(
        "fetch", "a request has the fields that it has", "firefox https", True,
        "over HTTP/2 Firefox says its priorities to the local proxy, whose link obeys them",
    ),
    Difference("timing", "a photo in markup: its sizes", "*", False, _LEVELS),
    Difference("timing", "a coded text: its sizes", "*", True, _CODING),
    Difference("ranges", "a coding is told as the origin's field", "*", True, _CODING),
    Difference("timing", "the page's own sizes are of its own bytes", "*", True, _TAG),
    Difference(
        "timing", "the protocol between", "chromium https, firefox https", True,
        "the local proxy speaks HTTP/2, the suite's origin does not",
    ),
    Difference(
        "timing", "a page's entries are the page's", "*", False,
        "where a picture is refined by a style rule, its levels have entries of their own",
    ),
    Difference(
        "timing", "nothing of ours but under our own path", "*", False,
        "where a picture is refined by a style rule, its levels have entries of their own",
    ),
    Difference(
        "timing", "no entry of ours tells more than a few", "*", False,
        "to be mended: the channel's and the beacons' requests have an entry each "
        "(local_proxy/export_drivers/browser/driver.js)",
    ),
    Difference(
        "ranges", "a photo in markup is kept by the browser", "*", False,
        "where a picture is refined by a style rule, the driver asks once more for what is kept",
    ),
    Difference(
        "ranges", "a range of a photo that was shown", "*", False,
        "what crosses the link in another form is kept a moment after it was shown, and an origin "
        "that knows no ranges sends all of it",
    ),
    Difference(
        "cors", "with credentials a star is no leave for one that has none", "*", True,
        "a request without cookies that anybody may make is made: no field of it tells that its "
        "script wants cookies sent, and what comes back it is not given",
    ),
    Difference(
        "downloads", "the file nine.html", "firefox http, firefox https", False,
        "to be mended: Firefox asks for <a download> as for a page, which gets the driver's tag "
        "(local_proxy/export_drivers/browser/pages.py)",
    ),
    *(
        Difference("history", name, "firefox http, firefox https", False, _BFCACHE)
        for name in (
            "back from another page: from the cache", "back from a page that nobody keeps",
            "back over a page that was replaced", "back over a redirect", "back by go()",
        )
    ),
)  # fmt: skip


def allowed(browser: str, protocol: str, topic: str) -> dict[str, Difference]:
    """The differences of one test, by the assertion's name."""
    return {
        one.name: one
        for one in DIFFERENCES
        if one.topic == topic
        and (one.where == "*" or f"{browser} {protocol}" in one.where.split(", "))
    }

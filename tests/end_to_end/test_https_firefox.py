"""An https page in a real Firefox through both proxies: promised, coarse, then the final pixels."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.browsers.bidi import EXECUTABLE, certificates_can_be_added, launched
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, run, until
from tests.end_to_end.roots import Root
from tests.end_to_end.test_https_chromium import picture
from tests.end_to_end.test_https_pages import slow_pair

pytestmark = [
    pytest.mark.skipif(EXECUTABLE is None, reason="no firefox on this machine"),
    pytest.mark.skipif(not certificates_can_be_added(), reason="no certutil (libnss3-tools)"),
]

PAGE = b"""<!doctype html><title>safe</title><link rel=stylesheet href=/style.css>
<img src=/picture.jpg width=400 height=300><script src=/script.js></script>"""


def site(origin: FakeOrigin) -> None:
    policy = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'"
    origin.name = "localhost"
    origin.serve("/", PAGE, headers=[("content-security-policy", policy)])
    origin.serve("/style.css", b"body { color: rgb(1, 2, 3) }", "text/css")
    origin.serve("/script.js", b"document.title += ' and sound'", "text/javascript")
    origin.serve("/picture.jpg", picture(), "image/jpeg")


def test_an_https_page_ends_with_the_pixels_of_the_origin(tmp_path: Path) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with FakeOrigin(tls=root.server("localhost")).running() as origin:
            site(origin)
            shots = []
            for policy in ("original", "default"):
                before = origin.counts()["/picture.jpg"]
                async with (
                    slow_pair(
                        rate=100_000, tls=root.trusted(), authority=authority, policy=policy
                    ) as both,
                    launched(
                        proxy="{}:{}".format(*both.address), certificate=authority.certificate_pem
                    ) as browser,
                    browser.tab() as tab,
                ):
                    await tab.go(origin.base + "/")
                    assert await tab.evaluate("isSecureContext")
                    assert await tab.evaluate("document.title") == "safe and sound"
                    color = await tab.evaluate("getComputedStyle(document.body).color")
                    assert color == "rgb(1, 2, 3)"
                    statistics = both.local.export.statistics
                    if policy == "default":
                        assert statistics().swapped == 1
                        await until(lambda: statistics().levels_served)  # noqa: B023
                        await until(lambda: not statistics().coarse)  # noqa: B023
                        final = shots[0]
                        while await tab.screenshot() != final:
                            await tab.painted()
                    shots.append(await tab.screenshot())
                    assert [text for text in tab.complaints if "favicon" not in text] == []
                assert origin.counts()["/picture.jpg"] == before + 1  # never asked for twice
            assert shots[0] == shots[1]

    run(go(), timeout=60)


MADE = b"""<!doctype html><title>made</title><body><script>addEventListener("load", () => {
for (const name of %s) {
    const image = new Image(200, 150);
    image.src = name;
    document.body.append(image);
} })</script></body>"""


@pytest.mark.parametrize("secure", [True, False], ids=["https", "http"])
def test_pictures_that_a_script_makes_are_coarse_first(secure: bool, tmp_path: Path) -> None:
    names = [f"/{number}.jpg" for number in range(9)]

    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        tls = root.server("localhost") if secure else None
        async with (
            FakeOrigin(tls=tls).running() as origin,
            slow_pair(rate=100_000, tls=root.trusted(), authority=authority) as both,
            launched(
                proxy="{}:{}".format(*both.address), certificate=authority.certificate_pem
            ) as browser,
            browser.tab() as tab,
        ):
            origin.name = "localhost"
            origin.serve("/", MADE % str(names).encode())
            for name in names:
                origin.serve(name, picture(), "image/jpeg")
            statistics = both.local.export.statistics
            await tab.go(origin.base + "/")
            await until(lambda: statistics().swapped == len(names))
            await until(lambda: statistics().levels_served >= len(names))
            await until(lambda: not statistics().coarse)
            assert [text for text in tab.complaints if "favicon" not in text] == []
            assert {origin.counts()[name] for name in names} == {1}

    run(go(), timeout=60)

"""Pages that nobody has looked at for an hour are let go, at both ends; their tabs still load."""

from __future__ import annotations

import pytest

from local_proxy.requests import open_documents
from tests.end_to_end.pair import Pair, all_three, run, until
from wire.messages import UNATTRIBUTED


def open_urls(both: Pair) -> list[str]:
    """What policies see as open."""
    return [document.url for document in both.local.runtime.view.documents.values()]


def test_an_unseen_page_is_let_go_and_comes_back_behind_the_one_in_front(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_documents, "UNSEEN", 0.0)

    async def go() -> None:
        async with all_three() as (origin, both):
            for name in ("one", "two"):
                origin.serve(f"/{name}", f"<p>{name}".encode(), "text/html")
            origin.serve("/more", b"more", "text/plain")
            one, two = origin.base + "/one", origin.base + "/two"
            assert b"one" in (await both.browser.navigate(one)).body
            assert open_urls(both) == [one]
            assert b"two" in (await both.browser.navigate(two)).body
            monkeypatch.setattr(open_documents, "UNSEEN", 3600.0)
            front = both.local.runtime.view.front
            assert open_urls(both) == [two]
            await until(lambda: both.session.statistics().documents <= 1)
            # Of one origin: a page that is open speaks for those that are not.
            assert (await both.browser.script(origin.base + "/more", one)).body == b"more"
            assert open_urls(both) == [two]
            assert front is not None
            both.local.events.close(front)
            assert (await both.browser.script(origin.base + "/more", one)).body == b"more"
            assert open_urls(both) == [one]
            assert both.local.runtime.view.front is None
            assert both.local.documents.of(one) != UNATTRIBUTED

    run(go())

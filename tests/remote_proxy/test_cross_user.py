"""No byte goes to whom the origin did not give it, whatever origins say and devices ask.

The origin of these tests writes into each answer for whom it is: by credentials, by the fields that
it says it looks at, by the device where it says that the answer is private. It errs as origins do:
it says `public` of one's own page, and forgets `Vary`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from emulation.memory.virtual_time import run
from remote_proxy.origin.client import ForwardedRequest
from tests.remote_proxy.scripted_origin import Said, World
from wire.fields import Headers, header

CREDENTIALS = ("cookie", "authorization", "api-key")
CHOOSING = ("accept-language", "accept", "origin", "x-forwarded-host", "user-agent")
DIRECTIVES = (
    *("public", "private", "no-store", "no-cache", "max-age=60", "s-maxage=60", "immutable"),
    *("must-revalidate", "stale-if-error=60", "must-understand", 'private="x"', "max-age=0"),
)


@dataclass(frozen=True)
class Resource:
    """How an address is answered."""

    directives: tuple[str, ...]
    vary: tuple[str, ...]
    """Fields that it looks at, and says so."""
    cookie: bool
    """It sets one, of its own for each."""
    tagged: bool
    status: int

    @property
    def private(self) -> bool:
        said = {one.partition("=")[0] for one in self.directives}
        return "private" in said or ("no-store" in said and "must-understand" not in said)

    def answer(self, forwarded: ForwardedRequest) -> Said:
        asked = forwarded.request.headers
        looked = {name: header(asked, name) for name in (*CREDENTIALS, *self.vary)}
        whose = forwarded.device if self.private or self.cookie else ""
        body = json.dumps({"looked": looked, "whose": whose}).encode()
        tag = f'"{hash(body)}"'
        headers: Headers = [("cache-control", ", ".join(self.directives))]
        headers += [("vary", ", ".join(self.vary))] if self.vary else []
        headers += [("set-cookie", f"a={forwarded.device}")] if self.cookie else []
        headers += [("etag", tag)] if self.tagged else []
        if self.tagged and header(asked, "if-none-match") == tag:
            return Said(304, headers)
        return Said(self.status, headers, body)


RESOURCES = st.builds(
    Resource,
    st.lists(st.sampled_from(DIRECTIVES), max_size=4, unique=True).map(tuple),
    st.lists(st.sampled_from(CHOOSING), max_size=2, unique=True).map(tuple),
    st.booleans(),
    st.booleans(),
    st.sampled_from((200, 200, 200, 404, 301)),
)
FIELDS = st.lists(
    st.tuples(
        st.sampled_from((*CREDENTIALS, *CHOOSING, "cache-control", "range")),
        st.sampled_from(("1", "2", "no-cache", "max-stale", "bytes=0-3")),
    ),
    max_size=3,
    unique_by=lambda field: field[0],
)
ASKED = st.lists(
    st.tuples(st.sampled_from(("a", "b", "c")), FIELDS, st.sampled_from((0.0, 1.0, 61.0))),
    min_size=2,
    max_size=8,
)


@settings(max_examples=1000, deadline=None)
@given(RESOURCES, ASKED)
def test_mixes_of_cookies_vary_and_credentials(
    resource: Resource, requests: list[tuple[str, Headers, float]]
) -> None:
    async def go() -> None:
        world = World(resource.answer)
        for device, fields, pause in requests:
            world.now += pause
            response, body = await world.get(*fields, device=device)
            if response.status not in (200, 404, 301) or not body:
                continue
            said = json.loads(body)
            for name in CREDENTIALS:
                assert said["looked"][name] in ("", header(fields, name))
            for name in resource.vary:
                assert said["looked"][name] == header(fields, name)
            assert said["whose"] in ("", device)
            assert header(response.headers, "set-cookie") in ("", f"a={device}")

    run(go())

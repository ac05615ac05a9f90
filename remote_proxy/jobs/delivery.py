"""One component from the origin into the tree: fetch, adapt, hand over.

Whatever is not understood passes through untouched; an adaptation that fails yields the origin's
bytes. Prefetched and requested components go the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Final

from policies.api.plan import Decision
from remote_proxy.jobs.held_pictures import GatheredBytes
from remote_proxy.jobs.job import Job, is_download, kind_of
from remote_proxy.jobs.picture_work import PictureWork
from remote_proxy.jobs.services import Sender, Services
from remote_proxy.jobs.text_work import TextWork, carried
from remote_proxy.jobs.tunnel_work import carry_tunnel
from remote_proxy.jobs.way_out import WayOut
from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from remote_proxy.origin.decoder import decode
from remote_proxy.origin.response_fields import (
    keepable,
    no_transform,
    storable,
    with_credentials,
)
from remote_proxy.origin.resumed_body import Rest, begins_there, conditional
from remote_proxy.promises.document_import import import_parts
from remote_proxy.reach.failures import OriginError
from scheduling.plan import picture_options
from transcoders.make import jpeg
from transcoders.make.low import Low
from transcoders.make.registry import Picture, PictureOptions
from transcoders.picture import alone
from transcoders.text import FAST, compressible, quality_for
from transport.sending.incoming import StreamCut
from transport.sending.outgoing import Outgoing
from wire import abilities
from wire import messages as m
from wire.abilities import Takes
from wire.applications import Application
from wire.fields import header
from wire.skeleton import LEVELS, Kind, Use

SMALL: Final = 4096
"""Bytes below which a picture is left alone (HATS, section 4.1.1); so many are gathered before
the length counts."""
FIRST: Final = 4096
"""Bytes of a text that are coded alone, so that the link has something to carry while the rest is
coded: dense coding takes 20 ms for a page."""
LONG: Final = 65536
"""Bytes of a text that no page asked for, from which on it counts as a download: else a text of a
gigabyte would hold up every picture."""
PREFIX: Final = 0.5
"""Of what the link carries until a picture's time, that the first tenth of its bytes may take
instead of a sketch of it: that must be made first, and estimates waver."""
BEGUN: Final = 131_072
"""Bytes of a film or of sound with which a player can begin: its header, and some seconds."""
AT_ONCE: Final = 32
"""Addresses of a playlist that are read before others have their turn."""
PIECE: Final = 65536
"""Bytes handed to a coder at a time, so that the event loop is never held for long."""


class Delivery:
    """One job, from the request to the origin to the last byte in the tree."""

    def __init__(self, job: Job, sender: Sender, services: Services) -> None:
        self.job = job
        self._sender = sender
        self._services = services
        self._way = WayOut(job, sender)
        self._rest = Rest(job.resume)
        self._kind = job.kind
        """Known before its response; None: that will tell."""

    async def run(self) -> None:
        """Deliver. Failures of the origin are told to the local proxy, never raised."""
        try:
            if self.job.request.method == "CONNECT":
                await carry_tunnel(self.job, self._way, self._sender, self._services)
            else:
                await self._fetch()
        except OriginError as error:
            self._way.fail(error.status, str(error), retry=error.retry)
        except StreamCut as error:
            self._way.fail(499, str(error))
        except BaseException:
            self._way.leave()
            raise

    async def _fetch(self) -> None:
        job, sender = self.job, self._sender
        asked = replace(job.request, headers=conditional(job.request.headers, job.resume))
        request = ForwardedRequest(
            asked,
            carried(job),
            device=sender.device,
            count=sender.count,
            interim=self._way.hint,
        )
        if self._kind is Kind.IMAGE or header(job.request.headers, "accept").startswith("image/"):
            await self._services.rush.over(sender.device)
        response = await self._services.fetch(request)
        if job.resume is not None and begins_there(response.status, response.headers, job.resume):
            self._rest = Rest(None)
        packaging = self._sender.packaging
        try:
            if packaging.takes(job, response):
                await packaging.deliver(job, response, otherwise=self._respond)
            else:
                await self._respond(response)
        finally:
            response.close()

    async def _respond(self, response: OriginResponse) -> None:
        if not self._sender.promising.goes_on(self.job, response):
            self._way.fail(502, "what a page has moved to is no page")
            return
        content_type = header(response.headers, "content-type").partition(";")[0].strip().lower()
        if self.job.use is Use.DOCUMENT and self.job.promised:
            self._kind = None  # a form may lead to anything
        if is_download(self.job, response.headers, content_type):
            if self.job.promised:
                self._sender.tree.forget(self.job.component)  # it stands under its document there
            self._way.document, self._kind = m.UNATTRIBUTED, Kind.OTHER
            if self._sender.accepts(abilities.APPLICATIONS):
                self._way.application = Application.OTHER
        if self.job.request.method == "HEAD" or response.status in (204, 304):
            self._way.head(response, response.headers, length=response.length)
            self._way.open(self._kind or Kind.OTHER).finish()
        elif compressible(content_type) and response.status != 206:
            await self._text(response, content_type)
        elif not self._may_have_levels(content_type, response):
            await self._as_it_is(response, content_type, b"")
        elif not self._coarse_can_be_shown(content_type, response.length):
            self._sender.economy.alone()
            await self._as_it_is(response, content_type, b"", soon=True)
        elif self._worth_adapting(response.length):
            await self._picture(response, content_type)
        else:
            await self._as_it_is(response, content_type, b"", soon=True)

    def _may_have_levels(self, content_type: str, response: OriginResponse) -> bool:
        return (
            self.job.request.levels
            and not self.job.withheld  # its head is wanted before its body is here
            and response.status == 200
            and content_type.startswith("image/")
            and not self._decision(Kind.IMAGE, response.length).untouched
            and not self._sender.promising.whole(self.job.document, self.job.request.url)
            and not no_transform(response.headers)
            and not no_transform(self.job.request.headers)
            and not header(response.headers, "content-encoding")
        )

    def _coarse_can_be_shown(self, content_type: str, size: int | None) -> bool:
        """A JPEG grows finer within one file. What is coarse of any other is a file of its own:
        behind it the picture comes as parts of one response, which browsers take inside TLS alone,
        or takes its place in an <img>."""
        return (
            content_type in ("image/jpeg", "image/jpg")
            or self._goes_level_by_level()
            or self.job.request.url.startswith("https:")
            or self._rest.begun
            or self._services.transcoders.plugged
            or self._decision(Kind.IMAGE, size).reduces
        )

    def _worth_adapting(self, size: int | None) -> bool:
        """Where it is a question of time alone, and all that decides is known."""
        decision, sender = self._decision(Kind.IMAGE, size), self._sender
        if size is None or self._rest.begun or decision.reduces:
            return True
        return sender.economy.adapts(
            size, ahead=sender.ahead, rate=sender.expected, worth=decision.worth
        )

    def _decision(self, kind: Kind, length: int | None) -> Decision:
        job = self.job
        return self._sender.obedience.decide(job.component, job.document, kind, job.use, length)

    # -- three ways ----------------------------------------------------------------------------

    async def _text(self, response: OriginResponse, content_type: str) -> None:
        """Decode what the origin coded, read it for sub-resources, code it for the link."""
        importer = self._sender.promising.importer(self.job, response)
        playlist = self._sender.playing.playlist(self.job.request.url, content_type)
        headers, body = decode(response.headers, response.body)
        length = response.length if headers == response.headers else None
        work = self._text_work(content_type, response.length)
        body = await work.begin(response, headers, body)
        known = None if work.dictionary is None else work.dictionary.digest
        self._way.head(response, headers, length=length, coding=work.name, dictionary=known)
        outgoing = self._way.open(self._kind or kind_of(content_type))
        if not outgoing.closed:
            outgoing.on_close = self._services.rush.begins()
        async with self._looked_at(body) as chunks:
            async for chunk in chunks:
                for piece in _pieces(chunk, first=FIRST if not outgoing.written else PIECE):
                    if importer is not None:
                        await import_parts(importer, piece)  # its fetches run while it is coded
                    work.pass_by(piece)
                    if playlist is not None:
                        playlist.feed(piece)
                    if new := self._rest.after(piece):
                        outgoing.write(await work.encode(new))
                if self._way.document == m.UNATTRIBUTED and outgoing.written > LONG:
                    self._sender.tree.set_transfer(self.job.component)
                await outgoing.room()
        self._rest.end()
        if importer is not None:
            importer.close()
        outgoing.write(work.finish())
        if self._kind is Kind.IMAGE:
            self._mark_whole(outgoing.written)
        if headers == response.headers:  # else they may tell of bytes that the client does not get
            self._way.trail(response)
        outgoing.finish()
        for number, _ in enumerate(self._sender.playing.read(playlist)):
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)

    @asynccontextmanager
    async def _looked_at(self, body: AsyncIterator[bytes]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The same; where it is a script of which its device wants to know, that is told as soon as
        the origin has sent it."""
        component, promising = self.job.component, self._sender.promising
        search = promising.script(self.job)
        if search is None:
            yield body
            return

        def look(piece: bytes) -> None:
            if not search.found and search.feed(piece):
                self._sender.say(m.Script(component, True))

        def over() -> None:
            if not search.found:
                self._sender.say(m.Script(component, False))

        async with aclosing(promising.reading.stream(body, look, over)) as ahead:
            yield ahead

    def _text_work(self, media: str, length: int | None) -> TextWork:
        """How densely a text of that length is coded: less so where others wait for the coders."""
        rate, coding, sender = self._sender.expected, self._services.coding, self._sender
        gains = sender.economy.waits_for_coders(length, rate=rate, waiting=coding.waiting)
        quality = quality_for(rate) if gains else FAST
        return TextWork(
            *(self.job, media),
            texts=sender.texts,
            coding=coding,
            quality=quality,
            whose=sender.device,
        )

    async def _picture(self, response: OriginResponse, content_type: str) -> None:
        """Collect the picture, make its levels; too large or not improved: as it is."""
        data = bytearray()
        with self._sender.gathered.hold() as held:
            if await self._gather(response, content_type, held, data):
                await self._levels(response, content_type, bytes(data))
                return
        await self._as_it_is(response, content_type, bytes(data))

    async def _gather(
        self, response: OriginResponse, content_type: str, held: GatheredBytes, data: bytearray
    ) -> bool:
        """Wait for all of a picture; False: levels are not for it, after as much as `data` has."""
        try:
            async for chunk in response.body:
                data += chunk
                if not self._may_gather(held, len(chunk), content_type, data):
                    return False
        except OriginError:
            if data and self._way.outgoing is None and not self.job.promised:
                self._way.head(response, response.headers, length=response.length)
                self._way.open(Kind.IMAGE).write(self._rest.after(bytes(data)))
            raise
        return True

    def _may_gather(
        self, held: GatheredBytes, more: int, content_type: str, data: bytearray
    ) -> bool:
        """Whether the rest of a picture is to be waited for."""
        transcoders = self._services.transcoders
        if not transcoders.wants(content_type, bytes(data[:PIECE]), max(len(data), SMALL)):
            return False
        if held.add(more):
            return True
        self._sender.refusals.add("gathered memory")
        return False

    async def _levels(self, response: OriginResponse, content_type: str, data: bytes) -> None:
        """All of the picture is here."""
        options = self._options(response, len(data))
        there, steps = self._rest.skip, self._may_come_in_steps()
        work = PictureWork(
            data,
            content_type,
            options,
            sender=self._sender,
            transcoders=self._services.transcoders,
            rush=self._services.rush,
            rest=self._rest,
            steps=steps,
            private=with_credentials(self.job.request.headers, response.headers),
            worth=self._decision(Kind.IMAGE, len(data)).worth,
            finer=self.job.resume is not None and self.job.resume.level == LEVELS[-1],
        )
        low = await work.low()
        if low is not None and options.stop != low.level.name:
            self._begin(response, there, low)
        picture = await work.finished(low)
        if picture is None:
            self._way.head(response, response.headers, length=len(data))
            outgoing = self._way.open(Kind.IMAGE)
            self._mark_whole(len(data) - self._rest.skip)
            outgoing.write(self._rest.after(data))
        else:
            picture = picture if steps else alone(picture)
            outgoing = self._go_on(response, picture, there)
            outgoing.write(self._rest.after(await work.recipe(picture) or b""))
        self._rest.end()
        outgoing.finish()

    def _options(self, response: OriginResponse, size: int) -> PictureOptions:
        sender = self._sender
        whole = self._may_come_in_steps() and self._goes_level_by_level()
        sketch = whole and sender.accepts(abilities.SKETCH)
        decision = self._decision(Kind.IMAGE, size)
        if not self._may_come_in_steps():  # a script reads the origin's pixels
            decision = replace(decision, quality=None, similar=None, fit_layout=False)
        one = self._takes_one_level  # the origin's bytes, if these are here by its time
        again = one or storable(response.headers)
        return picture_options(
            decision,
            width=self.job.width,
            height=self.job.height,
            accept=header(self.job.request.headers, "accept"),
            arithmetic=whole and sender.accepts(abilities.ARITHMETIC),
            sketch=not (sender.tree.grows(self._way.document) or self._prefix_in_time(size))
            and sketch,
            large=self._rest.begun or sender.promising.cameras(self._way.document),
            webp=sketch,  # who enlarges sketches shows one whole file after the other
            recipes=again and sender.accepts(abilities.RECIPES),
            scans=again and sender.accepts(abilities.SCANS),
            kept=one or keepable(response.headers),
            quick=sender.economy.hurries(sender.expected, worth=decision.worth),
        )

    def _prefix_in_time(self, size: int) -> bool:
        """Whether of one level that is wanted by a time the first can be more than a sketch."""
        until, rate = self._sender.obedience.deadlines.until(self.job.component), self._sender.rate
        if until is None or rate is None or not self._takes_one_level:
            return False
        return size * jpeg.LOW < PREFIX * rate * (until - asyncio.get_running_loop().time())

    def _begin(self, response: OriginResponse, there: int, low: Low) -> None:
        """The low level goes while the rest is made. `there`: bytes that the device has."""
        self._way.introduce(m.Levels(self.job.component, [low.level], 0))
        self._way.head(response, response.headers, length=None)
        outgoing = self._way.open(Kind.IMAGE)
        self._mark(low.alone(), there)
        outgoing.write(self._rest.after(low.data))

    def _go_on(self, response: OriginResponse, picture: Picture, there: int) -> Outgoing:
        """All levels are known."""
        levels, size = list(picture.levels), len(picture.data)
        message = m.Levels(
            self.job.component, levels, size, picture.coding, identical=picture.identical
        )
        outgoing = self._way.outgoing
        if outgoing is None:
            self._way.introduce(message)
            self._way.head(response, response.headers, length=None)
            outgoing = self._way.open(Kind.IMAGE)
            begun = 0
        else:
            outgoing.introduce(message)
            begun = picture.levels[0].end
        self._mark(picture, there)
        outgoing.write(self._rest.after(picture.data[begun:]))
        return outgoing

    def _mark(self, picture: Picture, there: int) -> None:
        """Tell the tree where the picture is worth more than before."""
        ends = sorted([*picture.untold, *(level.end for level in picture.levels)])
        steps = ends
        if picture.first_step:  # where nothing can take the sketch's place
            steps = [picture.first_step, *(end for end in ends[1:] if end > picture.first_step)]
        self._way.mark(
            [end - there for end in ends if end > there],
            [end - there for end in steps if end > there],
            ends={level.name: max(0, level.end - there) for level in picture.levels},
        )

    def _mark_whole(self, end: int) -> None:
        """Tell the tree that a picture of which nothing is shown goes on to be all there, after so
        many bytes of its own, before others that are shown become finer: one that the link carries
        at once, or a drawing. While it is waited for its request holds one of the six connections
        of a browser, and keeps it from asking for what is here."""
        if end > 0:
            self._way.mark([end], [end], ends={LEVELS[-1]: end})

    def _mark_begun(self, size: int | None) -> None:
        """Tell the tree where a film can begin: before pictures become as fine as can be. The rest
        of it, of which there may be no end, comes behind those."""
        if size is None or size > 2 * BEGUN:
            begun = max(1, BEGUN - self._rest.skip)
            self._way.mark([begun], [begun], ends={})

    def _may_come_in_steps(self) -> bool:
        """Whether an answer may end before the picture is final: its client says so, or the
        document shows it, and scripts that made it do not wait to read its pixels."""
        job = self.job
        return (
            bool(job.request.takes & (Takes.LEVEL | Takes.STANDS))
            or job.resume is not None
            or self._sender.promising.shows(job.document, job.request.url)
        )

    def _goes_level_by_level(self) -> bool:
        """Whether the device makes a whole file of each level: the import driver found it in an
        <img>, or its client takes one level. Any other goes to the browser byte by byte as it
        comes."""
        return self._takes_one_level or self.job.use is Use.ELEMENT

    @property
    def _takes_one_level(self) -> bool:
        return bool(self.job.request.takes & Takes.LEVEL)

    async def _as_it_is(
        self, response: OriginResponse, content_type: str, begun: bytes, *, soon: bool = False
    ) -> None:
        """The origin's bytes, untouched; `begun` were read already. `soon`: a picture that the link
        carries at once."""
        self._way.head(response, response.headers, length=response.length)
        kind = self._kind or kind_of(content_type)
        outgoing = self._way.open(kind)
        if response.length is not None:
            there = min(self._rest.skip, response.length)
            self._sender.tree.hierarchy.set_size(outgoing.leaf, response.length - there)
            if soon:
                self._mark_whole(response.length - self._rest.skip)
        if kind is Kind.MEDIA:
            self._mark_begun(response.length)
        outgoing.write(self._rest.after(begun))
        url = self.job.request.url
        listener = self._sender.playing.listen(self.job.component, url, kind, response.headers)
        async for chunk in response.body:
            outgoing.write(self._rest.after(chunk))
            if listener is not None and not listener.feed(chunk):
                listener = None
            await outgoing.room()
        self._rest.end()
        self._way.trail(response)
        outgoing.finish()


def _pieces(chunk: bytes, *, first: int) -> Iterator[bytes]:
    """The chunk cut into pieces: one of `first` bytes, the others of PIECE."""
    yield chunk[:first]
    for at in range(first, len(chunk), PIECE):
        yield chunk[at : at + PIECE]

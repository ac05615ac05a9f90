"""Jobs: what is to be delivered, requested by a browser or promised by us. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from remote_proxy.import_drivers.found import BrowserTraits, Found
from remote_proxy.origin.decoder import ACCEPT_ENCODING
from remote_proxy.promises.moved import NextRequest
from remote_proxy.promises.prefetch import Prefetch
from transcoders.text import PLAYLISTS
from transport.sending.incoming import Incoming
from wire import messages as m
from wire.abilities import OF_PAGES
from wire.applications import Application
from wire.continuation import Continuation
from wire.fields import Headers, header
from wire.origin_request import OriginRequest
from wire.skeleton import Kind, Part, Use


@dataclass(frozen=True, slots=True)
class Job:
    """One component to deliver."""

    component: int
    document: int
    request: OriginRequest
    kind: Kind | None = None
    """From the skeleton; None: the response will tell."""
    use: Use = Use.OTHER
    order: int = 0
    width: int = 0
    """CSS pixels in the layout, 0: unknown."""
    height: int = 0
    upload: Incoming | None = None
    promised: bool = False
    resume: Continuation | None = None
    """The local proxy has its beginning already."""
    withheld: bool = False
    """Of a promise: its head goes out alone, for the browser is likely to want no more."""

    @classmethod
    def requested(cls, message: m.Request, headers: Headers, upload: Incoming | None) -> Job:
        """The job that a Request asks for."""
        asked = OriginRequest.of(message, headers)
        part = message.resume.part if message.resume is not None else None
        if message.resume is not None and part is not None and not message.component % 2:
            return cls._promised_before(message, asked, message.resume, part)
        is_document = message.component == message.document
        use = Use.DOCUMENT if is_document else Use.OTHER
        return cls(
            component=message.component,
            document=message.document,
            request=asked,
            kind=Kind.OTHER if message.document == m.BACKGROUND else None,  # never ahead of text
            use=use if part is None else part.use,
            width=part.width if part is not None else 0,
            height=part.height if part is not None else 0,
            upload=upload,
            resume=message.resume,
        )

    @classmethod
    def _promised_before(
        cls, message: m.Request, asked: OriginRequest, resume: Continuation, part: Part
    ) -> Job:
        """What an earlier session promised, as it was then."""
        accept = BrowserTraits(accept=resume.accept).accept_for(part.kind, part.use)
        return cls(
            component=message.component,
            document=message.document,
            request=_unasked(
                *(asked.url, asked.headers),
                accept=accept,
                kind=part.kind,
                treatment=asked.treatment,
                application=asked.application,
            ),
            kind=part.kind,
            use=part.use,
            order=part.order,
            width=part.width,
            height=part.height,
            promised=True,
            resume=resume,
        )

    @classmethod
    def prefetch(
        cls,
        prefetch: Prefetch,
        *,
        component: int,
        document: int,
        treatment: m.Treatment = m.Treatment.ADAPTED,
        application: Application = Application.BROWSER,
        withheld: bool = False,
    ) -> Job:
        """The job of a promise."""
        found = prefetch.found
        return cls(
            component=component,
            document=document,
            request=_unasked(
                *(prefetch.url, prefetch.headers),
                accept=prefetch.accept,
                kind=found.kind,
                treatment=treatment,
                application=application,
            ),
            kind=found.kind,
            use=found.use,
            order=found.order + 1,  # the page itself is 0
            width=found.width,
            height=found.height,
            promised=True,
            withheld=withheld,
        )

    @classmethod
    def moved(cls, before: Job, to: NextRequest, *, component: int) -> Job:
        """The page that another one leads to, in its place."""
        asked = before.request
        request = _unasked(
            *(to.url, to.headers),
            accept=header(asked.headers, "accept"),
            kind=Kind.TEXT,
            treatment=asked.treatment,
            application=asked.application,
        )
        return cls(
            component=component,
            document=before.document,
            request=replace(request, takes=asked.takes & OF_PAGES, kept=asked.kept),
            kind=Kind.TEXT,
            use=Use.DOCUMENT,
            promised=True,
        )

    def placed(self, found: Found) -> Job:
        """The same, known for what its document shows it as."""
        return replace(self, use=found.use, width=found.width, height=found.height)

    @property
    def part(self) -> Part:
        """Its line in the skeleton."""
        return Part(
            self.component,
            self.request.url,
            self.kind or Kind.OTHER,
            self.use,
            self.order,
            self.width,
            self.height,
        )


def _unasked(
    url: str,
    headers: Iterable[tuple[str, str]],
    *,
    accept: str,
    kind: Kind,
    treatment: m.Treatment,
    application: Application,
) -> OriginRequest:
    """The request for what nobody has asked for yet, as a browser would write it."""
    return OriginRequest(
        "GET",
        url,
        [*headers, ("accept", accept), ("accept-encoding", ACCEPT_ENCODING)],
        levels=kind is Kind.IMAGE and treatment is not m.Treatment.ORIGINAL,
        treatment=treatment,
        application=application,
    )


def kind_of(content_type: str) -> Kind:
    """The kind of a component from its media type (essence, lower case)."""
    if content_type == "text/css":
        return Kind.STYLE
    if "javascript" in content_type or "ecmascript" in content_type:
        return Kind.SCRIPT
    if content_type.startswith("image/"):
        return Kind.IMAGE
    if content_type in PLAYLISTS:
        return Kind.TEXT
    if content_type.startswith(("video/", "audio/")):
        return Kind.MEDIA
    if "font" in content_type:
        return Kind.FONT
    if content_type.startswith("text/") or content_type.endswith(("xml", "json")):
        return Kind.TEXT
    return Kind.OTHER


def is_download(job: Job, headers: Headers, content_type: str) -> bool:
    """Whether a browser will put the response away and not show it (RFC 6266, 4.2).

    Of what a window asked for, also what no browser can show. Nobody watches its bytes come.
    """
    disposition = header(headers, "content-disposition").partition(";")[0].strip().lower()
    if disposition:
        return disposition != "inline" and job.document != m.BACKGROUND
    return (
        job.use is Use.DOCUMENT
        and content_type not in ("", "application/pdf")
        and kind_of(content_type) is Kind.OTHER
    )

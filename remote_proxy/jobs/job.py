"""Jobs: what is to be delivered, requested by a browser or promised by us. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from remote_proxy.import_drivers.found import BrowserTraits
from remote_proxy.origin.decoder import ACCEPT_ENCODING
from remote_proxy.promises.prefetch import Prefetch
from transport.sending.incoming import Incoming
from wire import messages as m
from wire.fields import Headers, header
from wire.skeleton import Kind, Part, Use


@dataclass(frozen=True, slots=True)
class Job:
    """One component to deliver."""

    component: int
    document: int
    method: str
    url: str
    headers: Headers
    levels: bool
    """The local proxy can show a picture coarse first."""
    kind: Kind | None = None
    """From the skeleton; None: the response will tell."""
    use: Use = Use.OTHER
    order: int = 0
    width: int = 0
    """CSS pixels in the layout, 0: unknown."""
    height: int = 0
    upload: Incoming | None = None
    promised: bool = False
    tls: bool = False
    """Of a tunnel: TLS is made here."""
    resume: m.Resume | None = None
    """The local proxy has its beginning already."""
    treatment: m.Treatment = m.Treatment.ADAPTED
    """Of a document: holds for what it promises."""
    takes: int = 0
    """What the client takes besides head and body (wire.messages.Takes)."""
    kept: m.Kept | None = None
    """Of a document: what its browser has of its parts."""
    withheld: bool = False
    """Of a promise: its head goes out alone, for the browser is likely to want no more."""

    @classmethod
    def requested(cls, request: m.Request, headers: Headers, upload: Incoming | None) -> Job:
        """The job that a Request asks for."""
        if request.resume is not None and request.resume.part is not None:
            return cls._promised_before(request, headers, request.resume, request.resume.part)
        is_document = request.component == request.document
        return cls(
            component=request.component,
            document=request.document,
            method=request.method,
            url=request.url,
            headers=headers,
            levels=request.levels,
            kind=Kind.OTHER if request.document == m.BACKGROUND else None,  # never ahead of text
            use=Use.DOCUMENT if is_document else Use.OTHER,
            upload=upload,
            tls=request.tls,
            resume=request.resume,
            treatment=request.treatment,
            takes=request.takes,
            kept=request.kept,
        )

    @classmethod
    def _promised_before(
        cls, request: m.Request, headers: Headers, resume: m.Resume, part: Part
    ) -> Job:
        """What an earlier session promised, as it was then."""
        accept = BrowserTraits(accept=resume.accept).accept_for(part.kind, part.use)
        return cls(
            component=request.component,
            document=request.document,
            method="GET",
            url=request.url,
            headers=[*headers, ("accept", accept), ("accept-encoding", ACCEPT_ENCODING)],
            levels=_may_have_levels(part.kind, request.treatment),
            kind=part.kind,
            use=part.use,
            order=part.order,
            width=part.width,
            height=part.height,
            promised=True,
            resume=resume,
            treatment=request.treatment,
        )

    @classmethod
    def prefetch(
        cls,
        prefetch: Prefetch,
        *,
        component: int,
        document: int,
        treatment: m.Treatment = m.Treatment.ADAPTED,
        withheld: bool = False,
    ) -> Job:
        """The job of a promise."""
        found = prefetch.found
        return cls(
            component=component,
            document=document,
            method="GET",
            url=prefetch.url,
            headers=[
                *prefetch.headers,
                ("accept", prefetch.accept),
                ("accept-encoding", ACCEPT_ENCODING),
            ],
            levels=_may_have_levels(found.kind, treatment),
            kind=found.kind,
            use=found.use,
            order=found.order + 1,  # the page itself is 0
            width=found.width,
            height=found.height,
            promised=True,
            treatment=treatment,
            withheld=withheld,
        )

    @property
    def part(self) -> Part:
        """Its line in the skeleton."""
        return Part(
            self.component,
            self.url,
            self.kind or Kind.OTHER,
            self.use,
            self.order,
            self.width,
            self.height,
        )


def _may_have_levels(kind: Kind, treatment: m.Treatment) -> bool:
    return kind is Kind.IMAGE and treatment is not m.Treatment.ORIGINAL


def kind_of(content_type: str) -> Kind:
    """The kind of a component from its media type (essence, lower case)."""
    if content_type == "text/css":
        return Kind.STYLE
    if "javascript" in content_type or "ecmascript" in content_type:
        return Kind.SCRIPT
    if content_type.startswith("image/"):
        return Kind.IMAGE
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

"""Promises: what a document needs is fetched without being asked, and the local proxy told so.

Joins import drivers and prefetch rules (document_import.py) with the tree and the wire. The promise
is said before the first byte of what it promises, so that no request for it crosses the link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from remote_proxy.import_drivers.found import BrowserTraits, Found
from remote_proxy.jobs.job import Job, kind_of
from remote_proxy.origin.client import OriginResponse
from remote_proxy.promises.document_import import HTML_TYPE, DocumentImport, Importer
from remote_proxy.promises.moved import NextRequest, is_own_form, next_request
from remote_proxy.promises.plugged_drivers import PluggedDrivers
from remote_proxy.promises.prefetch import Document, Prefetch
from remote_proxy.promises.protections import TOP, Embedding, shown
from remote_proxy.promises.read_ahead import ReadAhead
from scheduling.commands import Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from web.script_names import NameSearch
from web.sites import origin_of
from wire import messages as m
from wire.abilities import Takes
from wire.fields import REDIRECTS, Headers, header
from wire.names import known_names, name_of, names_in
from wire.session import Session
from wire.skeleton import Kind, Part, Use

MAX_SKELETON: Final = 32_768
"""Bytes of parts in one Skeleton message: half a frame, the shared headers have the rest."""
MAX_SHARED: Final = 16_384
"""Bytes of request headers that promises share; with more of them nothing is promised."""
_NO_TEXT: Final = frozenset((Kind.IMAGE, Kind.MEDIA, Kind.FONT))
_MAKERS: Final = frozenset(("origin", "referer", "sec-fetch-site"))
"""Fields by which a device tells whose request it is. Where the browser's own will have none of
them, as under `no-referrer`, a promise could not be given to it: any page may ask without them."""
PART: Final = 48
"""Bytes of a part besides its URL, generously."""
MAX_MOVES: Final = 4
"""Addresses that lead from one to the next."""
MAX_DOCUMENTS: Final = 32
"""Documents of one page, itself and its frames, that are read for what they need."""
_IN_FRAMES: Final = frozenset(("iframe", "frame", "object", "embed", "fencedframe"))


@dataclass(slots=True)
class _Page:
    """A page with its frames."""

    imports: list[DocumentImport] = field(default_factory=list)
    promised: dict[int, DocumentImport] = field(default_factory=dict)
    """Who asked for each style sheet, module and frame that is promised, by component."""
    told_of_scripts: bool = False
    """Its device wants to know what they can do."""
    cameras: bool = False
    """Its device enlarges sketches of cameras' pictures."""
    whole: set[str] = field(default_factory=set)
    """Origins whose pictures go to a service worker of the page, or of a frame."""
    form: bool = False
    """A form has led to it."""
    moves: dict[int, int] = field(default_factory=dict)
    """How many addresses have led to a page that was promised in its place, by component."""
    components: dict[bytes, int] = field(default_factory=dict)
    """All that is promised to it, by name (wire/names.py): to its device a second one for the same
    is none, whichever frame it would be for, and its bytes would cross for nobody."""


class Promising:
    """The promises of one session."""

    def __init__(
        self,
        session: Session,
        tree: Tree,
        plan: Plan,
        obedience: Obedience,
        *,
        start: Callable[[Job], None],
        may: Callable[[str], bool],
        spare: Callable[[], int],
        drivers: PluggedDrivers,
        whose: Callable[[], str],
    ) -> None:
        """`start` begins a delivery. Whether a URL `may` come unasked, and how many to `spare`.
        `drivers`: import drivers of others; `whose`: names the device to them."""
        self._drivers = drivers
        self._whose = whose
        self._session = session
        self._tree = tree
        self._plan = plan
        self._obedience = obedience
        self._start = start
        self._may = may
        self._spare = spare
        self._pages: dict[int, _Page] = {}
        self.reading = ReadAhead()
        """Of scripts of which devices are to be told."""

    def importer(self, job: Job, response: OriginResponse) -> Importer | None:
        """Who reads a text for sub-resources: pages, and style sheets and modules of documents."""
        read = job.request.method == "GET" or is_own_form(job.request)
        if not read or response.status != 200:
            return None
        essence = header(response.headers, "content-type").partition(";")[0].strip().lower()
        if job.use is Use.DOCUMENT and (essence == HTML_TYPE or self._drivers.wants(essence)):
            return self._document(job, response, essence)
        url = job.request.url
        if essence == "text/css":
            owner = self._owner(job, lambda one: one.links(url))
            return owner.sheet(url, response.headers) if owner is not None else None
        if kind_of(essence) is Kind.SCRIPT:
            owner = self._owner(job, lambda one: one.imports(url)) or self._importing(job)
            return owner.module(url, response.headers) if owner is not None else None
        return None

    def script(self, job: Job) -> NameSearch | None:
        """The search for what reads pixels in a script of which the device is to be told; None: in
        all others."""
        page = self._pages.get(job.document)
        told = page is not None and page.told_of_scripts
        return NameSearch() if told and job.promised and job.kind is Kind.SCRIPT else None

    def goes_on(self, job: Job, response: OriginResponse) -> bool:
        """The answer to a page: promise where it has moved to, if its device wants to know. False:
        it was promised itself, and is no page. Behind a form anything is given: a file that was
        made of it may be had once."""
        page = self._pages.get(job.document)
        moves = page.moves.get(job.component) if page is not None else None
        if job.use is not Use.DOCUMENT or not job.request.takes & Takes.MOVED:
            return True
        if moves is None and job.promised:
            return True  # of a frame
        to = next_request(job.request, response.status, response.headers)
        if to is not None and (moves or 0) < MAX_MOVES and self._may_move(job, to):
            self._move(job, to, (moves or 0) + 1)
        if page is None or moves is None or page.form or response.status in REDIRECTS:
            return True
        essence = header(response.headers, "content-type").partition(";")[0].strip().lower()
        return response.status == 200 and essence == HTML_TYPE

    def _may_move(self, job: Job, to: NextRequest) -> bool:
        page = self._pages.get(job.document)
        if page is not None and name_of(to.url) in page.components:
            return False  # it was there already
        decision = self._plan.decide(0, job.document, Kind.TEXT, Use.DOCUMENT)
        size = sum(len(name) + len(value) for name, value in to.headers)
        return (
            job.request.treatment is m.Treatment.ADAPTED
            and decision.fetch == "push"
            and self._may(to.url)
            and self._spare() > 0
            and size <= MAX_SHARED
        )

    def _move(self, job: Job, to: NextRequest, moves: int) -> None:
        moved = Job.moved(job, to, component=self._session.new_component())
        page = self._pages.setdefault(job.document, _Page())
        page.moves[moved.component] = moves
        if job.request.method == "POST":
            page.form = True
        else:
            page.components.setdefault(name_of(job.request.url), job.component)
        page.components[name_of(to.url)] = moved.component
        self._promise_alike(job.document, [moved], moved.request.headers)

    def cameras(self, document: int) -> bool:
        """Whether the document's device enlarges sketches of cameras' pictures."""
        page = self._pages.get(document)
        return page is not None and page.cameras

    def whole(self, document: int, url: str) -> bool:
        """Whether a picture goes to a service worker of the document, which has to have all of it
        before anybody is shown any of it."""
        page = self._pages.get(document)
        return page is not None and origin_of(url) in page.whole

    def shows(self, document: int, url: str) -> bool:
        """Whether the document itself, or a frame of it, shows this picture; else a script of it
        has asked for it."""
        page = self._pages.get(document)
        return page is not None and any(imports.shows(url) for imports in page.imports)

    def place(self, job: Job, *, pictures: bool) -> Job:
        """What was asked for, as what it is in its document: an <img> whose picture was not
        promised, as of one that is `lazy` or that a script has made, may be coarse first like all
        others. The device, if it knows such `pictures`, is told. Where a frame of the page shows it
        otherwise, nobody knows whose request it is. A script that a script asks for holds nothing
        up."""
        page = self._pages.get(job.document)
        if page is None or job.use is not Use.OTHER:
            return job
        if header(job.request.headers, "sec-fetch-dest") == "script":
            url = job.request.url
            deferred = not any(imports.holds_up(url) for imports in page.imports)
            self._tree.defer_script(job.component, on=deferred)
            return job
        if not pictures or not job.request.levels:
            return job
        for imports in page.imports:
            imports.asked(job.request.url)
        if any(imports.elsewhere(job.request.url) for imports in page.imports):
            return job
        for imports in page.imports:
            if (found := imports.element(job.request.url)) is not None:
                return self._placed(job, found)
        if job.request.takes & Takes.STANDS:
            return self._placed(job, Found(job.request.url, Kind.IMAGE, Use.ELEMENT, job.order))
        return job

    def _placed(self, job: Job, found: Found) -> Job:
        self._session.enqueue(m.Skeleton(job.document, [_told(job, found)], False), [])
        return job.placed(found)

    def _document(self, job: Job, response: OriginResponse, essence: str) -> Importer | None:
        embedding = self._embedding(job)
        if embedding is None or not shown(response.headers, embedding):
            return None
        page = self._pages.setdefault(job.document, _Page())
        page.told_of_scripts |= bool(job.request.takes & Takes.SCRIPTS)
        page.cameras |= bool(job.request.takes & Takes.CAMERAS)
        if job.request.takes & Takes.OWN_WHOLE:
            page.whole.add(origin_of(job.request.url))
        if len(page.imports) >= MAX_DOCUMENTS:
            return None
        known = known_names(job.resume)
        stale: frozenset[bytes] = frozenset()
        kept = job.request.kept
        if kept is not None:
            known |= names_in(kept.fresh)
            stale = names_in(kept.stale)
        document = Document(
            *(job.request.url, job.request.headers, response.headers),
            embedding=embedding,
            window=kept.window if kept is not None else None,
        )
        imports = DocumentImport(
            document,
            lambda wanted: self._promise(job, imports, wanted, known, stale),
            deferred=lambda url, on: self._defer(job.document, url, on=on),
        )
        page.imports.append(imports)
        if not self._drivers.wants(essence):
            return imports.page()

        def found(finds: list[Found]) -> None:
            if self._pages.get(job.document) is page:  # else it was closed meanwhile
                imports.add(finds)

        def plugged(data: bytes, browser: BrowserTraits) -> None:
            url, whose = job.request.url, self._whose()
            self._drivers.read(url, essence, data, browser=browser, whose=whose, found=found)

        return imports.page(plugged, html=essence == HTML_TYPE)

    def _owner(self, job: Job, has: Callable[[DocumentImport], bool]) -> DocumentImport | None:
        """The document that a style sheet or a module belongs to, of those that have it; None: it
        can't be told."""
        page = self._pages.get(job.document)
        if page is None:
            return None
        if (owner := page.promised.pop(job.component, None)) is not None:
            return owner
        owners = [one for one in page.imports if has(one)]
        return owners[0] if len(owners) == 1 else None

    def _importing(self, job: Job) -> DocumentImport | None:
        """The document whose script has asked for a module by itself; None: none has, or one of
        several."""
        page, headers = self._pages.get(job.document), job.request.headers
        asked = header(headers, "sec-fetch-dest"), header(headers, "sec-fetch-mode")
        if page is None or job.promised or asked != ("script", "cors") or len(page.imports) != 1:
            return None
        page.imports[0].import_by_script(job.request.url)
        return page.imports[0]

    def _embedding(self, job: Job) -> Embedding | None:
        """Where a document stands; None: in some frame, of which nothing is known."""
        page = self._pages.get(job.document)
        if page is not None and job.component in page.moves:
            return TOP
        owner = page.promised.pop(job.component, None) if page is not None else None
        if owner is not None:
            return owner.frames.get(job.request.url)
        found: Embedding | None = None
        for imports in (one for page in self._pages.values() for one in page.imports):
            if (one := imports.frames.get(job.request.url)) is not None:
                found = one if found is None else found.stricter(one)
        framed = job.promised or header(job.request.headers, "sec-fetch-dest") in _IN_FRAMES
        return TOP if found is None and not framed else found

    def close_document(self, document: int) -> None:
        """Nothing more is found in it."""
        self._pages.pop(document, None)

    def _promise(
        self, page: Job, asking: DocumentImport, wanted: list[Prefetch], known: frozenset[bytes],
        stale: frozenset[bytes],
    ) -> None:  # fmt: skip
        open_page = self._pages.get(page.document)
        if open_page is not None:
            known = known | open_page.components.keys()
        fresh = [one for one in wanted if name_of(one.url) not in known and self._pushes(page, one)]
        fresh = fresh[: self._spare()]
        jobs = [
            Job.prefetch(
                one,
                component=self._session.new_component(),
                document=page.document,
                treatment=page.request.treatment,
                application=page.request.application,
                withheld=name_of(one.url) in stale,
            )
            for one in fresh
        ]
        if open_page is not None:
            open_page.components.update((name_of(job.request.url), job.component) for job in jobs)
        for one, job in zip(fresh, jobs, strict=True):
            reads = job.kind is Kind.STYLE or job.use is Use.DOCUMENT or asking.imports(one.url)
            if open_page is not None and reads:
                open_page.promised[job.component] = asking
        for headers, same in groupby(jobs, key=lambda job: job.request.headers):
            if sum(len(name) + len(value) for name, value in headers) > MAX_SHARED:
                continue
            for batch in _batches(list(same)):
                self._promise_alike(page.document, batch, headers)

    def _defer(self, document: int, url: str, *, on: bool) -> None:
        page = self._pages.get(document)
        component = page.components.get(name_of(url)) if page is not None else None
        if component is not None:
            self._tree.defer_script(component, on=on)

    def _promise_alike(self, document: int, jobs: list[Job], headers: Headers) -> None:
        """Promises that share their request headers, in a message that fits a frame."""
        self._session.enqueue(m.Skeleton(document, [job.part for job in jobs], True), headers)
        for job in jobs:
            kind = job.kind or Kind.OTHER
            self._obedience.entered(job, kind)
            order = self._obedience.place(job, kind)
            if job.withheld:
                self._tree.hold(job.component, on=True)
            if job.use is Use.DEFERRED:
                self._tree.defer_script(job.component, on=True)
            self._tree.promise(
                *(document, job.component),
                kind=kind.value,
                order=order,
                application=job.request.application,
            )
            self._start(job)

    def _pushes(self, page: Job, prefetch: Prefetch) -> bool:
        """Whether site and plan let it come unasked. Component 0: it has no number yet."""
        found = prefetch.found
        if not any(name in _MAKERS for name, _ in prefetch.headers):
            return False
        if page.request.treatment is m.Treatment.TEXT_ONLY and found.kind in _NO_TEXT:
            return False
        if self._plan.decide(0, page.document, found.kind, found.use).fetch != "push":
            return False
        return self._may(prefetch.url)


def _told(job: Job, found: Found) -> Part:
    """What is said of a component that its device has asked for itself."""
    order = found.order + 1  # the page itself is 0
    return Part(job.component, "", found.kind, found.use, order, found.width, found.height)


def _batches(jobs: list[Job]) -> Iterator[list[Job]]:
    """The jobs in order, cut where their URLs would fill a Skeleton message."""
    batch: list[Job] = []
    size = 0
    for job in jobs:
        size += len(job.request.url) + PART
        if batch and size > MAX_SKELETON:
            yield batch
            batch, size = [], len(job.request.url) + PART
        batch.append(job)
    yield batch

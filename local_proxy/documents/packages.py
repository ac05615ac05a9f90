"""Opens documents by their address: asks the remote for parts, and again when a link has broken.

Joins the uplink with incoming_document.py and whole.py, and tells policies of documents as of
pages. Must not know who shows them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol
from urllib.parse import urldefrag, urljoin, urlsplit

from local_proxy.documents.file_names import file_name
from local_proxy.documents.incoming_document import BROKEN, CHANGED, IncomingDocument, Undo
from local_proxy.documents.sparse_file import Folder, SparseFile
from local_proxy.documents.whole import Whole
from local_proxy.link.components import Component, ComponentFailed
from local_proxy.link.resumption import LOST
from local_proxy.link.session import LocalSession
from local_proxy.link.uplink import Uplink
from local_proxy.requests.ask import TREATMENTS
from local_proxy.sites.sites import Mode
from office.outline import DocumentKind
from policies.api import events as e
from wire.abilities import Takes
from wire.applications import Application
from wire.errors import PeerError
from wire.fields import REDIRECTS, Headers, header
from wire.messages import Package, Raise, Treatment
from wire.origin_request import OriginRequest
from wire.package import Held
from wire.skeleton import Kind, Use

MAX_OPEN: Final = 16
MAX_KEPT: Final = 1 << 30
"""Bytes of all open documents."""
SOON: Final = 1
"""Urgency of the texts of a page that a person looks at."""
MAX_REDIRECTS: Final = 10
_HEADERS: Final[Headers] = [("accept", "*/*"), ("accept-encoding", "identity")]
_TUNNEL: Final = "the remote proxy may not see this site (a tunnel); a browser can fetch it"
_TOO_MANY: Final = "too many documents are open; close one of them"


class OpenObserver(Protocol):
    """Who hears of documents (local_proxy.requests.ask.Observer)."""

    def document_opened(
        self, document: int, url: str, *, save_data: bool, application: Application
    ) -> None: ...
    def component_requested(self, component: Component) -> None: ...


class Answer:
    """A request for a document, and what has come of it."""

    def __init__(
        self, component: Component, application: Application = Application.BROWSER
    ) -> None:
        """`application`: whose document it is; the rest is asked for likewise."""
        self.component = component
        self.application = application
        self.packages: list[tuple[Package, list[Component]]] = []
        component.on_package = lambda *package: self.packages.append(package)

    @property
    def in_parts(self) -> bool:
        """Known when the component has its head."""
        return bool(self.packages)


class Packages:
    """The documents that are open."""

    def __init__(
        self,
        uplink: Uplink,
        folder: Folder,
        observer: OpenObserver,
        *,
        hear: Callable[[e.Event], None],
        close: Callable[[int], None],
        mode: Callable[[str], Mode],
        patience: float,
        undo: Undo,
    ) -> None:
        """`hear`: policies' ears. `close` is told of a document that is over. `mode`: the switch
        of a host. `patience`: seconds to wait for a
        link. `undo` makes bytes of their exact form."""
        self._uplink = uplink
        self._folder = folder
        self._observer = observer
        self._hear = hear
        self._close = close
        self._mode = mode
        self._patience = patience
        self._undo = undo
        self._exact = True
        """No document's pictures have come in forms that can't be undone here."""
        self._open: dict[int, IncomingDocument | Whole] = {}
        """By a number of their own: what brings them may change."""
        self._next = 1
        self._asking: set[asyncio.Task[None]] = set()

    def get(self, number: int) -> IncomingDocument | Whole | None:
        """The document of that number, while it is open."""
        return self._open.get(number)

    async def open(self, url: str) -> tuple[int, IncomingDocument | Whole]:
        """Its number and the document, once it is known what it is. `close` it.

        Raises ComponentFailed.
        """
        if self.full:
            raise ComponentFailed(503, _TOO_MANY)
        number, self._next = self._next, self._next + 1
        for _ in range(MAX_REDIRECTS + 1):
            opened = await self._find(url)
            if not isinstance(opened, str):
                self._open[number] = opened
                return number, opened
            url = opened
        raise ComponentFailed(502, "its address leads in circles")

    def __len__(self) -> int:
        """Documents that are open."""
        return len(self._open)

    @property
    def full(self) -> bool:
        """No more can be opened now."""
        return len(self._open) >= MAX_OPEN or self._kept() > MAX_KEPT

    @property
    def takes(self) -> Takes:
        """What to ask for a document with."""
        takes = Takes.PACKAGE | Takes.VIEWS
        return takes | Takes.EXACT if self._exact else takes

    async def take(self, answer: Answer, headers: Headers) -> tuple[int, IncomingDocument]:
        """The document that somebody else has asked for and that comes in parts. `close` it.

        `headers`: what the rest is asked with, should the link break. Raises ComponentFailed.
        """
        if self.full:
            raise ComponentFailed(503, _TOO_MANY)
        number, self._next = self._next, self._next + 1
        opened = await self._opened(answer.component.url, answer, headers)
        if not isinstance(opened, IncomingDocument):
            raise ComponentFailed(502, BROKEN)
        self._open[number] = opened
        return number, opened

    def close(self, number: int, *, taken: int = 0) -> None:
        """Nobody wants it any more; its file is removed. `taken`: the id of a document that its
        opener ends himself."""
        opened = self._open.pop(number, None)
        if opened is not None:
            opened.close()
            if opened.document != taken:
                self._close(opened.document)
            self._folder.remove(opened.file)

    def close_all(self) -> None:
        """The proxy ends."""
        for task in self._asking:
            task.cancel()
        for number in list(self._open):
            self.close(number)
        self._folder.close()

    # -- one document ----------------------------------------------------------------------------

    async def _find(self, url: str) -> IncomingDocument | Whole | str:
        """What is there, or another address at which it is. Raises ComponentFailed."""
        while True:
            answer = await self._ask(url, _HEADERS, None, Application.OFFICE)
            try:
                head = await answer.component.wait_head()
                location = header(head.headers, "location")
                if head.status in REDIRECTS and location:
                    self._close(answer.component.id)
                    return _redirected(url, location)
                return await self._opened(url, answer, _HEADERS)
            except BaseException as error:
                self._close(answer.component.id)
                if isinstance(error, ComponentFailed) and error.reason == LOST:
                    continue  # where there is no link again in time, asking says so
                raise

    async def _ask(
        self, url: str, headers: Headers, held: Held | None, application: Application
    ) -> Answer:
        """Ask for it in parts. Raises ComponentFailed without a link, or for a tunnel."""
        parts = urlsplit(url)
        mode = self._mode(parts.hostname or "")
        if mode is Mode.TUNNEL and parts.scheme == "https":
            raise ComponentFailed(403, _TUNNEL)
        session = await self._uplink.wait_session(self._patience)
        if session is None:
            raise ComponentFailed(504, "there is no link to the remote proxy")
        request = OriginRequest(
            *("GET", url, headers),
            treatment=TREATMENTS.get(mode, Treatment.ADAPTED),
            takes=self.takes,
            application=application,
        )
        return self._asked(session, request, held)

    def _asked(self, session: LocalSession, request: OriginRequest, held: Held | None) -> Answer:
        id_ = session.new_id()
        component = Component(id_, id_, request.url, Kind.TEXT, Use.DOCUMENT)
        answer = Answer(component, request.application)
        self._observer.document_opened(
            *(id_, request.url), save_data=False, application=request.application
        )
        session.request(component, request, held=held)
        self._observer.component_requested(component)
        self._hear(e.FocusChanged(id_))
        return answer

    async def _opened(self, url: str, answer: Answer, headers: Headers) -> IncomingDocument | Whole:
        component = answer.component
        head = await component.wait_head()
        kind = _kind(answer)
        file = self._new_file(file_name(url, head.headers, kind))
        try:
            if kind is None:
                return Whole(url, file.path.name, file, component)
            incoming = IncomingDocument(
                url,
                file.path.name,
                file,
                look=self._look,
                lost=lambda: self._again(incoming, headers, answer.application),
                undo=self._undo,
            )
            self._bring(incoming, answer)
            await component.wait(lambda: incoming.known or bool(incoming.failure))
            if incoming.failure:
                raise ComponentFailed(502, incoming.failure)
            return incoming
        except BaseException:
            self._folder.remove(file)
            raise

    def _new_file(self, name: str) -> SparseFile:
        try:
            return self._folder.new(name)
        except OSError as error:
            reason = f"there is no place for the document: {error.strerror or error}"
            raise ComponentFailed(507, reason) from error

    def _bring(self, incoming: IncomingDocument, answer: Answer) -> None:
        """What the answer brings is the document, or its rest."""
        incoming.begin(answer.component)
        try:
            for package, components in answer.packages:
                incoming.announced(package, components)
        except PeerError:
            incoming.give_up(BROKEN)
        answer.component.notify()

    def _again(
        self, incoming: IncomingDocument, headers: Headers, application: Application
    ) -> None:
        """Its link is lost: ask for the rest."""
        task = asyncio.ensure_future(self._rest(incoming, headers, application))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _rest(
        self, incoming: IncomingDocument, headers: Headers, application: Application
    ) -> None:
        self._exact &= incoming.exact
        self._close(incoming.document)
        try:
            answer = await self._ask(incoming.url, headers, incoming.held(), application)
            incoming.document = answer.component.id
            await answer.component.wait_head()
        except ComponentFailed as failure:
            if failure.reason == LOST:
                self._again(incoming, headers, application)
            else:
                incoming.give_up(failure.reason)
            return
        if answer.packages:
            self._bring(incoming, answer)
        else:
            incoming.give_up(CHANGED)
        if incoming.failure:
            self._close(incoming.document)

    def _look(self, document: int, components: Sequence[Component]) -> None:
        """A person looks at these."""
        self._hear(e.FocusChanged(document))
        pictures = tuple(one.id for one in components if one.kind is Kind.IMAGE)
        self._hear(e.ScrolledInView(document, pictures))
        session = self._uplink.session
        for component in components:
            if session is not None and component.kind is Kind.TEXT:
                session.say(Raise(component.id, SOON))

    def _kept(self) -> int:
        return sum(opened.received for opened in self._open.values())


def _redirected(url: str, location: str) -> str:
    """RFC 9110, 10.2.2. Raises ComponentFailed where it leads out of the web."""
    try:
        found = urldefrag(urljoin(url, location)).url
        if urlsplit(found).scheme in ("http", "https"):
            return found
    except ValueError:
        pass
    raise ComponentFailed(502, f"it leads to {location[:200]!r}, which is no address of the web")


def _kind(answer: Answer) -> DocumentKind | None:
    if not answer.packages:
        return None
    try:
        return DocumentKind(answer.packages[0][0].kind)
    except ValueError:
        raise ComponentFailed(502, BROKEN) from None

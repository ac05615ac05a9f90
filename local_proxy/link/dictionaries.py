"""The texts of earlier visits, against which the remote may code what comes now.

What crosses as a text is gathered as its document's browser and site may have it again; a request
names what is here that could serve. Which text it was that the remote used its answer says, by the
whole of its digest: one that is not here, or another owner's, is not guessed at. Must not know: the
link, how texts are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urldefrag

from coding.dictionary import TextGathering, clears, may_keep
from coding.owner import TextOwner, owner_of
from coding.text_shelf import TextShelf
from local_proxy.link.components import Component, OriginHead
from wire.abilities import Takes
from wire.fields import header
from wire.origin_request import OriginRequest


@dataclass(frozen=True, slots=True)
class _Page:
    url: str
    place: tuple[str, str]


class Dictionaries:
    """Knows those of one local proxy; they outlive sessions."""

    def __init__(self, shelf: TextShelf) -> None:
        self.shelf = shelf
        self._pages: dict[int, _Page] = {}
        """Open documents."""
        self.spared = 0
        """Bytes of texts that did not cross, since the start: what they are, less what came."""
        self.lost = 0
        """How often one that was named was gone when it was needed."""

    @property
    def kept(self) -> bool:
        """Whether any are."""
        return self.shelf.max_bytes > 0

    def opened(self, document: int, url: str, *, place: tuple[str, str] | None) -> None:
        """A navigation. `place`: browser and partition; None: nobody can be told by it, so nothing
        of the document is kept."""
        if place is not None and self.kept:
            self._pages[document] = _Page(urldefrag(url).url, place)

    def closed(self, document: int) -> None:
        """The document is gone; its texts stay."""
        self._pages.pop(document, None)

    def names(self, component: Component, request: OriginRequest) -> bytes:
        """What to name in this request: of a document all that its parts could use, of anything
        else its own last version. A form's page may come without being asked for."""
        owner = self._owner(component, request)
        if owner is None or not (request.repeatable or request.takes & Takes.MOVED):
            return b""
        if component.id == component.document:
            offered = self.shelf.offer(owner, self._pages[component.document].url)
        else:
            latest = self.shelf.latest(component.url, owner)
            offered = [] if latest is None else [latest]
        return b"".join(text.name for text in offered)

    def find(self, digest: bytes, component: Component, request: OriginRequest) -> bytes | None:
        """The text that an answer was coded against; None: it is not here, or not to be used."""
        owner = self._owner(component, request)
        text = None if owner is None else self.shelf.find(digest, owner)
        data = None if text is None else text.text()
        if text is not None and data is None:  # damaged: nobody is to name it again
            self.shelf.forget(lambda one: one is text)
        if text is None or data is None:
            self.lost += 1
            return None
        self.shelf.used(text, page=self._pages[component.document].url)
        return data

    def begin(
        self, component: Component, request: OriginRequest, head: OriginHead, *, text: bool
    ) -> TextGathering | None:
        """An answer begins; None: it is no `text`, or not to be kept."""
        owner = self._owner(component, request)
        if owner is None:
            return None
        if clears(head.headers):
            self.shelf.forget(lambda one: one.owner.origin == owner.origin)
        keep = text and may_keep(request, head.status, head.headers)
        return TextGathering() if keep else None

    def keep(
        self, component: Component, request: OriginRequest, gathering: TextGathering, *, came: int
    ) -> None:
        """All of a text is here, and it came to its end, as so many bytes."""
        owner, head = self._owner(component, request), component.head
        if owner is None or head is None:
            return
        media = header(head.headers, "content-type").partition(";")[0].strip().lower()
        page = self._pages[component.document].url
        url = urldefrag(component.url).url
        own = url if component.id == component.document or component.moved else page
        text = gathering.finish(owner, url, media=media, page=own)
        if text is not None:
            if component.dictionary:
                self.spared += max(0, text.size - came)
            self.shelf.keep(text)

    def _owner(self, component: Component, request: OriginRequest) -> TextOwner | None:
        page = self._pages.get(component.document)
        if page is None:
            return None
        return owner_of(component.url, request.headers, place=page.place)

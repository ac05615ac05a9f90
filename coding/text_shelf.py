"""The texts that one end keeps: the latest, in so many bytes. Pure; both ends use it.

A text is found by its digest, or by what of it the far side has; of several those nearest to an
address: the same one's last version, else the likest of its kind.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from coding.dictionary import Dictionary
from coding.owner import TextOwner

MAX_OFFERED: Final = 24
"""Texts that a device names for a page: 144 bytes of its way up."""
_PAGES: Final = 3
"""Of these, other pages of the same origin."""
NEAREST: Final = 3
"""Texts that are tried: what addresses say is a guess."""
MAX_TEXTS: Final = 2048
"""However small they are: each answer looks through them."""
_SHARED: Final = 2
"""Characters that two file names have in common to be versions of one another, at least."""

Key = tuple[bytes, TextOwner]
"""The same bytes of two owners are two texts."""


class TextShelf:
    """Kept texts, those used last at the end."""

    def __init__(
        self,
        *,
        max_bytes: int,
        places: int = 1,
        kept: Callable[[Dictionary], None] = lambda dictionary: None,
        dropped: Callable[[Dictionary], None] = lambda dictionary: None,
    ) -> None:
        """`max_bytes`: of all, packed, with what they are named by; those of one place (a site, in
        one browser) take that divided by `places` at most, so that no site drives out all others.
        `kept` and `dropped` are told of each that comes, or is used by another page, and of each
        that goes."""
        self.max_bytes = max_bytes
        self.bytes = 0
        self._places = places
        self._of_place: Counter[tuple[str, str]] = Counter()
        """Bytes of each."""
        self._kept = kept
        self._dropped = dropped
        self._texts: OrderedDict[Key, Dictionary] = OrderedDict()
        self._by_url: dict[tuple[str, TextOwner], Key] = {}
        """The last version of each address."""

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[Dictionary]:
        return iter(list(self._texts.values()))

    def restore(self, texts: Iterable[Dictionary]) -> None:
        """Take in the texts of an earlier run, the latest last; nobody is told."""
        for text in texts:
            self._put(text)
        self._shrink()

    def keep(self, text: Dictionary) -> None:
        """One more. Of an address the last version alone is kept."""
        before = self._by_url.get((text.url, text.owner))
        if before is not None and before != (text.digest, text.owner):
            self._drop(before)
        self._put(text)
        self._kept(text)
        self._hold_to_share(text.owner.place)
        self._shrink()

    def used(self, text: Dictionary, *, page: str) -> None:
        """A page uses it, or what was coded against it."""
        if (key := (text.digest, text.owner)) in self._texts:
            self._texts.move_to_end(key)
            if text.page != page:
                self._texts[key] = text.used_by(page)
                self._kept(self._texts[key])

    def find(self, digest: bytes, owner: TextOwner) -> Dictionary | None:
        """The text with that digest, if it is that owner's."""
        return self._texts.get((digest, owner))

    def latest(self, url: str, owner: TextOwner) -> Dictionary | None:
        """The last version of an address."""
        key = self._by_url.get((url, owner))
        return None if key is None else self._texts[key]

    def forget(self, matches: Callable[[Dictionary], bool]) -> int:
        """Let go of those; how many."""
        keys = [key for key, text in self._texts.items() if matches(text)]
        for key in keys:
            self._drop(key)
        return len(keys)

    def offer(self, owner: TextOwner, url: str) -> list[Dictionary]:
        """What a device names when it asks for a page: the page's last version and its parts, a few
        other pages of its origin, then what others under the same site use; the latest first.

        Parts may be of other origins and credentials than the page: whoever codes looks at these.
        """
        own: list[Dictionary] = []
        pages: list[Dictionary] = []
        others: list[Dictionary] = []
        for text in reversed(self._texts.values()):
            if text.owner.place != owner.place:
                continue
            if url in (text.page, text.url):
                own.append(text)
            elif not text.is_page:
                others.append(text)
            elif text.owner == owner and len(pages) < _PAGES:
                pages.append(text)
        return [*own, *pages, *others][:MAX_OFFERED]

    def nearest(
        self, url: str, media: str, owner: TextOwner, *, names: Collection[bytes]
    ) -> list[Dictionary]:
        """Find what an answer may best be coded against, of its owner's that the far side named:
        the same address' last version alone, or the NEAREST likest ones, the latest of equals
        first."""
        latest = self.latest(url, owner)
        if latest is not None and latest.name in names:
            return [latest]
        alike = [
            (likeness, text)
            for text in reversed(self._texts.values())
            if text.owner == owner
            and text.media == media
            and text.name in names
            and (likeness := _likeness(url, text.url))
        ]
        alike.sort(key=lambda one: -one[0])
        return [text for _, text in alike[:NEAREST]]

    def _put(self, text: Dictionary) -> None:
        key = (text.digest, text.owner)
        before = self._texts.pop(key, None)
        if before is not None:
            self._count(before, -1)
            self._by_url.pop((before.url, before.owner), None)
        self._texts[key] = text
        self._count(text, 1)
        self._by_url[text.url, text.owner] = key

    def _drop(self, key: Key) -> None:
        text = self._texts.pop(key)
        self._count(text, -1)
        if self._by_url.get((text.url, text.owner)) == key:
            del self._by_url[text.url, text.owner]
        self._dropped(text)

    def _count(self, text: Dictionary, sign: int) -> None:
        self.bytes += sign * text.cost
        self._of_place[text.owner.place] += sign * text.cost
        if not self._of_place[text.owner.place]:
            del self._of_place[text.owner.place]

    def _hold_to_share(self, place: tuple[str, str]) -> None:
        over = self._of_place[place] - self.max_bytes // self._places
        if over <= 0:
            return
        for key, text in list(self._texts.items()):
            if text.owner.place == place:
                self._drop(key)
                over -= text.cost
                if over <= 0:
                    return

    def _shrink(self) -> None:
        while self._texts and (self.bytes > self.max_bytes or len(self._texts) > MAX_TEXTS):
            self._drop(next(iter(self._texts)))


def _likeness(url: str, other: str) -> int:
    """How much alike two addresses of one origin are: by their folders, then by their names; 0:
    files whose names have nothing in common, as a site's other scripts."""
    one, two = urlsplit(url), urlsplit(other)
    folder, _, name = one.path.rpartition("/")
    other_folder, _, other_name = two.path.rpartition("/")
    common = _common(folder.split("/"), other_folder.split("/"))
    names = _common(name, other_name)
    page = "." not in name or name.endswith((".html", ".htm", ".php"))
    if not page and names < _SHARED:
        return 0
    return 1 + 100 * common + min(names, 99)


def _common(one: Sequence[str], two: Sequence[str]) -> int:
    """How many of them are the same from the beginning."""
    same = 0
    for mine, theirs in zip(one, two, strict=False):
        if mine != theirs:
            break
        same += 1
    return same

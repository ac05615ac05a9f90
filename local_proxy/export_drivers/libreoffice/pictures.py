"""Which picture is to be made better next, and what is shown of each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from office.outline import DocumentKind
from office.source import Source


@dataclass(frozen=True, slots=True)
class Next:
    """A picture whose better version is here and not shown yet."""

    number: int
    final: bool


class Pictures:
    """The pictures of one document, in the order in which a reader meets them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._marks: Mapping[int, str] = dict.fromkeys(range(1, self.of + 1), "")
        self._coarse: set[int] = set()
        self.places: dict[str, tuple[int, ...]] = {}
        """Entries that LibreOffice shows as stand-ins, and the pages where."""
        self.unsure = False
        """Something could not be shown: only the complete file has it."""
        self.swept = False

    @property
    def of(self) -> int:
        return len(self._source.outline.media)

    @property
    def done(self) -> int:
        """As in the original."""
        return self.of - len(self._marks)

    def opened(self, marks: Mapping[int, str], places: Mapping[str, Sequence[int]]) -> None:
        """A view has been opened; `places` has, by number, the pages that show stand-ins."""
        self._marks = dict(marks)
        self._coarse = set()
        self.unsure = any(str(n) not in places and self._is_shown(n) for n in marks)
        self.places = {
            marks[int(number)]: tuple(page for page in places[number] if page)
            for number in places
            if int(number) in marks
        }

    def _is_shown(self, number: int) -> bool:
        """Whether the document uses it, as far as is known; slides tell, texts don't."""
        media = self._source.outline.media[number - 1]
        if self._source.outline.kind is DocumentKind.PPTX:
            return bool(media.pages)
        return not media.entry.startswith("Thumbnails/")

    def entry(self, number: int) -> str:
        return self._source.outline.media[number - 1].entry

    def next(self, wanted: Collection[str]) -> Next | None:
        """The one that is due: those `wanted` first, final before coarse ones nobody looks at."""
        due = [found for number in self._marks if (found := self._due(number)) is not None]
        return min(
            due, key=lambda one: (self.entry(one.number) not in wanted, one.final, one.number),
            default=None,
        )  # fmt: skip

    def _due(self, number: int) -> Next | None:
        entry = self.entry(number)
        if self._source.present(entry):
            return Next(number, final=True)
        if number not in self._coarse and self._source.low(entry) is not None:
            return Next(number, final=False)
        return None

    def shown(self, number: int, *, final: bool) -> None:
        self._coarse.add(number)
        if final:
            self._marks = {n: entry for n, entry in self._marks.items() if n != number}

    def lost(self, number: int, *, final: bool = True) -> None:
        """It can't be shown: a coarse one is passed over, an original needs the whole file."""
        self.unsure = self.unsure or final
        self.shown(number, final=final)

    def sweep(self, places: Mapping[str, Sequence[int]]) -> bool:
        """Have what is still coarse somewhere shown once more; whether there is any."""
        self.swept = True
        numbers = {int(number) for number in places if 0 < int(number) <= self.of}
        self._marks = {number: self.entry(number) for number in sorted(numbers)}
        return bool(self._marks)

"""Which part is which slide, and how a deck is shown (Office Open XML).

Pure. Source: ECMA-376-1, 19.2.1.34 (the list of slides).
"""

from __future__ import annotations

from office.outline import Outline
from office.preview.markup import Pictures
from office.preview.parts import Parts
from office.preview.slide import Slide, size_of
from office.preview.tree import children, descendant, qualified


class Deck:
    """The pages of one presentation."""

    def __init__(self, parts: Parts, outline: Outline, pictures: Pictures) -> None:
        self._parts = parts
        self._outline = outline
        self._pictures = pictures

    def size(self) -> tuple[float, float]:
        """Width and height, in any unit."""
        return size_of(self._parts.tree(self._main()))

    def blocks(self, page: int) -> list[str]:
        """HTML of a page, from 1; empty while its text is not here."""
        name = self._slide(page)
        if not name:
            return []
        return Slide(self._parts, name, size=self.size(), pictures=self._pictures).blocks()

    def forget(self) -> None:
        """There is nothing to forget."""

    def _main(self) -> str:
        return self._parts.related("", "officeDocument") or "ppt/presentation.xml"

    def _slide(self, page: int) -> str:
        """By the parts that are for this page; where they leave a choice, by the list of slides."""
        entries = self._outline.pages[page - 1].entries
        named = [name for name in entries if "/slides/" in name and name.endswith(".xml")]
        if len(named) == 1:
            return named[0]
        slides = self._slides()
        return slides[page - 1] if len(slides) >= page else ""

    def _slides(self) -> list[str]:
        main = self._main()
        relations = self._parts.relations(main)
        list_ = descendant(self._parts.tree(main), "sldIdLst")
        found = []
        for one in children(list_, "sldId"):
            relation = relations.get(qualified(one, "relationships", "id"))
            if relation is not None and self._parts.has(relation.target):
                found.append(relation.target)
        return found

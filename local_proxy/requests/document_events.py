"""Tells whoever keeps something of a document that its window is gone. Pure.

A page says so itself, a preview is left, a policy's patience ends: whichever notices, all are told,
in the order in which they asked to be. They know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Callable

Hear = Callable[[int], object]


class DocumentEvents:
    """The end of documents."""

    def __init__(self) -> None:
        self._heard: list[Hear] = []

    def on_close(self, *hear: Hear) -> None:
        """Call these with the id of each document that closes. They must not raise."""
        self._heard += hear

    def close(self, document: int) -> None:
        """The document's window is gone."""
        for hear in self._heard:
            hear(document)

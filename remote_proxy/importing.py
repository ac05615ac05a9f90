"""From a document's bytes to promises: runs an import driver and plans what is fetched unasked."""

from __future__ import annotations


class Importer:
    def feed(self, data: bytes) -> None: ...
    def close(self) -> None: ...

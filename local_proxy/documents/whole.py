"""A document, or any file, that comes as it is, into a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from local_proxy.documents.sparse_file import SparseFile
from local_proxy.kept.threads import DOCUMENTS
from local_proxy.link.components import Component, ComponentFailed, OriginHead


class Whole:
    """One file from its first byte to its last."""

    def __init__(self, url: str, name: str, file: SparseFile, component: Component) -> None:
        assert component.head is not None
        self.url = url
        self.name = name
        self.file = file
        self.document = component.id
        self.length = component.head.length
        """Bytes; None: not known yet."""
        self.complete = False
        self.failure = ""
        self.sha256 = b""
        """Of the file, once it is complete."""
        self._watchers: list[Callable[[], None]] = []
        self._task = asyncio.ensure_future(self._write(component, component.head))

    @property
    def received(self) -> int:
        """Bytes of the file that are here."""
        return self.file.there.size

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after anything above has changed; what is returned ends that."""
        self._watchers.append(changed)

        def unwatch() -> None:
            if changed in self._watchers:
                self._watchers.remove(changed)

        return unwatch

    def close(self) -> None:
        """Nobody wants it any more."""
        self._watchers.clear()
        self._task.cancel()

    async def _write(self, component: Component, head: OriginHead) -> None:
        at = 0
        try:
            async for chunk in component.read():
                self.file.write(at, chunk)
                at += len(chunk)
                self._tell()
            self.sha256 = await DOCUMENTS.run(self.file.sha256)
        except ComponentFailed as failure:
            self.failure = failure.reason
        except OSError as error:
            self.failure = f"it could not be kept: {error.strerror or error}"
        else:
            self.length = at
            self.complete = head.status == 200
            self.failure = "" if self.complete else f"the server answered {head.status}"
        self._tell()

    def _tell(self) -> None:
        for changed in tuple(self._watchers):
            changed()

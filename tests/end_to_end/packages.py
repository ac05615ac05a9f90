"""Documents that are opened over the pair, to their end."""

from __future__ import annotations

from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.documents.whole import Whole
from tests.end_to_end.pair import (
    FakeOrigin,
    Pair,
    until,
)

TYPE = "application/octet-stream"


async def opened(
    origin: FakeOrigin, both: Pair, data: bytes, name: str
) -> tuple[int, IncomingDocument]:
    origin.serve(f"/{name}", data, TYPE)
    number, document = await both.local.packages.open(f"{origin.base}/{name}")
    assert isinstance(document, IncomingDocument)
    return number, document


async def ended(document: IncomingDocument | Whole) -> None:
    await until(lambda: document.complete or bool(document.failure))


def content(document: IncomingDocument | Whole) -> bytes:
    return document.file.path.read_bytes()

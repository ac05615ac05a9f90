"""Office documents in parts over the pair: readable early, byte-identical at the end."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from local_proxy.packages.incoming import Incoming
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run
from tests.watched import until

DOCUMENTS = Path(os.environ.get("SLUICE_DOCUMENTS", Path(__file__).parents[1] / "data" / "office"))
FILES = sorted(path for path in DOCUMENTS.iterdir() if path.suffix not in (".py", "", ".md"))


async def opened(origin: FakeOrigin, both: Pair, data: bytes, name: str) -> tuple[int, Incoming]:
    origin.serve(f"/{name}", data, "application/octet-stream")
    number, document = await both.local.packages.open(f"{origin.base}/{name}")
    assert isinstance(document, Incoming)
    return number, document


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_document_comes_in_parts_and_is_the_same_file(path: Path) -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            data = path.read_bytes()
            number, document = await opened(origin, both, data, path.name)
            await until(lambda: document.complete or bool(document.failure))
            assert not document.failure
            assert document.path.read_bytes() == data
            assert document.sha256 == hashlib.sha256(data).digest()
            assert document.path.suffix == path.suffix
            assert all(document.present(entry.name) for entry in document.directory.entries)
            both.local.packages.close(number)
            assert not document.path.exists()

    run(main())

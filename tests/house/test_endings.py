"""Programs that we start are ended in tasks that may be cancelled already. There asyncio.timeout
raises no TimeoutError before Python 3.11.4 (Debian 12 has 3.11.2), so who asks a program to end and
waits for it that way never comes to kill it. asyncio.wait with a timeout does."""

from __future__ import annotations

import ast

import pytest

from tests.house.test_rooms import ROOT, TABLE

PACKAGES = sorted({room.split(".")[0] for room in TABLE} | {"bench"})
ASKS = (".terminate()", ".send_signal(", "os.killpg(")
WRONG = """
async def end(process):
    process.terminate()
    try:
        async with asyncio.timeout(3):
            await process.wait()
    except TimeoutError:
        process.kill()
"""


def asks_and_waits(source: str) -> list[str]:
    """Functions that do both."""
    functions = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.AsyncFunctionDef)
    )
    texts = ((node.name, ast.unparse(node)) for node in functions)
    return [
        name
        for name, text in texts
        if "asyncio.timeout(" in text and any(asked in text for asked in ASKS)
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_who_is_asked_to_end_is_not_waited_for_by_asyncios_timeout(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    places = {str(path.relative_to(ROOT)): asks_and_waits(path.read_text()) for path in files}
    assert {path: names for path, names in places.items() if names} == {}


def test_it_would_be_noticed() -> None:
    assert asks_and_waits(WRONG) == ["end"]
    assert asks_and_waits(WRONG.replace("asyncio.timeout(3)", "elsewhere()")) == []

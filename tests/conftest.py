"""Settings of all tests: how long one takes says nothing but how busy the machine is."""

import gc
from typing import Any

import pytest
import structlog
from hypothesis import settings

settings.register_profile("sluice", deadline=None)
settings.load_profile("sluice")


_configure = structlog.configure


def configure(*words: Any, **more: Any) -> None:
    """No logger keeps how a command that ran in this process before has it write."""
    _configure(*words, **{**more, "cache_logger_on_first_use": False})


structlog.configure = configure


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--without-floors",
        action="store_true",
        help="leave out the tests that `make coverage` (tests/house/floors.py) runs",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--without-floors"):
        from tests.house import floors  # it reads every test

        again = set(floors.suites())
        left_out: list[pytest.Item] = []
        kept: list[pytest.Item] = []
        for one in items:
            spared = one.path in again and not one.get_closest_marker("long")
            (left_out if spared else kept).append(one)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection_finish() -> None:
    """All modules stay to the end: who collects garbage after a test, as tests.watched does, need
    not look through them again each time, which took .2 s."""
    gc.collect()
    gc.freeze()

"""A network namespace of a test's own, where one can be made."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import count

import pytest

from emulation.worlds.netns import NoNamespaces, end, ip, require_root

SERIAL = count()


@contextlib.contextmanager
def new_space() -> Iterator[str]:
    """Its name; skips where there can be none."""
    name = f"sluice-{os.getpid()}-{next(SERIAL)}-spacetest"
    try:
        require_root()
        ip("netns", "add", name)
    except (NoNamespaces, OSError) as error:
        pytest.skip(str(error))
    try:
        yield name
    finally:
        end(name)

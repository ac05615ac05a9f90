"""Which release this is. `pyproject.toml` says the same, which a test keeps so."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"

"""Errors with which msgspec ends at bytes that are not what they should be."""

from __future__ import annotations

from typing import Final

import msgspec

MALFORMED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The second for strings that are no UTF-8, the third for what is nested too deep, though it is
nothing that was asked for."""

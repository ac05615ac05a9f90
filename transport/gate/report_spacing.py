"""How often a receiver reports its progress: what both ends of a direction know of it.

Pure: numbers only.
"""

from __future__ import annotations

from typing import Final

REPORT_EVERY: Final = 0.005
"""Seconds between reports at least (measured: longer than the gate's target halves goodput)."""
REPORT_EVERY_THIN: Final = 0.020
"""Seconds; with TCP and IP around it a report is 48 bytes, 200/s would fill 77 kbit/s."""
THIN: Final = 12_500.0
"""Bytes/second (100 kbit/s) in either direction below which a link is thin."""

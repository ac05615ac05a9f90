"""The settings by which this proxy begins an HTTP/2 connection (RFC 9113, 6.5.2; RFC 9218)."""

from __future__ import annotations

from typing import Final, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from local_proxy.http.request_rules import MAX_HEAD

MAX_STREAMS: Final = 256
"""Streams at a time: as many as Chromium ever opens on one connection."""
CONNECTION_WINDOW: Final = MAX_STREAMS * 65536
"""Bytes of request bodies unread at most. All streams can be stalled, and none stops another."""
_NO_RFC7540_PRIORITIES: Final = 0x9
"""SETTINGS parameter (RFC 9218, 2.1)."""


def server_side(*, websockets: bool = True) -> H2Connection:
    """h2's end of a connection, nothing said yet. `websockets`: they may be asked for on it."""
    config = H2Configuration(
        client_side=False,
        header_encoding=None,
        validate_inbound_headers=False,  # head.py does, a stream at a time
        normalize_inbound_headers=False,
        validate_outbound_headers=False,
        normalize_outbound_headers=False,
    )
    http = H2Connection(config)
    settings: dict[int, int] = {
        SettingCodes.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
        SettingCodes.MAX_HEADER_LIST_SIZE: 2 * MAX_HEAD,
        SettingCodes.ENABLE_CONNECT_PROTOCOL: int(websockets),  # RFC 8441, 3
        _NO_RFC7540_PRIORITIES: 1,
    }
    http.local_settings = Settings(
        client=False, initial_values=cast(dict[SettingCodes, int], settings)
    )
    http.decoder.max_header_list_size = 2 * MAX_HEAD
    return http

"""Hears from the kernel that the network has changed: an address gone, a route or link come up.

A link whose address is gone need not wait for its timers, and one that waits for a connection need
not wait for its back-off. Linux only (rtnetlink(7)); elsewhere timers have to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_GROUPS: Final = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
"""RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE."""
_RTM_NEWLINK: Final = 16
_RTM_NEWADDR: Final = 20
_RTM_DELADDR: Final = 21
_RTM_NEWROUTE: Final = 24
_IFA_ADDRESS: Final = 1
_IFA_LOCAL: Final = 2
_HEADER: Final = struct.Struct("=IHHII")
_IFADDRMSG: Final = struct.Struct("=BBBBI")
_ATTRIBUTE: Final = struct.Struct("=HH")
_READ: Final = 65_536


class Change(NamedTuple):
    """What the kernel said."""

    gone: str
    """An address that this machine no longer has; "": something has come."""


def changes(data: bytes) -> Iterator[Change]:
    """The changes in a datagram of the kernel; what does not parse ends it."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size or at + length > len(data):
            return
        body = data[at + _HEADER.size : at + length]
        if kind == _RTM_DELADDR:
            address = _address(body)
            if address:
                yield Change(address)
        elif kind in (_RTM_NEWLINK, _RTM_NEWADDR, _RTM_NEWROUTE):
            yield Change("")
        at += (length + 3) & ~3


def _address(body: bytes) -> str:
    """The address in an ifaddrmsg: IFA_LOCAL, or IFA_ADDRESS where there is no peer."""
    found: dict[int, bytes] = {}
    at = _IFADDRMSG.size
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = body[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3
    raw = found.get(_IFA_LOCAL) or found.get(_IFA_ADDRESS) or b""
    try:
        return str(ipaddress.ip_address(raw))
    except ValueError:
        return ""


class InterfaceWatch:
    """Tells of changes until closed. Without rtnetlink it never tells of any."""

    def __init__(self, on_change: Callable[[Change], None]) -> None:
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        with contextlib.suppress(OSError, AttributeError):  # not Linux, or not allowed here
            netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            netlink.setblocking(False)
            try:
                netlink.bind((0, _GROUPS))
            except OSError:
                netlink.close()
                raise
            self._socket = netlink
            self._loop.add_reader(netlink, self._readable)

    def close(self) -> None:
        """Tell of nothing more."""
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _readable(self) -> None:
        assert self._socket is not None
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError:  # ENOBUFS: more changes than were read; the next ones will do
            self._on_change(Change(""))
            return
        for change in changes(data):
            self._on_change(change)

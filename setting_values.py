"""The values of settings: their types, and what each looks like in words."""

from __future__ import annotations

import os
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from msgspec import Meta

Address = Annotated[str, Meta(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^:\[\]\s]+):\d{1,5}$")]
"""host:port, [v6]:port; port 0 takes a free one."""


_ONE: Final = r"(\[[0-9a-fA-F:.]+\]|[^:,\[\]\s]+):\d{1,5}"
Addresses = Annotated[str, Meta(pattern=rf"^{_ONE}(\s*,\s*{_ONE})*$")]
"""host:port, or several, separated by commas."""


HostPattern = Annotated[str, Meta(pattern=r"^(\*|(\*\.)?[0-9A-Za-z._:-]+)$")]
"""bank.example, *.bank.example (bank.example too), *."""


Interface = Annotated[str, Meta(pattern=r"^[^/\s]{1,15}$")]
"""As the kernel names it (netdevice(7))."""


ByteSize = Annotated[str, Meta(pattern=r"^\d{1,6}(\.\d{1,3})? ?(kB|MB|GB|TB)$")]
"""2 GB, 1.5 MB: as operators count."""


Role = Literal["use", "spare", "metered"]
"""What an interface is there for (transport/paths/terms.py)."""


PathCongestion = Literal["bottleneck", "newreno", "background"]
"""Of what comes over an interface (transport/paths/terms.py)."""


Seconds = Annotated[float, Meta(ge=0, le=3600)]


SiteMode = Literal["adapt", "saver", "original", "text-only", "tunnel"]
"""What becomes of a site (local_proxy/sites/sites.py)."""


Processes = Literal["auto"] | Annotated[int, Meta(ge=1, le=64)]
"""How many there are to be; auto: see `how_many`."""


class SettingsError(Exception):
    """A setting is wrong; the text names the key and what it may be."""


def form(hint: Any) -> str:
    """What values of a type look like; empty where msgspec's own words will do."""
    if hint is None:
        return ""
    if hint == Address or Address in get_args(hint):
        return "HOST:PORT or [IPv6]:PORT, such as 127.0.0.1:8118"
    if Addresses in get_args(hint):
        return "HOST:PORT or [IPv6]:PORT, several separated by commas"
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    if ByteSize in get_args(hint) and get_origin(hint) is not dict:
        return 'a size such as "20 MB", "1.5 GB"'
    if hint == Processes:
        return "a number of processes, 1 to 64, or auto"
    if hint == dict[HostPattern, Seconds]:
        return 'a table of seconds by host: "*.news.example" = 5, 0 to 3600'
    if hint == dict[Interface, ByteSize]:
        return 'a table of sizes by interface: wwan0 = "2 GB", "500 MB"'
    if hint == dict[Interface, Role]:
        return f"a table of interfaces, each {', '.join(get_args(Role))}"
    if hint == dict[Interface, PathCongestion]:
        return f"a table of interfaces, each {', '.join(get_args(PathCongestion))}"
    if hint == list[HostPattern]:
        return "a list of hosts: name, *.name or *"
    if hint == dict[HostPattern, SiteMode]:
        return f"a table of hosts (name, *.name or *), each {', '.join(get_args(SiteMode))}"
    return ""


def how_many(processes: Processes) -> int:
    """`auto`: as many as there are processors for this program."""
    if processes != "auto":
        return processes
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split_address(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[v6]:port"."""
    host, _, port = address.rpartition(":")
    number = int(port)
    if number > 65535:
        raise SettingsError(f"{address}: a port is at most 65535")
    return host.strip("[]"), number

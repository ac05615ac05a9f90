"""Tells what a browser asks for on its own account, while a page loads, from the page's requests.

Chromium looks for updates, warms up its search engine and more, headless too; through a proxy that
costs bytes of the link under test. VENDOR_HOSTS in bench/browsers/cdp.py keeps what is known of
that off the link; this counts all of it, from Chromium's own net log, so that what is not known
shows. Pure. Format: https://www.chromium.org/developers/design-documents/network-stack/netlog/"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

FLAG: Final = "--log-net-log="
"""Chromium writes the log to the file named after it, whole once it has left."""


def chatter(log: dict[str, Any], *, page: Collection[str]) -> dict[str, Any]:
    """Counts of what went to others than `page`, the hosts (with ports) that the page itself asked.

    `requests`: all, most of which fail, since their hosts are not to be found; `through_proxy`:
    connections and requests that the proxy saw; `bytes`: what these sent and received.
    """
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    requests: dict[str, set[int]] = defaultdict(set)
    streams: dict[int, str] = {}
    proxied: set[int] = set()
    jobs: dict[int, str] = {}
    sockets: dict[int, int] = {}
    size: dict[int, int] = defaultdict(int)
    for event in log["events"]:
        source, params = event["source"]["id"], event.get("params", {})
        match names.get(event["type"], ""):
            case "URL_REQUEST_START_JOB" if "url" in params:
                requests[_host(params["url"])].add(source)
            case "HTTP_STREAM_JOB_CONTROLLER" if "url" in params:
                streams[source] = _host(params["url"])
            case "PROXY_RESOLUTION_SERVICE_RESOLVED_PROXY_LIST":
                if not params.get("proxy_info", "DIRECT").startswith("DIRECT"):
                    proxied.add(source)
            case "SOCKET_POOL_CONNECT_JOB_CREATED":
                jobs[source] = _host(params.get("group_id", "").split(" ", 1)[0])
            case "SOCKET_ALIVE" if "source_dependency" in params:
                sockets[source] = params["source_dependency"]["id"]
            case "SOCKET_BYTES_SENT" | "SOCKET_BYTES_RECEIVED":
                size[source] += params.get("byte_count", 0)
    through = [host for source, host in streams.items() if source in proxied and host not in page]
    foreign = {host for host in through if host}
    return {
        "requests": sum(len(ids) for host, ids in requests.items() if host and host not in page),
        "hosts": sorted(host for host in {*requests, *foreign} if host and host not in page),
        "through_proxy": len(through),
        "bytes": sum(
            count for source, count in size.items() if jobs.get(sockets.get(source, -1)) in foreign
        ),
    }


def read(file: Path) -> dict[str, Any] | None:
    """A net log; None when Chromium did not finish it."""
    try:
        log = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return log if isinstance(log, dict) and {"constants", "events"} <= set(log) else None


def _host(url: str) -> str:
    """Host with the port where one is named; empty for what is no http address."""
    parts = urlsplit(url)
    return parts.netloc if parts.scheme in {"http", "https"} else ""

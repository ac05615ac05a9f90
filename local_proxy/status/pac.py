"""The proxy auto-configuration file: what goes through the local proxy and what does not. Pure.

A page's host decides by its text alone: asking DNS for it would cost a round trip of the slow link
for each. Names and addresses of the near side (this machine, printers, routers) are reached
directly: nobody on the fast side could. Private hosts that are on the fast side (what the remote's
`allow` names, which this device is not told) are those that `[local] private` names. Last comes
DIRECT, so that a browser whose local proxy has been stopped is no worse off than without one.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

CONTENT_TYPE: Final = "application/x-ns-proxy-autoconfig"
_NAME: Final = re.compile(r"(\*\.)?([0-9a-z_]([0-9a-z_-]*[0-9a-z_])?\.)*[0-9a-z_-]+", re.ASCII)
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_PAC: Final = """\
// Sluice: everything through the local proxy but what is on this side of the slow link.
function FindProxyForURL(url, host) {{
  host = host.toLowerCase().replace(/^\\[|\\]$/g, "").replace(/\\.$/, "");
  var through = "{through}";
  if (host === "sluice.local") return through;
{private}  if (host.indexOf(".") < 0 && host.indexOf(":") < 0) return "DIRECT";
  if (/\\.(local|localhost|home\\.arpa)$/.test(host)) return "DIRECT";
  if (/^(127|10)\\.\\d+\\.\\d+\\.\\d+$/.test(host)) return "DIRECT";
  if (/^(192\\.168|169\\.254)\\.\\d+\\.\\d+$/.test(host)) return "DIRECT";
  if (/^172\\.(1[6-9]|2\\d|3[01])\\.\\d+\\.\\d+$/.test(host)) return "DIRECT";
  if (/^(::1|f[cd][0-9a-f][0-9a-f]:.*|fe[89ab][0-9a-f]:.*)$/.test(host)) return "DIRECT";
  return through;
}}
"""
_BITS: Final = """\
function sluiceBits(host) {
  var v4 = /^\\d+\\.\\d+\\.\\d+\\.\\d+$/.test(host), parts;
  if (!v4 && host.indexOf(":") < 0) return "";
  if (v4) parts = host.split(".");
  else {
    var ends = host.split("::"), end = ends[1] ? ends[1].split(":") : [];
    parts = ends[0] ? ends[0].split(":") : [];
    while (parts.length + end.length < 8) parts.push("0");
    parts = parts.concat(end);
  }
  return (v4 ? "4:" : "6:") + parts.map(function (part) {
    var bits = parseInt(part, v4 ? 10 : 16).toString(2);
    return ("0000000000000000" + bits).slice(v4 ? -8 : -16);
  }).join("");
}
"""
"""An address as its version and its bits; empty for a name."""


class PrivateError(ValueError):
    """What is no host and no network; the text says what it may be."""


def pac(address: str, *, secure: bool, private: Sequence[str] = ()) -> str:
    """The file for browsers that reach the proxy at `address` (host:port, [v6]:port).

    `secure`: it speaks TLS at the same port. Then that is tried first: one HTTP/2 connection
    carries all requests; who does not trust the certificate falls back to the plain way.
    `private`: as in [local]. Raises PrivateError.
    """
    ways = [f"HTTPS {address}"] if secure else []
    names, networks = sorted_out(private)
    lines = [f"  if ({_named(name)}) return through;\n" for name in names]
    if networks:
        lines.append("  var bits = sluiceBits(host);\n")
        lines += [
            f'  if (bits.indexOf("{_bits(one)}") === 0) return through;\n' for one in networks
        ]
    through = "; ".join([*ways, f"PROXY {address}", "DIRECT"])
    return _PAC.format(through=through, private="".join(lines)) + (_BITS if networks else "")


def sorted_out(private: Iterable[str]) -> tuple[list[str], list[_Network]]:
    """Names (name, *.name) and networks. Raises PrivateError."""
    names: list[str] = []
    networks: list[_Network] = []
    for one in private:
        try:
            networks.append(ipaddress.ip_network(one, strict=False))
        except ValueError as error:
            if not _NAME.fullmatch(one.lower()):
                raise PrivateError(
                    f"local.private: {one!r} is not a host, *.host, an address or a network such "
                    "as 10.1.0.0/16"
                ) from error
            names.append(one.lower())
    return names, networks


def _named(name: str) -> str:
    """Whether the host is of that name: *.name is all below it."""
    if name.startswith("*."):
        end = name[1:]
        return f"host.slice(-{len(end)}) === {json.dumps(end)}"
    return f"host === {json.dumps(name)}"


def _bits(network: _Network) -> str:
    """As sluiceBits writes addresses, up to where the network ends."""
    size = network.max_prefixlen
    bits = f"{int(network.network_address):0{size}b}"[: network.prefixlen]
    return f"{network.version}:{bits}"

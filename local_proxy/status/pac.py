"""The proxy auto-configuration file: what goes through the local proxy and what does not. Pure.

A page's host decides by its text alone: asking DNS for it would cost a round trip of the slow link
for each. Names and addresses of the near side (this machine, printers, routers) are reached
directly: nobody on the fast side could. Last comes DIRECT, so that a browser whose local proxy has
been stopped is no worse off than without one.
"""

from __future__ import annotations

from typing import Final

CONTENT_TYPE: Final = "application/x-ns-proxy-autoconfig"

_PAC: Final = """\
// Sluice: everything through the local proxy but what is on this side of the slow link.
function FindProxyForURL(url, host) {{
  host = host.toLowerCase().replace(/^\\[|\\]$/g, "").replace(/\\.$/, "");
  var through = "{through}";
  if (host === "sluice.local") return through;
  if (host.indexOf(".") < 0 && host.indexOf(":") < 0) return "DIRECT";
  if (/\\.(local|localhost|home\\.arpa)$/.test(host)) return "DIRECT";
  if (/^(127|10)\\.\\d+\\.\\d+\\.\\d+$/.test(host)) return "DIRECT";
  if (/^(192\\.168|169\\.254)\\.\\d+\\.\\d+$/.test(host)) return "DIRECT";
  if (/^172\\.(1[6-9]|2\\d|3[01])\\.\\d+\\.\\d+$/.test(host)) return "DIRECT";
  if (/^(::1|f[cd][0-9a-f][0-9a-f]:.*|fe[89ab][0-9a-f]:.*)$/.test(host)) return "DIRECT";
  return through;
}}
"""


def pac(address: str, *, secure: bool) -> str:
    """The file for browsers that reach the proxy at `address` (host:port, [v6]:port).

    `secure`: it speaks TLS at the same port. Then that is tried first: one HTTP/2 connection
    carries all requests; who does not trust the certificate falls back to the plain way.
    """
    ways = [f"HTTPS {address}"] if secure else []
    return _PAC.format(through="; ".join([*ways, f"PROXY {address}", "DIRECT"]))

"""Requests that a browser makes for itself: updates, lists, telemetry, captive portals. Pure.

Nobody waits for them, so they are a document of their own (wire.messages.BACKGROUND) that policies
can put behind all pages. They are never refused: what a browser fetches for its user's safety
should come, only later. Browsers started by `sluice browse` make none of them.

Hosts, as seen in Chromium 156 and Firefox ESR 153 within the first minutes of a fresh profile, and
as their vendors name them for firewalls. Not here: hosts that pages use too (accounts.google.com,
www.googleapis.com, fonts).
"""

from __future__ import annotations

from typing import Final

_HOSTS: Final = frozenset(
    (
        # Chromium: components, extensions, models, Safe Browsing, time, field trials, crash reports
        "clients1.google.com",
        "clients2.google.com",
        "clients2.googleusercontent.com",
        "clients4.google.com",
        "clientservices.googleapis.com",
        "content-autofill.googleapis.com",
        "crash-reports.chrome.com",
        "edgedl.me.gvt1.com",
        "optimizationguide-pa.googleapis.com",
        "safebrowsing.googleapis.com",
        "safebrowsing.google.com",
        "sb-ssl.google.com",
        "update.googleapis.com",
        "variations.google.com",
        # Firefox: settings, push, updates, telemetry, location, advertisements on its own pages
        "ads.mozilla.org",
        "aus5.mozilla.org",
        "ciscobinary.openh264.org",
        "contile.services.mozilla.com",
        "content-signature-2.cdn.mozilla.net",
        "detectportal.firefox.com",
        "firefox-settings.mozilla-backup.org",
        "firefox-settings-attachments.cdn.mozilla.net",
        "firefox.settings.services.mozilla.com",
        "incoming.telemetry.mozilla.org",
        "location.services.mozilla.com",
        "merino.services.mozilla.com",
        "normandy.cdn.mozilla.net",
        "push.services.mozilla.com",
        "services.addons.mozilla.org",
        "shavar.services.mozilla.com",
        "tracking-protection.cdn.mozilla.net",
        "versioncheck-bg.addons.mozilla.org",
        # Operating systems: is there a portal?
        "captive.apple.com",
        "connectivitycheck.gstatic.com",
        "connectivity-check.ubuntu.com",
        "nmcheck.gnome.org",
        "www.msftconnecttest.com",
    )
)
_SUFFIXES: Final = (".gvt1.com", ".gvt2.com", ".clients.google.com")


def is_chatter(host: str) -> bool:
    """Whether a browser speaks with this host for itself; of a request's host, without its port."""
    host = host.lower().rstrip(".")
    return host in _HOSTS or host.endswith(_SUFFIXES)

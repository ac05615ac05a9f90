"""Firefox: the preferences of a fresh profile, and its command line. Pure.

Trust does not come from here: the authority goes into the profile's own store (nss.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final
from urllib.parse import quote

from browsers.proxy import Proxy, is_near
from local_proxy.status.pac import CONTENT_TYPE

NAMES: Final = (
    *("firefox", "firefox-esr", "librewolf"),
    "/Applications/Firefox.app/Contents/MacOS/firefox",
)

Preference = bool | int | str

_QUIET: Final[dict[str, Preference]] = {
    # first run, welcome pages, questions
    "app.normandy.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.policy.firstRunURL": "",
    "startup.homepage_welcome_url": "",
    "termsofuse.bypassNotification": True,
    "trailhead.firstrun.didSeeAboutWelcome": True,
    # what it would fetch by itself
    "app.update.enabled": False,
    "browser.discovery.enabled": False,
    "browser.newtabpage.activity-stream.feeds.section.topstories": False,
    "browser.newtabpage.activity-stream.feeds.system.topstories": False,
    "browser.newtabpage.activity-stream.showSponsored": False,
    "browser.newtabpage.activity-stream.showSponsoredTopSites": False,
    "browser.newtabpage.activity-stream.telemetry": False,
    "browser.newtabpage.enabled": False,
    "browser.ping-centre.telemetry": False,
    "browser.region.network.url": "",
    "browser.region.update.enabled": False,
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.passwords.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.provider.google4.updateURL": "",
    "browser.safebrowsing.provider.google5.updateURL": "",
    "browser.safebrowsing.provider.mozilla.updateURL": "",
    "browser.search.update": False,
    "browser.topsites.contile.enabled": False,
    "browser.urlbar.merino.enabled": False,
    "browser.urlbar.quicksuggest.enabled": False,
    "captivedetect.canonicalURL": "",
    "datareporting.healthreport.uploadEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.blocklist.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "geo.provider.network.url": "",
    "media.gmp-manager.updateEnabled": False,
    "media.gmp-manager.url": "data:text/plain,",
    "messaging-system.rsexperimentloader.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "network.predictor.enabled": False,
    "network.prefetch-next": False,
    "network.trr.mode": 5,
    "privacy.trackingprotection.enabled": False,
    "privacy.trackingprotection.annotate_channels": False,
    "privacy.trackingprotection.pbmode.enabled": False,
    "security.OCSP.enabled": 0,
    "security.pki.crlite_mode": 0,
    "security.remote_settings.crlite_filters.enabled": False,
    "security.remote_settings.intermediates.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "telemetry.fog.test.localhost_port": -1,  # pings are made and go nowhere
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "",
    "toolkit.telemetry.unified": False,
}
"""OCSP, CRLite and Safe Browsing are off because they cost bytes of the link ahead of pages (lists
of megabytes for a fresh profile); certificates of servers are checked by the remote proxy."""


ENVIRONMENT: Final = {"MOZ_REMOTE_SETTINGS_DEVTOOLS": "1"}
"""Without it a release does not heed `services.settings.server`."""


def preferences(*, proxy: Proxy, url: str) -> dict[str, Preference]:
    """All that differs from Firefox's defaults."""
    near = is_near(url)
    direct = "" if near else ", ".join(("localhost", "<local>", *proxy.near))
    return {
        **_QUIET,
        **_proxied(proxy),
        "network.proxy.allow_hijacking_localhost": near,
        "network.proxy.no_proxies_on": direct,
    }


def _proxied(proxy: Proxy) -> dict[str, Preference]:
    if proxy.secure and proxy.certificate_pem is not None:
        # Only a PAC file can name an https proxy.
        script = quote(f"function FindProxyForURL(u, h) {{ return 'HTTPS {proxy.address}'; }}")
        return {
            "network.proxy.type": 2,
            "network.proxy.autoconfig_url": f"data:{CONTENT_TYPE},{script}",
        }
    return {
        "network.proxy.type": 1,
        "network.proxy.http": proxy.host,
        "network.proxy.http_port": proxy.port,
        "network.proxy.ssl": proxy.host,
        "network.proxy.ssl_port": proxy.port,
    }


def user_js(values: dict[str, Preference]) -> str:
    """The profile's user.js."""
    return "".join(
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in values.items()
    )


def arguments(*, profile: Path, url: str, headless: bool) -> list[str]:
    """The command line without the executable."""
    return [
        *("--no-remote", "--new-instance", "--profile", str(profile)),
        *(("--headless",) if headless else ()),
        url,
    ]

"""Chromium: its command line. Pure.

Trust comes by --ignore-certificate-errors-spki-list, which accepts chains with the authority's key
in them and nothing else, touches no store of the user's, and holds for the https proxy too. For
that (and --no-sandbox) Chromium shows a bar in every window unless --test-type is given, which
changes nothing else that a reader would see.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from browsers.proxy import Proxy, is_near

NAMES: Final = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("brave-browser", "microsoft-edge", "vivaldi"),
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

_QUIET: Final = (
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--metrics-recording-only",
    # The updater and the sign-in service ask all the same; at the discard port they get nothing.
    "--component-updater=url-source=http://127.0.0.1:9/",
    "--gaia-url=http://127.0.0.1:9/",
)
"""Nothing but pages may cost bytes of the link. A fresh profile would else fetch megabytes of
models, lists and components; so this profile is not for what Safe Browsing should guard."""
_FEATURES_OFF: Final = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "InterestFeedContentSuggestions",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationGuideModelDownloading",
    "OptimizationHints",
    "OptimizationHintsFetching",
    "OptimizationTargetPrediction",
    "Translate",
)


def arguments(*, profile: Path, proxy: Proxy, url: str, root: bool, headless: bool) -> list[str]:
    """The command line without the executable. `root`: it would not start in its sandbox."""
    scheme = "https" if proxy.secure and proxy.certificate_pem is not None else "http"
    near = "<-loopback>" if is_near(url) else ";".join(("<local>", *proxy.near))
    found = [
        *_QUIET,
        f"--disable-features={','.join(_FEATURES_OFF)}",
        f"--user-data-dir={profile}",
        "--password-store=basic",
        f"--proxy-server={scheme}://{proxy.address}",
        f"--proxy-bypass-list={near}",
        "--test-type",
    ]
    if proxy.spki_sha256 is not None:
        found.append(f"--ignore-certificate-errors-spki-list={proxy.spki_sha256}")
    if root:
        found.append("--no-sandbox")
    if headless:
        found.append("--headless=new")
    return [*found, "--", url]

"""The page of a preview: empty places for the document's pages, and what fills them. Pure."""

from __future__ import annotations

from typing import Final

from local_proxy.documents.incoming_document import IncomingDocument
from office.outline import DocumentKind
from web.templates import template, verbatim

_PAGE: Final = template(__package__, "page.html")
_SCRIPT: Final = verbatim(__package__, "preview.js")
_STYLE: Final = verbatim(__package__, "preview.css")
_DECKS: Final = (DocumentKind.PPTX, DocumentKind.ODP)


def page(incoming: IncomingDocument, *, base: str, launch: str, nonce: str) -> str:
    """`base`: the path of what it asks for; `launch`: where it can be opened, or nothing."""
    kind = incoming.outline.kind
    deck = kind in _DECKS
    sheet = kind in (DocumentKind.XLSX, DocumentKind.ODS)
    return _PAGE.render(
        name=incoming.name,
        base=base,
        launch=launch,
        size=f"{incoming.length / 1e6:.1f} MB",
        classes="slide" if deck else "sheet" if sheet else "flow",
        count=len(incoming.outline.pages) if deck or sheet else 1,
        nonce=nonce,
        style=_STYLE,
        script=_SCRIPT,
    )


def policy(origin: str, base: str, nonce: str) -> str:
    """Under which no script but ours runs, nothing comes from elsewhere, and the page is of no
    site (CSP 3, 6.3.2: sandbox)."""
    here = "'self'" if "[" in origin else f"{origin}{base}"  # sources can't be IPv6 addresses
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; "
        f"img-src {here}; connect-src {here}; base-uri 'none'; form-action 'none'; "
        "sandbox allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"
    )

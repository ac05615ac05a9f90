"""The page of a preview: empty places for the document's pages, and what fills them. Pure."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import Final
from urllib.parse import urlsplit

from local_proxy.documents.incoming_document import IncomingDocument
from office.outline import DocumentKind

_PAGE: Final = Template(files(__package__).joinpath("page.html").read_text("utf-8"))
_SCRIPT: Final = files(__package__).joinpath("preview.js").read_text("utf-8")
_STYLE: Final = files(__package__).joinpath("preview.css").read_text("utf-8")
_DECKS: Final = (DocumentKind.PPTX, DocumentKind.ODP)


def page(incoming: IncomingDocument, *, base: str, launch: str, nonce: str) -> str:
    """`base`: the path of what it asks for; `launch`: where it can be opened, or nothing."""
    kind = incoming.outline.kind
    deck = kind in _DECKS
    sheet = kind in (DocumentKind.XLSX, DocumentKind.ODS)
    count = len(incoming.outline.pages) if deck or sheet else 1
    classes = "slide" if deck else "sheet" if sheet else "flow"
    return _PAGE.substitute(
        name=escape(incoming.name),
        host=escape(urlsplit(incoming.url).netloc),
        base=escape(base),
        launch=f'<a href="{escape(launch)}" target="_blank">open in LibreOffice</a>'
        if launch
        else "",
        size=f"{incoming.length / 1e6:.1f} MB",
        pages="".join(
            f'<section class="{classes}" data-p="{number}"></section>'
            for number in range(1, count + 1)
        ),
        nonce=escape(nonce),
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

"""A presentation as programs export it: each piece of text has long styles of its own."""

from __future__ import annotations

import io
import random
import zipfile

from office.text_view.vocabulary import SPACES

_NAMES = "".join(f' xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
_MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.presentation"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    '<manifest:file-entry manifest:full-path="styles.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>"
)


def page_text(number: int) -> str:
    return f"Of the {number}. bridge, and <what> flows & stays below it"


def content(pages: int, *, styles: int = 12) -> str:
    chance = random.Random(1)
    looks, bodies = [], []
    for page in range(1, pages + 1):
        for number in range(styles):
            look = "bold" if number == 1 else "normal"
            looks.append(
                f'<style:style style:name="a{page}-{number}" style:family="text">'
                f'<style:text-properties fo:font-weight="{look}" fo:font-size="0.25in" '
                f'style:font-family-asian="{chance.randbytes(40).hex()}"/></style:style>'
            )
        text = page_text(page).replace("&", "&amp;").replace("<", "&lt;").split(" ", 3)
        spans = " ".join(
            f'<text:span text:style-name="a{page}-{number}">{word}</text:span>'
            for number, word in enumerate(text)
        )
        bodies.append(
            f'<draw:page draw:master-page-name="Plain"><draw:custom-shape svg:x="1in" svg:y="2in" '
            f'svg:width="8in" svg:height="2in"><text:p>{spans}</text:p></draw:custom-shape>'
            '<draw:frame svg:x="1in" svg:y="5in" svg:width="2in" svg:height="1in">'
            '<draw:image xlink:href="Pictures/noise.bin"/></draw:frame>'
            "<presentation:notes><draw:frame><draw:text-box><text:p>unsaid</text:p>"
            "</draw:text-box></draw:frame></presentation:notes></draw:page>"
        )
    return (
        f"<office:document-content{_NAMES}><office:automatic-styles>{''.join(looks)}"
        "</office:automatic-styles><office:body><office:presentation>"
        f"{''.join(bodies)}</office:presentation></office:body></office:document-content>"
    )


def styles() -> str:
    return (
        f"<office:document-styles{_NAMES}><office:automatic-styles>"
        '<style:page-layout style:name="L"><style:page-layout-properties fo:page-width="10in" '
        'fo:page-height="7.5in"/></style:page-layout></office:automatic-styles>'
        '<office:master-styles><style:master-page style:name="Plain" '
        'style:page-layout-name="L"/></office:master-styles></office:document-styles>'
    )


def styled_deck(pages: int = 30, *, noise: int = 200_000) -> bytes:
    """The file. `noise`: bytes of something else in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as deck:
        mimetype = "application/vnd.oasis.opendocument.presentation"
        deck.writestr("mimetype", mimetype, zipfile.ZIP_STORED)
        deck.writestr("content.xml", content(pages))
        deck.writestr("styles.xml", styles())
        deck.writestr("Pictures/noise.bin", random.Random(2).randbytes(noise))
        deck.writestr("META-INF/manifest.xml", _MANIFEST)
    return out.getvalue()

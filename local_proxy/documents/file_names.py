"""The file name of a document, for people and for the suffix that programs go by. Pure."""

from __future__ import annotations

import re
from email.message import Message
from typing import Final
from urllib.parse import unquote, urlsplit

from office.outline import DocumentKind
from wire.fields import Headers, header

MAX_NAME: Final = 120
"""Characters."""
MAX_BYTES: Final = 200
"""The same in UTF-8; file systems take 255."""
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]+')
_FAMILIES: Final = {
    DocumentKind.PPTX: (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
    DocumentKind.DOCX: (".docx", ".docm", ".dotx", ".dotm"),
    DocumentKind.XLSX: (".xlsx", ".xlsm", ".xltx", ".xltm"),
    DocumentKind.ODP: (".odp", ".otp"),
    DocumentKind.ODT: (".odt", ".ott"),
    DocumentKind.ODS: (".ods", ".ots"),
}


def is_document(name: str) -> bool:
    """It has a suffix that office documents have."""
    return any(name.lower().endswith(suffixes) for suffixes in _FAMILIES.values())


def file_name(url: str, headers: Headers, kind: DocumentKind | None) -> str:
    """As the response says (RFC 6266), or as its address ends; with a suffix of its kind."""
    name = _said(headers) or unquote(urlsplit(url).path.rpartition("/")[2])
    name = _short(_UNSAFE.sub("_", name).strip(". ")).lstrip(". ") or "document"
    if kind is not None and not name.lower().endswith(_FAMILIES[kind]):
        name = f"{name}.{kind.value}"
    return name


def _said(headers: Headers) -> str:
    """What the response calls it; empty: nothing, or in a charset that says nothing."""
    disposition = Message()
    disposition["content-disposition"] = header(headers, "content-disposition") or "inline"
    try:
        return disposition.get_filename() or ""
    except UnicodeError:  # Python has charsets that can't be decoded by: idna, undefined
        return ""


def _short(name: str) -> str:
    """Its end: the suffix counts."""
    return name[-MAX_NAME:].encode()[-MAX_BYTES:].decode(errors="ignore")

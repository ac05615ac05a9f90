"""The file name of a document, for people and for the suffix that programs go by. Pure."""

from __future__ import annotations

import re
from email.message import Message
from typing import Final
from urllib.parse import unquote, urlsplit

from office.outline import DocumentKind
from wire.fields import Headers, header

MAX_NAME: Final = 120
"""Characters; file systems take 255 bytes."""
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
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
    disposition = Message()
    disposition["content-disposition"] = header(headers, "content-disposition") or "inline"
    name = disposition.get_filename() or unquote(urlsplit(url).path.rpartition("/")[2])
    name = _UNSAFE.sub("_", name).strip(". ")[-MAX_NAME:].lstrip(". ") or "document"
    if kind is not None and not name.lower().endswith(_FAMILIES[kind]):
        name = f"{name}.{kind.value}"
    return name

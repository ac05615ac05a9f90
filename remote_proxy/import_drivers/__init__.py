"""Import drivers: bytes of a document to the components it needs."""

from remote_proxy.import_drivers.css import CssImport
from remote_proxy.import_drivers.found import BrowserTraits, Found, Names
from remote_proxy.import_drivers.html import HtmlImport
from remote_proxy.import_drivers.image import ImageSize, image_size

__all__ = ["BrowserTraits", "CssImport", "Found", "HtmlImport", "ImageSize", "Names", "image_size"]

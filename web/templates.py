"""Fills in the HTML templates of Sluice's own pages, in which all that is given appears as text.

One environment for all of them: it escapes each value (HTML, 13.1.2.3 and 13.1.4: as text and in
quoted attributes), and a name that a template uses and nobody gives is an error. A template lies
beside the module that renders it. Must not know: which pages there are.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup


def template(package: str, file: str) -> Template:
    """The template in this package's folder, compiled once. Raises OSError, TemplateError."""
    return _ENVIRONMENT.get_template(f"{package.replace('.', '/')}/{file}")


def verbatim(package: str, file: str) -> Markup:
    """A style or a script of ours, which stands in a page as it is. Raises OSError."""
    return Markup(files(package).joinpath(file).read_text("utf-8"))


def _source(name: str) -> tuple[str, str, None]:
    """The text of a template by its path from the root, also where that is in an archive; what
    tracebacks call it, which is not a file that coverage would measure; None: it never changes."""
    folder, _, file = name.rpartition("/")
    return files(folder.replace("/", ".")).joinpath(file).read_text("utf-8"), f"<{name}>", None


_ENVIRONMENT: Final = Environment(
    loader=FunctionLoader(_source),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    auto_reload=False,
    cache_size=-1,  # pages are few, and known
)

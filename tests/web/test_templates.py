"""Templates escape what they are given, and are read from wherever their package is."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from zipfile import ZipFile

import pytest
from jinja2 import UndefinedError

from web.templates import template, verbatim

FILES = {
    "__init__.py": "",
    "page.html": "{% extends 'NAME/frame.html' %}\n{% block body %}\n{{ text }}\n{% endblock %}\n",
    "frame.html": '<p title="{{ text }}">{% block body %}{% endblock %}</p>\n',
    "style.css": "a>b{content:'<{{ text }}'}",
}


@pytest.fixture(params=["folder", "archive"])
def package(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package that has FILES; unlike any other test's, as templates are kept."""
    name = f"templates_in_{request.param}_{request.node.originalname}"
    files = {f"{name}/{file}": text.replace("NAME", name) for file, text in FILES.items()}
    place = tmp_path / "library.zip"
    if request.param == "archive":
        with ZipFile(place, "w") as archive:
            for file, text in files.items():
                archive.writestr(file, text)
    else:
        for file, text in files.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(text)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_text_is_a_text_wherever_it_stands(package: str) -> None:
    page = template(package, "page.html").render(text="<b>\"'&{{ 7 }}{% x %}$y")
    said = "&lt;b&gt;&#34;&#39;&amp;{{ 7 }}{% x %}$y"
    assert page == f'<p title="{said}">{said}\n</p>\n'


def test_a_style_of_ours_is_not_escaped_and_no_template(package: str) -> None:
    style = verbatim(package, "style.css")
    assert style == FILES["style.css"]
    assert FILES["style.css"] in template(package, "page.html").render(text=style)


def test_a_name_that_nobody_gives_is_an_error_that_says_where(package: str) -> None:
    page = template(package, "page.html")
    with pytest.raises(UndefinedError, match="'text' is undefined") as caught:
        page.render(texts="")
    assert f"<{package}/frame.html>" in "".join(traceback.format_tb(caught.tb))


def test_a_template_is_compiled_once(package: str) -> None:
    assert template(package, "page.html") is template(package, "page.html")


def test_a_template_that_is_not_there_is_an_error(package: str) -> None:
    with pytest.raises(OSError, match=r"absent\.html"):
        template(package, "absent.html")

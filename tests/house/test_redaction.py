"""Log lines and problems show no more of URLs than they may, by the command line's own loggers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redaction import hide_queries, without_queries

ROOT = Path(__file__).resolve().parents[2]
LOGS = """
import structlog
from cli.command import configure_logging
configure_logging(verbose=True, log_urls=%s)
log = structlog.get_logger("test")
log.info("a fetch failed", url="https://user:pw@a.test/path?q=secret#part", n=3)
try:
    raise ValueError("no: http://b.test/x?word=hidden")
except ValueError:
    log.exception("failed", heard=("http://c.test/?k=covert",))
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://a.test/b/c?d=e", "http://a.test/b/c"),
        ("https://me:secret@a.test:81/b#c", "https://a.test:81/b"),
        ("wss://a.test?x", "wss://a.test"),
        ("http://a.test/?q=it's+mine", "http://a.test/"),
        ("http://a/?1 and https://b/2#3 end", "http://a/ and https://b/2 end"),
        ("bank.example:443", "bank.example:443"),
        ("what? nothing", "what? nothing"),
        ("http://a.test/b@c?d", "http://a.test/b@c"),
    ],
)
def test_only_where_a_url_leads_is_shown(text: str, shown: str) -> None:
    assert without_queries(text) == shown


@given(st.text(st.characters(codec="ascii", exclude_categories=("Zs", "Cc"))))
def test_no_query_gets_through(query: str) -> None:
    assert without_queries(f"http://a.test/p?{query}") == "http://a.test/p"


def test_every_value_of_a_line_is_looked_at() -> None:
    event = {"event": "http://a/?x", "n": 2, "on": True, "list": ["http://b/?y"]}
    assert hide_queries(None, "info", event) == {
        "event": "http://a/", "n": 2, "on": True, "list": "['http://b/",
    }  # fmt: skip


@pytest.mark.parametrize("whole", [False, True])
def test_the_command_line_logs_queries_only_when_told_to(whole: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOGS % whole],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for place in ("https://", "a.test/path", "http://b.test/x", "http://c.test/", "ValueError"):
        assert place in done.stderr
    for secret in ("q=secret", "word=hidden", "k=covert", "user:pw"):
        assert (secret in done.stderr) is whole

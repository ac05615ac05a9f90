"""Tests of what is known of a document's request: what it promises is asked for likewise."""

from __future__ import annotations

import pytest

from coding.text_shelf import TextShelf
from local_proxy.link.arrival import Arrival
from local_proxy.link.components import Component
from local_proxy.link.demultiplexer import Demultiplexer
from local_proxy.link.dictionaries import Dictionaries
from local_proxy.link.resumption import AskedDocument, Memory
from wire import messages as m
from wire.applications import Application
from wire.origin_request import OriginRequest
from wire.skeleton import Kind, Level

URL = "http://a.test/"


def asked(application: Application, treatment: m.Treatment = m.Treatment.ADAPTED) -> OriginRequest:
    return OriginRequest("GET", URL, [], application=application, treatment=treatment)


def test_a_document_is_remembered_until_it_closes() -> None:
    memory = Memory()
    memory.document_asked(5, asked(Application.OFFICE, m.Treatment.ORIGINAL))
    memory.document_asked(7, asked(Application.BROWSER))
    assert memory.asked(5) == AskedDocument(m.Treatment.ORIGINAL, Application.OFFICE)
    assert memory.asked(7) == memory.asked(9) == AskedDocument()
    memory.close_document(5)
    assert memory.asked(5) == AskedDocument()


def test_what_a_document_promises_is_its_applications_and_asked_for_so_after_a_break() -> None:
    memory = Memory()
    memory.document_asked(5, asked(Application.OFFICE))
    arriving = Demultiplexer(
        memory,
        accepts=(),
        say=lambda message: None,
        progressed=lambda component, amount: None,
        ended=lambda component: None,
        ask=lambda arrival: None,
        dictionaries=Dictionaries(TextShelf(max_bytes=0)),
    )
    picture = Component(2, 5, f"{URL}p.jpg", Kind.IMAGE, promised=True)
    arriving.promise([picture], [], memory.asked(5))
    arriving.lost(None)
    (orphan,) = memory.take()
    assert orphan.component is picture
    message = orphan.request.message(2, 5, memory.resume(orphan))
    assert message.application is Application.OFFICE
    assert message.levels


@pytest.mark.parametrize(
    ("document", "kept"), [(5, True), (m.UNATTRIBUTED, False), (m.BACKGROUND, False)]
)
def test_a_stopped_picture_is_kept_until_its_document_closes_and_not_where_none_does(
    document: int, kept: bool
) -> None:
    memory = Memory()
    low = (Level("low", 0, 3, "image/webp"),)
    picture = Component(2, document, f"{URL}p.jpg", Kind.IMAGE, levels=low)
    memory.stopped(Arrival(picture, asked(Application.BROWSER)))
    assert memory.stopped_short_of(2, "original") is kept
    memory.close_document(document)
    assert not memory.stopped_short_of(2, "original")

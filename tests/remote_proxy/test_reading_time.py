"""Checks that what a text costs to read does not count what the collector takes meanwhile."""

from __future__ import annotations

import gc
import time

from remote_proxy.import_drivers.found import Found
from remote_proxy.promises.document_import import LONGEST, Importer
from remote_proxy.promises.reading_time import reading_time


def garbage() -> list[list[int]]:
    """Gives the collector something to walk through."""
    return [[number] for number in range(300_000)]


class Collecting:
    """Reads nothing, but is there when the collector is due, for longer than a text may take."""

    def __init__(self) -> None:
        self.heap = garbage()
        self.fed = 0

    def feed(self, data: bytes) -> list[Found]:
        self.fed += 1
        began = time.thread_time()
        while time.thread_time() - began < 1.5 * LONGEST:
            gc.collect()
        return []

    def close(self) -> list[Found]:
        return []


def test_a_collection_is_not_counted_and_work_is() -> None:
    heap = garbage()
    began, all_of_it = reading_time(), time.thread_time()
    gc.collect()
    spent, all_of_it = reading_time() - began, time.thread_time() - all_of_it
    assert len(heap) == 300_000 and spent < all_of_it / 2
    began, until = reading_time(), time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
    assert reading_time() - began > 0.015


def test_a_text_is_read_on_though_the_collector_took_long_meanwhile() -> None:
    driver = Collecting()
    importer = Importer(driver, lambda found: None)
    for _ in range(3):
        importer.feed(b"x")
    assert driver.fed == 3

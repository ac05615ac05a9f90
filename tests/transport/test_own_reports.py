"""A receiver tells its progress: how much, and when."""

from __future__ import annotations

from monitor.estimate import BandwidthEstimate
from transport.gate.report_spacing import REPORT_EVERY, REPORT_EVERY_THIN
from transport.stream.own_reports import REPORT_SIZE, OwnReports
from wire.frames import CLOCK_TICK, FrameReader, FrameWriter, Report


def unknown(now: float) -> BandwidthEstimate | None:
    return None


def come(own: OwnReports, now: float, nbytes: int, *, arriving: int = 0, reports: int = 0) -> bool:
    told_when = own.come(nbytes, arriving=arriving)
    own.read(now, reports=reports)
    return told_when


def test_progress_is_told_once_and_no_sooner_than_every_five_milliseconds() -> None:
    own = OwnReports(FrameReader(), now=0.0)
    assert own.next_report(0.0, outgoing=unknown) is None
    come(own, 1.0, 500)
    assert own.next_report(1.0, outgoing=unknown) == Report(500, round(1.0 / CLOCK_TICK))
    assert own.next_report(2.0, outgoing=unknown) is None
    come(own, 1.002, 500)
    assert own.owed and own.due == 1.0 + REPORT_EVERY
    assert own.next_report(1.004, outgoing=unknown) is None
    assert own.next_report(own.due, outgoing=unknown) == Report(1000, round(1.002 / CLOCK_TICK))


def test_reports_of_the_peer_call_for_none() -> None:
    own = OwnReports(FrameReader(), now=0.0)
    come(own, 1.0, REPORT_SIZE, reports=1)
    assert not own.owed
    assert own.received == REPORT_SIZE and own.countable == 0


def test_the_rest_of_a_record_is_told_sooner_than_its_part() -> None:
    own = OwnReports(FrameReader(), now=0.0)
    come(own, 1.0, 500)
    own.next_report(1.0, outgoing=unknown)
    come(own, 1.001, 500, arriving=400)
    assert own.countable == 1000 + 400 - REPORT_SIZE  # a report may be the first of the rest
    assert own.due == 1.0 + 2 * REPORT_EVERY
    assert not come(own, 1.002, 400), "what was said of the next report does not hold"
    assert own.due == 1.0 + REPORT_EVERY


def test_a_thin_link_is_not_filled_with_reports() -> None:
    def slow(now: float) -> BandwidthEstimate:
        return BandwidthEstimate(5_000.0, now, 1.0, "reports")

    own = OwnReports(FrameReader(), now=0.0)
    come(own, 1.0, 500)
    assert own.next_report(1.0, outgoing=slow)
    assert own.due == 1.0 + REPORT_EVERY_THIN
    steady = OwnReports(FrameReader(), now=0.0)
    for turn in range(60):  # 8 kB/s come without a pause
        now = 1.0 + turn * 0.05
        come(steady, now, 400)
        assert steady.next_report(now, outgoing=unknown)
    assert steady.due == now + REPORT_EVERY_THIN
    incoming = steady.incoming()
    assert incoming is not None and 7_000 < incoming.rate < 9_000 and incoming.confidence == 0.5


def test_of_a_cut_connection_the_cut_report_does_not_count() -> None:
    reader = FrameReader()
    own = OwnReports(reader, now=0.0)
    come(own, 1.0, 300)
    piece = FrameWriter().encode(Report(7, 7))[:3]
    reader.feed(piece)
    come(own, 1.0, len(piece))
    assert own.lost() == own.countable == 300
    own.resume(2.0)
    assert not own.owed and own.incoming() is None

"""Page loads as they might have been, for reports of them."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

from bench.browsers.capture import Frame
from bench.browsers.visual import Moment, PictureState
from bench.pages.page_result import PageLoad
from bench.reports.report import report
from bench.scenarios.pages.page_load import checks


def frame(at: float, colour: str) -> Frame:
    out = io.BytesIO()
    Image.new("RGB", (64, 120), colour).save(out, "JPEG")
    return Frame(at, out.getvalue())


def load(peer: str, *, speed: float, page: str = "news/index.html") -> PageLoad:
    """A load of two pictures; `speed` scales its times."""
    moments = [
        Moment(1 * speed, (PictureState.BLANK, PictureState.BLANK), 0.4, 0.3),
        Moment(2 * speed, (PictureState.PAINTED, PictureState.GOOD), 0.8, 0.95),
        Moment(4 * speed, (PictureState.FINAL, PictureState.FINAL), 1.0, 1.0),
    ]
    frames = [
        frame(m.at, colour) for m, colour in zip(moments, ("white", "red", "blue"), strict=True)
    ]
    return PageLoad(
        peer=peer, page=page, policy="", text_s=1 * speed, load_s=3 * speed, bytes_down=600_000,
        bytes_up=7_000, connections=6, moments=moments, frames=frames, first_paint_s=0.5 * speed,
    )  # fmt: skip


def both() -> list[PageLoad]:
    return [load("direct", speed=3.0), load("sluice", speed=1.0)]


def data(loads: list[PageLoad], **more: Any) -> dict[str, Any]:
    runs = [one.as_json() for one in loads]
    return report(scenario="demo", profile="384k", runs=runs, checks=checks(runs), **more)

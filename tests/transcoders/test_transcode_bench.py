"""The bench scenario reports what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.scenarios.pages import transcode
from bench.scenarios.pages.transcode import main, run

DATA = Path(__file__).parents[1] / "data" / "transcoders"


def test_the_report_counts_every_picture(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(9000))
    report = run([DATA / "progressive.jpg", tmp_path], repeat=2, jpegtran=None)
    assert report["pictures"] == 2
    assert report["left_alone"] == 1
    assert report["images_per_s"] > 0
    assert [run["picture"] for run in report["runs"]] == ["progressive.jpg"]
    assert list(report["runs"][0]["levels"]) == ["low", "medium", "high", "original"]
    assert report["checks"]["lossless"]["value"] == 1


def test_it_prints_json_and_its_checks_decide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcode, "SKETCH_MS", 1e9)  # how busy the machine is decides nothing here
    assert main(["--repeat", "1", "--without-jpegtran"]) == 0
    assert json.loads(capsys.readouterr().out)["checks"]["low_share_median"]["ok"]
    monkeypatch.setattr(transcode, "LOW_GOAL", 0.0)
    assert main(["--repeat", "1", "--without-jpegtran"]) == 1
    assert not json.loads(capsys.readouterr().out)["checks"]["low_share_median"]["ok"]


def test_a_folder_without_pictures_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=str(tmp_path)):
        run([tmp_path])

"""Classification of synthetic frames, and the figures made of them."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw, ImageFile, ImageFilter

from bench.browsers.visual import (
    FrameBox,
    Moment,
    PictureState,
    Scene,
    mean_difference,
    painted_share,
    painted_times,
    picture_state,
    reached,
    similarity,
    since,
    speed_index,
)
from bench.origins.scripted import first_scan

SIZE = (160, 120)


def photo(size: tuple[int, int] = SIZE) -> Image.Image:
    """A picture with slopes, edges and fine detail, the same every time."""
    image = Image.radial_gradient("L").resize(size)
    colour = Image.merge("RGB", (image, image.rotate(90), image.rotate(180)))
    draw = ImageDraw.Draw(colour)
    for x in range(0, size[0], 6):
        draw.line((x, 0, size[0] - x, size[1]), fill=(x, 200 - x, 90), width=2)
    return colour


def blank(colour: str = "white") -> Image.Image:
    return Image.new("RGB", SIZE, colour)


def half_painted(share: float) -> Image.Image:
    """As a baseline JPEG arrives: from the top."""
    image = blank()
    image.paste(photo().crop((0, 0, SIZE[0], round(SIZE[1] * share))))
    return image


def test_a_picture_goes_through_all_states_as_it_is_refined() -> None:
    coarse = photo().resize((20, 15)).resize(SIZE)
    fine = photo().filter(ImageFilter.GaussianBlur(0.35))
    states = [
        picture_state(now, blank=blank(), final=photo()) for now in (blank(), coarse, fine, photo())
    ]
    assert states == [
        PictureState.BLANK,
        PictureState.PAINTED,
        PictureState.GOOD,
        PictureState.FINAL,
    ]


@pytest.mark.parametrize(
    ("share", "state"),
    [(0.0, PictureState.BLANK), (0.4, PictureState.BLANK), (0.6, PictureState.PAINTED)],
)
def test_a_picture_that_arrives_from_the_top_is_painted_from_half_on(
    share: float, state: PictureState
) -> None:
    assert picture_state(half_painted(share), blank=blank(), final=photo()) == state


def test_a_flat_placeholder_is_not_a_picture() -> None:
    assert picture_state(blank("teal"), blank=blank(), final=photo()) == PictureState.BLANK


def test_an_empty_page_over_a_picture_with_a_grey_ground_is_blank() -> None:
    assert picture_state(blank("white"), blank=blank("grey"), final=photo()) == PictureState.BLANK


def test_a_picture_that_looks_like_its_background_is_final_at_once() -> None:
    assert picture_state(blank(), blank=blank(), final=blank()) == PictureState.FINAL
    assert painted_share(blank(), blank=blank(), final=blank()) == 1.0


def test_the_last_scan_of_a_progressive_photo_still_separates_good_from_final() -> None:
    out = io.BytesIO()
    photo((320, 240)).save(out, "JPEG", progressive=True, quality=85)
    whole = out.getvalue()
    last = whole.rindex(b"\xff\xda")  # Of the last scan: no scan's data holds a marker.
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        before = Image.open(io.BytesIO(whole[:last] + b"\xff\xd9")).convert("RGB").resize(SIZE)
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False
    final = Image.open(io.BytesIO(whole)).convert("RGB").resize(SIZE)
    assert picture_state(before, blank=blank(), final=final) < PictureState.FINAL


def test_similarity_is_one_for_equals_and_falls_with_blur() -> None:
    a = photo()
    blurred = [similarity(a.filter(ImageFilter.GaussianBlur(radius)), a) for radius in (0, 1, 3)]
    assert blurred[0] == pytest.approx(1.0)
    assert blurred[0] > blurred[1] > blurred[2]


def test_similarity_of_pictures_smaller_than_a_window() -> None:
    assert similarity(photo((5, 3)), photo((5, 3))) == pytest.approx(1.0)


def test_mean_difference_is_over_all_channels() -> None:
    red = Image.new("RGB", SIZE, (30, 0, 0))
    assert mean_difference(red, blank("black")) == pytest.approx(10.0)


def page(top: Image.Image | None, bottom: Image.Image | None) -> Image.Image:
    """A page of 320x400 with two places for pictures on grey."""
    image = Image.new("RGB", (320, 400), "white")
    for y, picture in ((20, top), (220, bottom)):
        image.paste("lightgrey", (20, y, 20 + SIZE[0], y + SIZE[1]))
        if picture:
            image.paste(picture, (20, y))
    return image


def scene() -> Scene:
    boxes = [FrameBox(20, y, 20 + SIZE[0], y + SIZE[1]) for y in (20, 220)]
    return Scene(final=page(photo(), photo()), blank=page(None, None), boxes=boxes)


def test_a_scene_judges_each_picture_and_the_whole() -> None:
    moments = [
        scene().judge(frame, at=at)
        for at, frame in enumerate(
            (page(None, None), page(photo(), None), page(photo(), photo())), start=1
        )
    ]
    assert [moment.states for moment in moments] == [(0, 0), (3, 0), (3, 3)]
    assert moments[1].share(PictureState.FINAL) == 0.5
    assert 0 < moments[0].progress < moments[1].progress < moments[2].progress == 1.0


def test_a_frame_of_a_shorter_page_is_judged_too() -> None:
    short = page(photo(), None).crop((0, 0, 320, 150))
    assert scene().judge(short, at=0.1).states == (PictureState.FINAL, PictureState.BLANK)


def test_a_page_without_pictures_has_all_of_them() -> None:
    empty = Scene(final=page(photo(), None), blank=page(None, None), boxes=[])
    moment = empty.judge(page(None, None), at=2.0)
    assert moment.share(PictureState.FINAL) == 1.0
    assert reached([moment], PictureState.FINAL) == 2.0


def moment(at: float, *states: PictureState, progress: float = 0.0) -> Moment:
    return Moment(at, states, progress)


def test_reached_counts_from_when_it_holds_for_good() -> None:
    flicker = [
        moment(1, PictureState.PAINTED, PictureState.PAINTED),
        moment(2, PictureState.BLANK, PictureState.PAINTED),
        moment(3, PictureState.GOOD, PictureState.PAINTED),
        moment(4, PictureState.FINAL, PictureState.GOOD),
    ]
    assert reached(flicker, PictureState.PAINTED) == 3
    assert reached(flicker, PictureState.GOOD) == 4
    assert reached(flicker, PictureState.FINAL) is None
    assert since([], lambda _: True) is None


def test_speed_index_is_the_area_over_the_progress_curve() -> None:
    assert speed_index([moment(1, progress=0.5), moment(3, progress=1.0)]) == pytest.approx(2.0)
    assert speed_index([moment(4, progress=1.0)]) == pytest.approx(4.0)
    assert speed_index([]) is None


def test_between_the_first_paint_and_the_first_frame_progress_is_even() -> None:
    moments = [moment(2, progress=0.5), moment(3, progress=1.0)]
    assert speed_index(moments, begun=1.0) == pytest.approx(1 + 0.75 + 0.5)
    assert speed_index(moments, begun=2.5) == speed_index(moments)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, 3),
        (2.5, 2.5),  # the next frame bears it out
        (3.5, 3),  # a frame had it before
        (1.5, 3),  # a placeholder: the next frame shows nothing of it
        (0.5, 3),  # it was there and went
    ],
)
def test_the_browsers_clock_counts_where_a_frame_bears_it_out(
    said: float | None, expected: float
) -> None:
    frames = [
        moment(1, PictureState.PAINTED, PictureState.PAINTED),
        moment(2, PictureState.BLANK, PictureState.PAINTED),
        moment(3, PictureState.GOOD, PictureState.BLANK),
    ]
    assert painted_times(frames, [said, 0.2]) == [expected, None]


def test_without_the_browsers_word_on_all_pictures_frames_tell() -> None:
    frames = [moment(1, PictureState.BLANK), moment(2, PictureState.PAINTED)]
    assert painted_times(frames, []) == painted_times(frames, [1.5, 1.5]) == [2]
    assert painted_times([], [1.5]) == []


def test_sooner_progress_gives_a_lower_speed_index() -> None:
    early = [moment(1, progress=0.9), moment(10, progress=1.0)]
    late = [moment(1, progress=0.1), moment(10, progress=1.0)]
    assert speed_index(early) < speed_index(late)  # type: ignore[operator]


def test_the_first_scan_of_a_progressive_jpeg_is_found() -> None:
    out = io.BytesIO()
    photo().save(out, "JPEG", progressive=True)
    end = first_scan(out.getvalue())
    assert end is not None
    assert out.getvalue()[end : end + 2] in (b"\xff\xc4", b"\xff\xda")
    assert 0.02 < end / len(out.getvalue()) < 0.5


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\xd8", b"\x89PNG\r\n", b"\xff\xd8\xff\xda"])
def test_what_is_no_progressive_jpeg_has_no_first_scan(data: bytes) -> None:
    assert first_scan(data) is None


def test_a_baseline_jpeg_has_no_first_scan() -> None:
    out = io.BytesIO()
    photo().save(out, "JPEG", progressive=False)
    assert first_scan(out.getvalue()) is None

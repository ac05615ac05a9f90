"""Computes what a reader sees of a page from pictures of it. Pure: pixels in, figures out.

Pixels, because a picture may be refined in ways the document's own events don't show (further
scans, multipart parts, a style rule). All measures are taken at half scale, CAPTURE_SCALE, from
JPEG frames of one encoder, so the thresholds below hold for that scale only.

Speed Index: mean over time of what is still missing (WebPageTest's definition), with "missing" as
the mean pixel difference to the end, which unlike histograms sees where things are.
SSIM: Wang et al. 2004, on luma, in disjoint windows of 8x8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from PIL import Image, ImageChops, ImageMath, ImageStat

CAPTURE_SCALE: Final = 0.5
"""Frame pixels per CSS pixel. A quarter is too little: there the first scan already looks final."""
PAINTED_SHARE: Final = 0.5
"""Of the picture's own pixels: the rectangle is no longer blank over most of its area."""
PAINTED_DIFFERENCE: Final = 12
"""Of 255, in any channel: more than the ringing of a frame's JPEG beside a sharp edge."""
GOOD_SIMILARITY: Final = 0.98
"""SSIM at half scale, about 0.95 at full scale. Eight photos of 30-46 KB made progressive got there
with 22-39 % of their bytes; after their first scan they have 0.71-0.92."""
FINAL_DIFFERENCE: Final = 0.35
"""Mean of 255 at half scale. The last scan alone, of the same photos, is worth 0.5-1.2."""

_WINDOW: Final = 8
_C1: Final = (0.01 * 255) ** 2
_C2: Final = (0.03 * 255) ** 2
_PROGRESS_WIDTH: Final = 160
"""Pixels to which a whole page is reduced before its difference is taken."""


class PictureState(IntEnum):
    """How far one picture has come; each includes those before."""

    BLANK = 0
    PAINTED = 1
    GOOD = 2
    FINAL = 3


@dataclass(frozen=True, slots=True)
class FrameBox:
    """A picture's place in a frame, frame pixels."""

    left: int
    top: int
    right: int
    bottom: int

    def cut(self, image: Image.Image) -> Image.Image:
        return image.crop((self.left, self.top, self.right, self.bottom))


@dataclass(frozen=True, slots=True)
class Moment:
    """What one frame shows."""

    at: float
    """Seconds since navigation."""
    states: tuple[PictureState, ...]
    """Of the pictures, in document order."""
    progress: float
    """0 (the empty page) to 1 (the end)."""
    pixels: float = 0.0
    """Of the pixels that the page paints at all, the share that shows its last colour."""

    def share(self, state: PictureState) -> float:
        """The share of the pictures that have reached `state`; 1 when the page has none."""
        return sum(s >= state for s in self.states) / len(self.states) if self.states else 1.0


class Scene:
    """A page as it ends up, and how to judge a frame against it.

    `final`: a frame of the whole loaded page; `blank`: the same without the pictures' contents.
    """

    def __init__(
        self, *, final: Image.Image, blank: Image.Image, boxes: Iterable[FrameBox]
    ) -> None:
        self.final = final.convert("RGB")
        self.boxes = tuple(boxes)
        self._pairs = [(box.cut(blank.convert("RGB")), box.cut(self.final)) for box in self.boxes]
        self._small = _reduce(self.final)
        empty = Image.new("RGB", self._small.size, "white")
        self._whole = mean_difference(empty, self._small) or 1.0
        self._own = _changed(self.final, Image.new("RGB", self.final.size, "white"))
        self._area = self._own.histogram()[255]

    def judge(self, frame: Image.Image, *, at: float) -> Moment:
        """What `frame`, captured `at` seconds after navigation, shows."""
        frame = frame.convert("RGB")
        if frame.size != self.final.size:  # The page has not got its height yet.
            sized = Image.new("RGB", self.final.size, "white")
            sized.paste(frame)
            frame = sized
        states = (
            picture_state(box.cut(frame), blank=blank, final=final)
            for box, (blank, final) in zip(self.boxes, self._pairs, strict=True)
        )
        missing = mean_difference(_reduce(frame), self._small) / self._whole
        return Moment(at, tuple(states), min(1.0, max(0.0, 1.0 - missing)), self._pixels(frame))

    def _pixels(self, frame: Image.Image) -> float:
        """The share of the pixels that the page paints which look as they do at the end."""
        if not self._area:
            return 1.0
        missing = ImageChops.darker(self._own, _changed(frame, self.final)).histogram()[255]
        return 1.0 - missing / self._area


def picture_state(now: Image.Image, *, blank: Image.Image, final: Image.Image) -> PictureState:
    """How far a picture has come, from three crops of the same place."""
    if mean_difference(now, final) < FINAL_DIFFERENCE:
        return PictureState.FINAL
    if flat(now) or painted_share(now, blank=blank, final=final) < PAINTED_SHARE:
        return PictureState.BLANK
    return PictureState.GOOD if similarity(now, final) >= GOOD_SIMILARITY else PictureState.PAINTED


def mean_difference(a: Image.Image, b: Image.Image) -> float:
    """Mean absolute difference of two RGB images of one size, 0 to 255."""
    means = ImageStat.Stat(ImageChops.difference(a, b)).mean
    return sum(means) / len(means)


def painted_share(now: Image.Image, *, blank: Image.Image, final: Image.Image) -> float:
    """The share of the pixels that the finished picture changes which have changed; 0 to 1.

    A picture that ends up looking like its background has nothing to show: 1.
    """
    own = _changed(final, blank)
    area = own.histogram()[255]
    return ImageChops.darker(own, _changed(now, blank)).histogram()[255] / area if area else 1.0


def flat(image: Image.Image) -> bool:
    """One colour all over: an empty page, or a placeholder, but no picture."""
    bands = (band.getextrema() for band in image.convert("RGB").split())
    return all(high - low <= PAINTED_DIFFERENCE for low, high in bands)  # type: ignore[operator]


def _changed(a: Image.Image, b: Image.Image) -> Image.Image:
    """A mask, 255 where the two differ visibly in any channel."""
    red, green, blue = ImageChops.difference(a, b).split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return most.point([255 if value > PAINTED_DIFFERENCE else 0 for value in range(256)])


def similarity(a: Image.Image, b: Image.Image) -> float:
    """Mean SSIM of the luma of two images of one size; 1 when they are equal."""
    x, y = a.convert("L").convert("F"), b.convert("L").convert("F")
    squares = _product(x, x), _product(y, y), _product(x, y)
    total, count = 0.0, 0
    for mx, my, xx, yy, xy in zip(*map(_means, (x, y, *squares)), strict=True):
        structure = (2 * (xy - mx * my) + _C2) / (xx - mx * mx + yy - my * my + _C2)
        total += structure * (2 * mx * my + _C1) / (mx * mx + my * my + _C1)
        count += 1
    return total / count


def _means(image: Image.Image) -> list[float]:
    """The mean of each window."""
    reduced = image.reduce(_WINDOW)
    width, height = reduced.size
    pixels = reduced.load()
    assert pixels is not None
    return [float(pixels[x, y]) for y in range(height) for x in range(width)]  # type: ignore[arg-type]


def _product(a: Image.Image, b: Image.Image) -> Image.Image:
    product = ImageMath.lambda_eval(lambda names: names["a"] * names["b"], a=a, b=b)
    assert isinstance(product, Image.Image)
    return product


def _reduce(image: Image.Image) -> Image.Image:
    return image.reduce(max(1, image.width // _PROGRESS_WIDTH))


def reached(moments: Sequence[Moment], state: PictureState) -> float | None:
    """Seconds until every picture had reached `state` for good; None: that never happened."""
    return since(moments, lambda moment: all(s >= state for s in moment.states))


def since(moments: Sequence[Moment], holds: Callable[[Moment], bool]) -> float | None:
    """When the first of the unbroken run of moments at the end began for which `holds` is true."""
    began = None
    for moment in moments:
        if not holds(moment):
            began = None
        elif began is None:
            began = moment.at
    return began


def painted_times(moments: Sequence[Moment], said: Sequence[float | None]) -> list[float | None]:
    """By picture: seconds until it was painted, for good; None: that never happened.

    `said`: when the browser painted a whole version of each; empty: it does not tell. That counts
    where it is sooner than a frame and the next frame bears it out: a browser calls an empty
    placeholder painted, a frame comes up to a quarter of a second late.
    """
    count = len(moments[-1].states) if moments else 0
    clocks = said if len(said) == count else [None] * count
    return [_painted(moments, number, at) for number, at in enumerate(clocks)]


def _painted(moments: Sequence[Moment], number: int, said: float | None) -> float | None:
    seen = since(moments, lambda moment: moment.states[number] >= PictureState.PAINTED)
    if seen is None or said is None or said >= seen:
        return seen
    frame = next(moment.at for moment in moments if moment.at >= said)
    return said if frame == seen else seen


def speed_index(moments: Sequence[Moment], *, begun: float | None = None) -> float | None:
    """Seconds: what is missing, integrated from navigation to the last frame; None: no frame.

    From the first paint, `begun`, to the first frame progress is taken to grow evenly.
    """
    if not moments:
        return None
    first = moments[0]
    total, before, missing = 0.0, 0.0, 1.0
    if begun is not None and begun < first.at:
        total, before = begun, first.at
        total += (first.at - begun) * (2.0 - first.progress) / 2
        missing = 1.0 - first.progress
    for moment in moments:
        total += (moment.at - before) * missing
        before, missing = moment.at, 1.0 - moment.progress
    return total

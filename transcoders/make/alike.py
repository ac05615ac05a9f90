"""The fewest bytes in which a picture looks the same at the size that it is shown at.

How much quality that takes differs by a factor of four between pictures, so it is found by
measuring: each try is decoded again and compared with the pixels that it stands for, by SSIM (Wang
et al. 2004) of luma. AVIF where the browser takes it, else WebP; both have alpha.

Knows pixels and qualities; does not know levels, the link, or how large anything is shown.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from math import ceil, log
from typing import Final

import PIL.AvifImagePlugin
import PIL.WebPImagePlugin  # noqa: F401 - both register themselves
from PIL import Image, ImageMath

from transcoders.formats.pixels import encode
from transcoders.make.still import AVIF, MAX_WEBP_SIDE, type_of
from transcoders.picture import Unfit

WINDOW: Final = 8
"""Pixels; SSIM is the mean over windows of so many in a square, none over another."""
_C1: Final = (0.01 * 255) ** 2
_C2: Final = (0.03 * 255) ** 2
QUALITIES: Final = (10, 95)
"""Between which it is looked for."""
FIRST: Final = 60
"""The quality that is tried first: a news page's photos need 49 to 66."""
SLOPE: Final = 0.03
"""By which the logarithm of what is missing falls with a point of quality, until two tries have
told of this picture."""
TRIES: Final = 5
"""At most: two or three come near enough."""
_AIM: Final = 0.95
"""Of what may be missing, that a try is aimed at: one just beside it is of no use."""
NEAR: Final = 0.004
"""More than is wanted, at which another try would save little."""
_HOW: Final[Mapping[str, Mapping[str, object]]] = {
    "AVIF": {"speed": 8, "subsampling": "4:2:0", "max_threads": 1, "autotiling": False},
    "WEBP": {"method": 4},
}


def alike(pixels: Image.Image, icc: bytes, *, least: float, avif: bool) -> tuple[bytes, str]:
    """A file with an SSIM of `least` or more, in few bytes, and its media type.

    Raises Unfit where there is none, or what Pillow raises.
    """
    if max(pixels.size) > MAX_WEBP_SIDE:
        raise Unfit(f"{pixels.width} x {pixels.height} is too large for it")
    kind = type_of(avif=avif)
    name = "AVIF" if kind == AVIF else "WEBP"
    quality, slope = FIRST, SLOPE
    tried: dict[int, float] = {}
    found: bytes | None = None
    while len(tried) < TRIES and quality not in tried:
        made = encode(pixels, name, quality=quality, icc_profile=icc, exif=b"", **_HOW[name])
        seen = similarity(_decoded(made, pixels.mode), pixels)
        if seen >= least and (found is None or len(made) < len(found)):
            found = made
        if 0.0 <= seen - least <= NEAR:
            break
        missing = log(max(1.0 - seen, 1e-6))
        for other, there in tried.items():
            if there != missing and other != quality:
                slope = min(max((there - missing) / (quality - other), SLOPE / 4), 4 * SLOPE)
        tried[quality] = missing
        more = (missing - log(_AIM * (1.0 - least))) / slope
        quality = min(max(quality + ceil(more), QUALITIES[0]), QUALITIES[1])
    if found is None:
        raise Unfit("it would not look the same")
    return found, kind


def _decoded(data: bytes, mode: str) -> Image.Image:
    return Image.open(io.BytesIO(data), formats=("AVIF", "WEBP")).convert(mode)


def similarity(one: Image.Image, two: Image.Image) -> float:
    """Mean SSIM of the luma of two images of one size; 1 when they are equal. Of alpha as well,
    where they have it, and then the lesser."""
    if one.mode == "RGBA" and two.mode == "RGBA":
        shown = (_on_grey(image) for image in (one, two))
        alpha = _ssim(one.getchannel("A"), two.getchannel("A"))
        return min(alpha, _ssim(*(image.convert("L") for image in shown)))
    return _ssim(one.convert("L"), two.convert("L"))


def _on_grey(image: Image.Image) -> Image.Image:
    """As it is seen: what is transparent may have any colour."""
    return Image.alpha_composite(Image.new("RGBA", image.size, (128, 128, 128, 255)), image)


def _ssim(one: Image.Image, two: Image.Image) -> float:
    x, y = one.convert("F"), two.convert("F")
    window = min(WINDOW, *x.size)
    xx, yy, xy = _product(x, x), _product(y, y), _product(x, y)
    means = [image.reduce(window) for image in (x, y, xx, yy, xy)]
    names = dict(zip(("mx", "my", "xx", "yy", "xy"), means, strict=True))
    found = ImageMath.lambda_eval(
        lambda n: (
            (2 * n["mx"] * n["my"] + _C1)
            * (2 * (n["xy"] - n["mx"] * n["my"]) + _C2)
            / (
                (n["mx"] * n["mx"] + n["my"] * n["my"] + _C1)
                * (n["xx"] - n["mx"] * n["mx"] + n["yy"] - n["my"] * n["my"] + _C2)
            )
        ),
        **names,
    )
    assert isinstance(found, Image.Image)
    mean = found.resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
    assert isinstance(mean, float)
    return mean


def _product(one: Image.Image, two: Image.Image) -> Image.Image:
    product = ImageMath.lambda_eval(lambda names: names["a"] * names["b"], a=one, b=two)
    assert isinstance(product, Image.Image)
    return product

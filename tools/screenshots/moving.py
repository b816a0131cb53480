"""Makes the moving picture of the README and the strip of its styles from photographs.

`python -m tools.screenshots.moving church.jpg boats.jpg dog.jpg -o docs/painted.webp --strip
docs/styles.webp` takes two minutes on two cores. A line sweeps over each painting and reveals the
next one.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from app.stylist import Stylist

Pixels = NDArray[np.uint8]

SIZE = (960, 540)
STYLES = (
    "candy", "starry_night", "mosaic", "great_wave", "rain_princess", "udnie", "composition_vii",
    "scream", "wreck",
)  # fmt: skip
HOLD_MS, STEP_MS = 900, 50
STEPS = 14  # of a sweep
LINE = 3  # pixels wide
QUALITY = 62
TILE = 200  # pixels, of the strip


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, nargs="+", metavar="PHOTO")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a WebP")
    parser.add_argument("--strip", type=Path, help="a WebP: the first photograph in every style")
    arguments = parser.parse_args()
    if arguments.strip:
        _save_strip(arguments.photos[0], arguments.strip)
    paintings = _paintings(arguments.photos)
    frames, times = [], []
    for before, after in pairwise([*paintings, paintings[0]]):
        frames.append(before)
        times.append(HOLD_MS)
        for step in range(1, STEPS):
            frames.append(_swept(before, after, step / STEPS))
            times.append(STEP_MS)
    first, *others = map(Image.fromarray, frames)
    first.save(
        arguments.output,
        save_all=True,
        append_images=others,
        duration=times,
        loop=0,
        quality=QUALITY,
        method=6,
        minimize_size=True,
    )


def _save_strip(photo: Path, output: Path) -> None:
    """Paint a photograph in all styles, side by side."""
    strip = Image.new("RGB", (TILE * len(STYLES), TILE))
    picture = _cropped(photo)
    for number, style in enumerate(STYLES):
        painting = Image.fromarray(Stylist(style)([picture])[0])
        tile = ImageOps.fit(painting, (TILE, TILE), Image.Resampling.LANCZOS, centering=(0.6, 0.5))
        strip.paste(tile, (TILE * number, 0))
    strip.save(output, quality=80, method=6)


def _paintings(photos: list[Path]) -> list[Pixels]:
    """Paint every photograph in its share of the styles."""
    each = -(-len(STYLES) // len(photos))
    found: list[Pixels] = []
    for number, style in enumerate(STYLES):
        found.append(Stylist(style)([_cropped(photos[number // each])])[0])
    return found


def _cropped(path: Path) -> Pixels:
    """Return the middle of a photograph, enlarged to SIZE."""
    with Image.open(path) as image:
        return np.asarray(ImageOps.fit(image.convert("RGB"), SIZE, Image.Resampling.LANCZOS))


def _swept(before: Pixels, after: Pixels, share: float) -> Pixels:
    """Return `after` to the left of a white line at `share` of the width, `before` to the right."""
    at = round(share * SIZE[0])
    frame = before.copy()
    frame[:, :at] = after[:, :at]
    frame[:, at : at + LINE] = 255
    return frame


if __name__ == "__main__":
    main()

"""Measures mattes on films of photographs that move like a person in front of still photographs.

`python -m benchmarks.quality.mattes PHOTOS JSON [SHEET]` reads a folder of photographs, stores the
results as JSON, and writes a contact sheet of frames with their mattes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import numpy as np
import torch
from numpy.typing import NDArray

from app.engine.matting.scene import FRAMES, Scene
from app.engine.matting.source import SceneMatte
from app.provenance import report_header
from benchmarks.quality.contact_sheet import save_sheet
from benchmarks.quality.inputs import load_photographs
from benchmarks.storing import store
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
Floats = NDArray[np.float32]  # [H, W]
Band = NDArray[np.bool_]  # [H, W]

SIZE = 360, 640  # height, width
FILMS, WALK, STILL = 8, 60, 20  # films, and frames of each
EDGE = 9  # pixels: the band around the true edge in which flicker is measured
GREEN = (40, 170, 90)  # behind the person, on the sheet


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a film is recorded.

    Attributes:
        noise: Deviation of the camera's noise, of 255.
        drift: Largest change of the exposure, as a share.
        shadow: Share of light that the person takes from the wall.
    """

    name: str
    noise: float = 2.0
    drift: float = 0.0
    shadow: float = 0.0


CONDITIONS = (
    Conditions("even light"),
    Conditions("exposure that drifts", drift=0.12),
    Conditions("shadows", shadow=0.3),
    Conditions("all, and a poor camera", noise=4.0, drift=0.08, shadow=0.2),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one film.

    Attributes:
        overlap: Mean intersection over union with the true matte.
        least: The smallest of a frame.
        moving_flicker: Mean change of the error from frame to frame along the person's motion, in
            the band at the edge, while the person walks.
        still_flicker: The same, while the person stands still.
        milliseconds: Median time of a matte, at 640x360.
    """

    film: int
    conditions: str
    overlap: float
    least: float
    moving_flicker: float
    still_flicker: float
    milliseconds: float


def person_at(x: float, y: float, turn: float) -> Floats:
    """Return the true matte of a person with the neck at a pixel, and an arm at an angle."""
    matte = np.zeros(SIZE, np.uint8)

    def fixed(right: float, down: float) -> tuple[int, int]:
        return round(16 * (x + right)), round(16 * (y + down))

    head, body = (16 * 45, 16 * 60), (16 * 110, 16 * 130)
    cv2.ellipse(matte, fixed(0, -90), head, 0, 0, 360, 255, -1, cv2.LINE_AA, 4)
    cv2.ellipse(matte, fixed(0, 95), body, 0, 0, 360, 255, -1, cv2.LINE_AA, 4)
    hand = fixed(85 + 100 * np.cos(turn), 50 + 100 * np.sin(turn))
    cv2.line(matte, fixed(75, 60), hand, 255, 35, cv2.LINE_AA, 4)
    return np.asarray(matte / 255, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A frame of a film, with its true matte, and the place of the person's neck in pixels."""

    frame: Pixels
    true: Floats
    place: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Error:
    """The error of a matte, and the band around the true edge."""

    error: Floats
    band: Band
    place: tuple[float, float]


def film(
    room: Pixels, clothes: Pixels, how: Conditions, frames: int, *, walks: bool
) -> Iterator[Shot]:
    """Yield the frames of a film."""
    rng, (height, width) = np.random.default_rng(0), SIZE
    for n in range(frames):
        step = n if walks else 0
        x = float(width * (0.5 + 0.22 * np.sin(step / 17)))
        y = float(height * (0.58 + 0.02 * np.sin(step / 9)))
        true = person_at(x, y, -1 + 0.5 * np.sin(step / 8))
        moved = np.array([[1, 0, x - width / 2], [0, 1, y - height / 2]], np.float32)
        worn = cv2.warpAffine(clothes, moved, (width, height), borderMode=cv2.BORDER_REFLECT)
        cast = cv2.GaussianBlur(np.roll(true, 30, 1), (0, 0), 12)
        wall = room * (1 - how.shadow * cast[..., None])
        light = 1 + how.drift * np.sin(n / 25) * np.array((1.0, 0.9, 1.0))
        frame = (wall + true[..., None] * (worn - wall)) * light
        yield Shot(_recorded(frame, how, rng), true, (x, y))


def measure(number: int, room: Pixels, clothes: Pixels, how: Conditions) -> tuple[Row, Pixels]:
    """Measure a film; return its results, and its last frame with the person alone."""
    rng = np.random.default_rng(1)
    scene = Scene.of_frames([_recorded(room, how, rng) for _ in range(FRAMES)])
    overlaps: list[float] = []
    spent: list[float] = []
    errors: list[Error] = []
    still: list[Error] = []
    cut, mattes, green = room, SceneMatte(scene), np.full_like(room, GREEN)
    for n, shot in enumerate(film(room, clothes, how, WALK, walks=True)):
        begun = time.perf_counter()
        matte = mattes.of(shot.frame, 0.0, continues=n > 0)
        cut = matte.mixed(shot.frame, green, swapped=False)
        spent.append(time.perf_counter() - begun)
        found = matte.at(shot.frame)
        common, all_of = np.minimum(found, shot.true), np.maximum(found, shot.true)
        overlaps.append(float(common.sum() / all_of.sum()))
        errors.append(_error(found, shot))
    steady = SceneMatte(scene)
    for n, shot in enumerate(film(room, clothes, how, STILL, walks=False)):
        still.append(_error(steady.of(shot.frame, 0.0, continues=n > 0).at(shot.frame), shot))
    flickers = _flicker(errors), _flicker(still[5:])
    figures = fmean(overlaps), min(overlaps), *flickers, 1e3 * median(spent)
    return Row(number, how.name, *(round(figure, 4) for figure in figures)), cut


def _recorded(
    frame: Pixels | NDArray[np.floating], how: Conditions, rng: np.random.Generator
) -> Pixels:
    rough = rng.standard_normal(frame.shape) * how.noise
    return np.asarray((frame + rough).clip(0, 255).round(), np.uint8)


def _error(found: Floats, shot: Shot) -> Error:
    edge = cv2.morphologyEx(shot.true, cv2.MORPH_GRADIENT, np.ones((EDGE, EDGE), np.uint8))
    return Error(found - shot.true, np.asarray(edge, np.float32) > 0, shot.place)


def _flicker(errors: Sequence[Error]) -> float:
    """Return the mean change from frame to frame along the person's motion, in each band."""
    return fmean(
        float(np.abs(now.error - _moved(before, now.place))[now.band].mean())
        for before, now in pairwise(errors)
    )


def _moved(before: Error, place: tuple[float, float]) -> Floats:
    right, down = place[0] - before.place[0], place[1] - before.place[1]
    motion = np.array([[1, 0, right], [0, 1, down]], np.float32)
    return np.asarray(cv2.warpAffine(before.error, motion, SIZE[::-1]), np.float32)


def _filling(pixels: Pixels) -> Pixels:
    """Scale and cut a photograph to SIZE."""
    height, width = SIZE
    scale = max(height / pixels.shape[0], width / pixels.shape[1])
    how = cv2.INTER_CUBIC
    large = np.asarray(cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=how), np.uint8)
    top, left = (large.shape[0] - height) // 2, (large.shape[1] - width) // 2
    return np.ascontiguousarray(large[top : top + height, left : left + width])


def main(arguments: Sequence[str]) -> int:
    """Measure, print and store; see the module for the arguments."""
    folder, report, *sheet = map(Path, arguments)
    names = sorted(path.name for path in folder.iterdir())
    every = len(names) // (2 * FILMS)
    chosen = [names[every * n + every // 2] for n in range(2 * FILMS)]
    given = load_photographs([folder / name for name in chosen], None, SIZE[1])
    photographs = [_filling(each.pixels) for each in given]
    rows: list[Row] = []
    pictures: list[tuple[str, list[Pixels]]] = []
    for number in range(FILMS):
        room, clothes = photographs[number], photographs[FILMS + number]
        cuts: list[Pixels] = []
        for how in CONDITIONS:
            row, cut = measure(number, room, clothes, how)
            rows.append(row)
            cuts.append(cut)
            sys.stdout.write(f"{row}\n")
        pictures.append((str(number), [room, *cuts]))
    header = report_header(torch.device("cpu"), [])
    results = {"size": list(SIZE), "photographs": chosen, "films": [asdict(row) for row in rows]}
    store(report, {**header, "mattes": results})
    for path in sheet:
        columns = ["empty scene", *(how.name for how in CONDITIONS)]
        save_sheet(path, columns, pictures, SIZE[1] // 2)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measurement of the steadiness of films in a style, for `styleforge quality --films`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.errors import StyleForgeError
from app.frame import Frame
from app.sources.video_decoder import VideoReader
from app.styles.catalog import Catalog
from benchmarks.quality.film_flicker import FilmFlicker, FilmFlickerMeter
from benchmarks.quality.inputs import QualityError
from utils.opencv import cv2
from utils.text import printable

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
SMALLEST = 32  # pixels of the short side; networks accept no smaller picture


@dataclass(frozen=True, slots=True)
class FilmPlan:
    """Options for measuring films.

    Attributes:
        frames: Maximum frames of each, from its beginning.
        size: Maximum long side in pixels; larger frames are scaled down.
        smoothing: Amounts of smoothing, 0 to 1, each measured separately.
    """

    films: tuple[Path, ...]
    frames: int
    size: int
    smoothing: tuple[float, ...]
    kernels: str
    device: str

    def conditions(self) -> dict[str, Any]:
        return {
            "files": [path.name for path in self.films],
            "frames": self.frames,
            "size": self.size,
            "smoothing": list(self.smoothing),
        }


def check_films(plan: FilmPlan) -> None:
    """Read the first frames of each film, before a measurement of minutes.

    Raises:
        QualityError: If a film cannot be played, or has too few or too small frames.
    """
    for path in plan.films:
        first = list(islice(frames_of(path, plan), 2))
        if len(first) < 2:
            raise QualityError(
                f"the film '{printable(path.name)}' has fewer than two frames to compare"
            )
        if min(first[0].shape[:2]) < SMALLEST:
            raise QualityError(
                f"the film '{printable(path.name)}' is too narrow: at a size of {plan.size} its "
                f"short side has {min(first[0].shape[:2])} pixels, and {SMALLEST} are needed"
            )


def frames_of(path: Path, plan: FilmPlan) -> Iterator[Pixels]:
    """Decode a film's first frames in the plan's size.

    Raises:
        QualityError: If the film cannot be opened.
    """
    try:
        reader = VideoReader(path)
    except StyleForgeError as exc:
        raise QualityError(str(exc)) from exc
    try:
        for _, pixels in islice(reader, plan.frames):
            yield _fit(pixels, plan.size)
    finally:
        reader.close()


def measure_films(plan: FilmPlan, packs: Path, key: str) -> list[dict[str, Any]]:
    """Measure every film in one style, as `stylize` makes its frames; return a row per film.

    Raises:
        QualityError: If a film has no two frames that show the same scene.
    """
    catalog = Catalog(packs, packs / "none")
    rows: list[dict[str, Any]] = []
    for path in plan.films:
        try:
            flicker = _flicker(plan, catalog, path, key)
        except ValueError as exc:
            raise QualityError(f"'{printable(path.name)}': {exc}") from exc
        rows.append(
            {
                "film": path.name,
                "source": flicker.source,
                "seen": flicker.seen,
                "compared": flicker.compared,
                "cuts": flicker.cuts,
                "levels": list(flicker.outputs),
                "ratios": list(flicker.ratios),
            }
        )
    return rows


def _flicker(plan: FilmPlan, catalog: Catalog, path: Path, key: str) -> FilmFlicker:
    engines = [Engine(catalog) for _ in plan.smoothing]  # each engine has its own history
    for engine, amount in zip(engines, plan.smoothing, strict=True):
        engine.configure(
            EngineConfig(
                style=key,
                smoothing=amount,
                size=plan.size,
                kernels=plan.kernels,
                device=plan.device,
            )
        )
    meter = FilmFlickerMeter()
    for index, pixels in enumerate(frames_of(path, plan)):
        frame = Frame(pixels, index)
        styled = [engine.process(frame, ProcessMode.SEQUENCE) for engine in engines]
        meter.add(pixels, [each.frame.pixels for each in styled])
    return meter.flicker


def _fit(pixels: Pixels, size: int) -> Pixels:
    height, width, _ = pixels.shape
    scale = size / max(height, width)
    if scale >= 1:
        return pixels
    fitted = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(pixels, fitted, interpolation=cv2.INTER_AREA), np.uint8)

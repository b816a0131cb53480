"""Measurement of streams that move their last painting, for `styleforge quality --fluid`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.sources.scene import SceneRenderer
from app.styles.catalog import Catalog
from benchmarks.quality.contact_sheet import save_sheet
from benchmarks.quality.film_flicker import FilmFlickerMeter
from benchmarks.quality.films import FilmPlan, frames_of
from kernels.frames.native_moving import NativeMover
from kernels.frames.native_smoothing import is_ready

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB

SHOWN = 30  # frames a second, of a film that is played in real time
RATES = (3, 5, 8, 12)  # paintings a second
SCENE = "scene"
WAYS = ("repeated", "blended", "moved")  # the fields of _Shown
SHEET_RATE, SHEET_EVERY, SHEET_CELL = 5, 3, 256  # paintings a second, frames, pixels


class _Shown(NamedTuple):
    """The picture of a stream at a frame, in each of WAYS."""

    repeated: Pixels
    blended: Pixels
    moved: Pixels


@dataclass(frozen=True, slots=True)
class FluidPlan:
    """Options for the measurement.

    Attributes:
        films: Their frames and size; the animated scene is measured as well.
        sheets: Where to write sheets, one per film and style, named FILE-STYLE-FILM; or None.
    """

    films: FilmPlan
    sheets: Path | None

    def conditions(self) -> dict[str, Any]:
        films = self.films
        return {
            "films": [*(path.name for path in films.films), SCENE],
            "frames": films.frames,
            "size": films.size,
            "shown": SHOWN,
        }


def measure_fluid(
    plan: FluidPlan, packs: Path, key: str, say: Callable[[str], object]
) -> list[dict[str, Any]]:
    """Measure a style; return a row for each film and rate.

    Each frame is painted, which gives the painting that a stream should show. A stream of a rate
    begins a painting with the newest frame when the one before is done, and shows it from then on.

    Raises:
        QualityError: If a film cannot be played.
        KeyError: If the native library that moves paintings is not loaded.
    """
    is_ready()
    catalog = Catalog(packs, packs / "none")
    rows: list[dict[str, Any]] = []
    for name, frames in _films(plan.films):
        say(f"{key}: {name}")
        painted = _painted(plan.films, catalog, key, frames)
        for rate in RATES:
            first, shown = _stream(frames, painted, rate)
            rows.append({"film": name, "rate": rate, **_measured(frames, painted, first, shown)})
            if plan.sheets is not None and rate == SHEET_RATE:
                path = plan.sheets.with_stem(f"{plan.sheets.stem}-{key}-{Path(name).stem}")
                _save_sheet(path, frames[first:], painted[first:], shown)
    return rows


def _films(plan: FilmPlan) -> Iterator[tuple[str, list[Pixels]]]:
    for path in plan.films:
        yield path.name, list(frames_of(path, plan))
    scene = SceneRenderer(plan.size, plan.size * 9 // 16)
    yield SCENE, [scene.render(number / SHOWN) for number in range(plan.frames)]


def _painted(plan: FilmPlan, catalog: Catalog, key: str, frames: Sequence[Pixels]) -> list[Pixels]:
    engine = Engine(catalog)
    engine.configure(
        EngineConfig(
            style=key,
            size=plan.size,
            network="full",
            fluid=False,
            kernels=plan.kernels,
            device=plan.device,
        )
    )
    return [
        engine.process(Frame(pixels, index), ProcessMode.LIVE).frame.pixels
        for index, pixels in enumerate(frames)
    ]


def _stream(
    frames: Sequence[Pixels], painted: Sequence[Pixels], rate: int
) -> tuple[int, list[_Shown]]:
    """Return the first frame that has a painting before its own, and what each shows from it on."""
    interval = SHOWN / rate
    first, begun = int(2 * interval) + 1, -1
    height, width, _ = frames[0].shape
    mover, shown = NativeMover(height, width), list[_Shown]()
    for number in range(first, len(frames)):
        newest = int((number - interval) // interval * interval)
        if newest != begun:
            mover.painted(painted[newest], frames[newest])
            begun = newest
        before = painted[max(int(newest - interval), 0)]
        share = min(1.0, (number - newest - interval) / interval)
        blended = before + (painted[newest].astype(np.float32) - before) * np.float32(share)
        blended = np.rint(blended).astype(np.uint8)
        shown.append(_Shown(painted[newest], blended, mover.shown(frames[number])))
    return first, shown


def _measured(
    frames: Sequence[Pixels], painted: Sequence[Pixels], first: int, shown: Sequence[_Shown]
) -> dict[str, Any]:
    """Return the mean difference to the painting of each frame, and the flicker, of each way."""
    meter, sums = FilmFlickerMeter(), np.zeros(len(WAYS))
    for source, wanted, each in zip(frames[first:], painted[first:], shown, strict=True):
        sums += [float(np.abs(way.astype(np.int16) - wanted).mean()) for way in each]
        meter.add(source, [wanted, *each])
    ratios = meter.flicker.ratios
    return {
        "frames": len(shown),
        "difference": dict(zip(WAYS, (sums / len(shown)).tolist(), strict=True)),
        "flicker": dict(zip(("painted", *WAYS), ratios, strict=True)),
    }


def _save_sheet(
    path: Path, frames: Sequence[Pixels], painted: Sequence[Pixels], shown: Sequence[_Shown]
) -> None:
    every = islice(zip(frames, painted, shown, strict=True), 0, None, SHEET_EVERY)
    rows = [
        (str(number * SHEET_EVERY), [frame, wanted, each.repeated, each.moved])
        for number, (frame, wanted, each) in enumerate(every)
    ]
    columns = ["Frame", "Painted", "Repeated", "Moved"]
    save_sheet(path, columns, rows, SHEET_CELL)

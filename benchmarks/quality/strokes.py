"""Sheets and flicker of strokes with a direction, for `styleforge quality --strokes`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.options import AS_THEY_ARE, FOLLOW, SWIRL
from app.parameters import AUTO
from app.styles.catalog import Catalog
from app.styles.pack import DEFAULT_TEXTURES, Style
from benchmarks.quality.contact_sheet import Pixels, save_sheet
from benchmarks.quality.film_flicker import FilmFlickerMeter
from benchmarks.quality.films import FilmPlan, frames_of
from benchmarks.quality.inputs import Photograph, QualityError
from models.evaluation import flicker
from models.evaluation.image_metrics import to_pixels, to_tensor
from models.training.run import fit
from utils.text import printable

DIRECTIONS: tuple[float | str, ...] = (FOLLOW, SWIRL, 45.0)  # degrees
OWN = "own"  # the direction of the style itself
FRAMES = 24  # number of frames to measure flicker on

Say = Callable[[str], object]


@dataclass(frozen=True, slots=True, eq=False)
class StrokesPlan:
    """Options for evaluating strokes with a direction.

    Attributes:
        sheet: Path of the sheets, named FILE-KEY-SIZE, FILE-SIZE and FILE-paintings; or None.
        photographs: The same photographs by the long side they were resized to, in pixels.
        directions: FOLLOW, SWIRL, OWN or degrees; compared with strokes as they are.
        length: The length of strokes, 0 to 1; None for the style's own.
        paintings: Pictures to make styles from.
        networks: "full" and "lite", or one of them. Styles without a lite network are painted by
            the full one.
        originals: Whether sheets begin with the photographs and paintings themselves.
        flicker_photographs: The number of photographs to measure flicker on, at the first size.
        cell: Maximum long side of a picture on a sheet, in pixels.
        quality: Quality of sheets in JPEG and WebP, 0 to 100.
        texture: The amount of texture, 0 to 1; None for the style's own.
    """

    sheet: Path | None
    photographs: Mapping[int, Sequence[Photograph]]
    directions: tuple[float | str, ...]
    length: float | None
    paintings: tuple[Path, ...]
    networks: tuple[str, ...]
    films: FilmPlan
    originals: bool
    flicker_photographs: int
    cell: int
    quality: int
    texture: float | None
    kernels: str
    device: str

    def conditions(self) -> dict[str, Any]:
        films = {"films": self.films.conditions()} if self.films.films else {}
        return {
            "sizes": list(self.photographs),
            "directions": list(self.directions),
            "length": self.length,
            "photographs": [each.name for each in next(iter(self.photographs.values()))],
            "flicker_photographs": self.flicker_photographs,
            "frames": FRAMES,
            "texture": self.texture,
            **films,
        }

    @property
    def columns(self) -> tuple[float | str, ...]:
        return (AS_THEY_ARE, *self.directions)

    def config(self, style: Style, network: str, size: int, direction: float | str) -> EngineConfig:
        return EngineConfig(
            style=style.key,
            network=network,
            size=size,
            kernels=self.kernels,
            device=self.device,
            strokes_direction=AUTO if direction == OWN else direction,
            strokes_length=AUTO if self.length is None else self.length,
            fluid=False,
            texture=AUTO if self.texture is None else self.texture,
        )


def direction_word(direction: float | str) -> str:
    """Return a direction as `--strokes-direction` takes it."""
    return direction if isinstance(direction, str) else f"{direction:g}"


def save_sheets(
    plan: StrokesPlan, catalog: Catalog, style: Style, say: Say
) -> dict[int, list[Pixels]]:
    """Save the sheets of one style; return the row of the first photograph by size."""
    engine, first = Engine(catalog), dict[int, list[Pixels]]()
    for size, photographs in plan.photographs.items():
        columns, shown = _originals(plan, photographs)
        columns += _titles(plan)
        for name in plan.networks:
            for direction in plan.columns:
                say(f"{style.title}, {name}, {size} px: {direction_word(direction)}")
                engine.configure(plan.config(style, name, size, direction))
                for row, photograph in zip(shown, photographs, strict=True):
                    row.append(fit(_painted(engine, photograph.pixels), plan.cell))
        labels = [Path(photograph.name).stem for photograph in photographs]
        _save(plan, f"{style.key}-{size}", columns, list(zip(labels, shown, strict=True)))
        first[size] = shown[0]
    return first


def save_styles(plan: StrokesPlan, firsts: Mapping[str, Mapping[int, list[Pixels]]]) -> None:
    """Save a sheet for each size with a row for each style, from what `save_sheets` returned.

    Args:
        firsts: By the styles' titles.
    """
    for size in plan.photographs:
        columns = [*(["Photograph"] if plan.originals else []), *_titles(plan)]
        rows = [(title, first[size]) for title, first in firsts.items()]
        _save(plan, str(size), columns, rows)


def measure_strokes(
    plan: StrokesPlan, catalog: Catalog, style: Style, say: Say
) -> dict[str, list[dict[str, Any]]]:
    """Measure how much more streams and films flicker with strokes in each direction.

    Returns:
        "scenes" has a row for each network with `still` and `panned`, and "films" one for each film
        with `films`: per direction, the flicker in a stream divided by the flicker of strokes as
        they are.
    """
    size, photographs = next(iter(plan.photographs.items()))
    chosen = photographs[: plan.flicker_photographs]
    scenes: list[dict[str, Any]] = []
    for name in plan.networks if chosen else ():
        say(f"{style.title}, {name}, {size} px: flicker")
        scenes.append({"network": name, **_flicker(plan, catalog, style, name, chosen)})
    films: list[dict[str, Any]] = []
    for path in plan.films.films:
        say(f"{style.title}: {path.name}")
        films.append({"film": path.name, "films": _film_flicker(plan, catalog, style, path)})
    return {"scenes": scenes, "films": films}


def paint_paintings(plan: StrokesPlan, say: Say) -> list[dict[str, Any]]:
    """Make a style from each painting, and save a sheet of photographs in these styles.

    The sheet has a row for each painting, and two columns for each photograph of the first size:
    strokes as they are with the default texture, and the painting's own strokes and texture.

    Returns:
        A row for each painting with the direction and the length of its strokes.
    """
    size, photographs = next(iter(plan.photographs.items()))
    columns = ["Painting"] if plan.originals else []
    for each in photographs:
        columns += [f"{Path(each.name).stem}: {AS_THEY_ARE}", OWN]
    rows: list[tuple[str, list[Pixels]]] = []
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="styleforge-") as folder:
        catalog = Catalog.default()
        for number, path in enumerate(plan.paintings):
            say(printable(path.name))
            style = catalog.include_picture(path, Path(folder, f"style_{number}"))
            row = {"direction": style.strokes_direction, "length": style.strokes_length}
            found.append({"painting": path.name, **row})
            pictures = list(_paintings(plan, catalog, style, photographs, size))
            label = f"{path.stem}: {style.strokes_direction}, {style.strokes_length:g}"
            rows.append((label, pictures))
    if plan.sheet is not None:
        _save(plan, "paintings", columns, rows)
    return found


def _paintings(
    plan: StrokesPlan,
    catalog: Catalog,
    style: Style,
    photographs: Sequence[Photograph],
    size: int,
) -> Iterator[Pixels]:
    from utils.images.reading import read_pixels

    if plan.originals and style.picture is not None:
        yield fit(read_pixels(style.picture), plan.cell)
    engine, network = Engine(catalog), plan.networks[0]
    own = plan.config(style, network, size, OWN)
    plain, _ = DEFAULT_TEXTURES[style.family]
    if plan.texture is not None:
        plain = plan.texture
    for photograph in photographs:
        for config in (replace(own, texture=plain, strokes_direction=AS_THEY_ARE), own):
            engine.configure(config)
            yield fit(_painted(engine, photograph.pixels), plan.cell)


def _titles(plan: StrokesPlan) -> list[str]:
    return [
        f"{name.capitalize()}: {direction_word(direction)}"
        for name in plan.networks
        for direction in plan.columns
    ]


def _originals(
    plan: StrokesPlan, photographs: Sequence[Photograph]
) -> tuple[list[str], list[list[Pixels]]]:
    if not plan.originals:
        return [], [[] for _ in photographs]
    return ["Photograph"], [[fit(each.pixels, plan.cell)] for each in photographs]


def _painted(engine: Engine, pixels: Pixels) -> Pixels:
    return engine.process(Frame(pixels), ProcessMode.REFINE).frame.pixels.copy()


def _save(
    plan: StrokesPlan,
    name: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Pixels]]],
) -> None:
    assert plan.sheet is not None
    path = plan.sheet.with_stem(f"{plan.sheet.stem}-{name}")
    save_sheet(path, columns, rows, plan.cell, plan.quality)


def _flicker(
    plan: StrokesPlan,
    catalog: Catalog,
    style: Style,
    network: str,
    photographs: Sequence[Photograph],
) -> dict[str, list[float]]:
    """Measure each direction; means over the photographs."""
    meters = {"still": flicker.still_flicker, "panned": flicker.panned_flicker}
    found: dict[str, list[float]] = {}
    for name, meter in meters.items():
        ratios: list[list[float]] = []
        for photograph in photographs:
            picture = to_tensor(photograph.pixels, torch.device("cpu"))
            size = max(photograph.pixels.shape)
            values = [
                meter(
                    _stream(Engine(catalog), plan.config(style, network, size, each)),
                    picture,
                    frames=FRAMES,
                )
                for each in plan.columns
            ]
            ratios.append([value / values[0] for value in values[1:]])
        found[name] = [fmean(each) for each in zip(*ratios, strict=True)]
    return found


def _stream(engine: Engine, config: EngineConfig) -> Callable[[Tensor], Tensor]:
    """Return a function that paints [N, 3, H, W], 0 to 255, as consecutive frames of a stream."""
    engine.configure(config)
    painted = 0

    def paint(frames: Tensor) -> Tensor:
        nonlocal painted
        results: list[Tensor] = []
        for frame in frames:
            given = Frame(to_pixels(frame[None]), painted)
            result = engine.process(given, ProcessMode.SEQUENCE).frame.pixels
            results.append(to_tensor(result.copy(), frames.device))
            painted += 1
        return torch.cat(results)

    return paint


def _film_flicker(plan: StrokesPlan, catalog: Catalog, style: Style, path: Path) -> list[float]:
    """Measure each direction.

    Raises:
        QualityError: If the film has no two frames that show the same scene.
    """
    network = plan.networks[0]
    engines = [Engine(catalog) for _ in plan.columns]
    for engine, direction in zip(engines, plan.columns, strict=True):
        engine.configure(plan.config(style, network, plan.films.size, direction))
    meter = FilmFlickerMeter()
    for index, pixels in enumerate(frames_of(path, plan.films)):
        frame = Frame(pixels, index)
        styled = [engine.process(frame, ProcessMode.SEQUENCE) for engine in engines]
        meter.add(pixels, [each.frame.pixels for each in styled])
    try:
        plain, *others = meter.flicker.outputs
    except ValueError as exc:
        raise QualityError(f"'{printable(path.name)}': {exc}") from exc
    return [each / plain for each in others]

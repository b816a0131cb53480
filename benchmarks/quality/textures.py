"""Evaluation of texture, for `styleforge quality --texture-sheet`: sheets and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from app.engine.texture import Texture, flatness
from benchmarks.quality.contact_sheet import Pixels, save_sheet
from benchmarks.quality.inputs import Photograph, StyleUnderTest
from benchmarks.quality.objective_metrics import Styler, styler
from models.evaluation import flicker
from models.evaluation.image_metrics import to_pixels, to_tensor
from models.precision import Precision
from models.training.run import fit
from utils.opencv import cv2

AMOUNTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of texture, on the sheets
CELL = 256  # maximum long side of a picture on a sheet, in pixels
FRAMES = 24  # number of frames to measure flicker on
# flatness from which a part counts as flat, and up to which as structured
FLAT, STRUCTURED = 0.9, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class TexturePlan:
    """Options for evaluating texture.

    Attributes:
        sheet: Path of the sheets, one for each style and size, named FILE-KEY-SIZE.
        photographs: The same photographs by the long side they were resized to, in pixels.
    """

    sheet: Path
    photographs: Mapping[int, Sequence[Photograph]]
    kernels: str
    device: torch.device
    flicker_photographs: int

    def conditions(self) -> dict[str, Any]:
        return {
            "sizes": list(self.photographs),
            "amounts": list(AMOUNTS),
            "frames": FRAMES,
            "flicker_photographs": self.flicker_photographs,
        }


def textured(network: Styler, amount: float) -> Styler:
    """Return the network, on [N, 3, H, W], with texture (0 to 1) that follows one stream."""
    texture = Texture()

    def styled(x: Tensor) -> Tensor:
        pictures = [
            texture.apply((to_pixels(frame[None]),), amount, continues=True)[0] for frame in x
        ]
        return network(torch.cat([to_tensor(picture, x.device) for picture in pictures]))

    return styled


def measure_texture(
    plan: TexturePlan, subject: StyleUnderTest, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Evaluate the texture of one style, and store its sheets.

    Returns:
        A row for each size and network. `changed` has, for AMOUNTS without the first, the
        difference in levels (0-255) from the picture without texture, in flat and in structured
        parts of the photograph. These are means over the photographs that have such parts. `still`
        and `panned` are, for the style's own amount in streams, the flicker with texture relative
        to the flicker without.
    """
    title = subject.pack.title
    rows: list[dict[str, Any]] = []
    for size, photographs in plan.photographs.items():
        shown: list[list[Pixels]] = [[fit(each.pixels, CELL)] for each in photographs]
        columns = ["Photograph"]
        for name, state in subject.networks.items():
            say(f"{title}: texture, {name}, {size} px")
            network, _ = styler(state, plan.kernels, Precision.fp32, plan.device)
            changed = [
                _painted(network, photograph.pixels, row, plan.device)
                for photograph, row in zip(photographs, shown, strict=True)
            ]
            columns += [f"{name.capitalize()} {amount:.0%}" for amount in AMOUNTS]
            rows.append(
                {
                    "size": size,
                    "network": name,
                    "changed": [
                        {"amount": amount, "flat": _mean(flat), "structured": _mean(structured)}
                        for amount, (flat, structured) in zip(
                            AMOUNTS[1:],
                            (zip(*each, strict=True) for each in zip(*changed, strict=True)),
                            strict=True,
                        )
                    ],
                    **_flicker(plan, network, photographs, subject.pack.stream_texture),
                }
            )
        path = plan.sheet.with_stem(f"{plan.sheet.stem}-{subject.pack.key}-{size}")
        names = [Path(photograph.name).stem for photograph in photographs]
        save_sheet(path, columns, list(zip(names, shown, strict=True)), CELL)
    return rows


def _painted(
    network: Styler, pixels: Pixels, row: list[Pixels], device: torch.device
) -> list[tuple[float | None, float | None]]:
    """Paint a photograph with each of AMOUNTS, and add the results to its `row` of a sheet.

    Returns:
        For all amounts but the first, the levels changed in flat and in structured parts of the
        photograph; None if it has no such part.
    """
    flat = flatness(np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), np.uint8))
    changed: list[tuple[float | None, float | None]] = []
    plain = np.zeros((), np.uint8)
    for amount in AMOUNTS:
        (given,) = Texture().apply((pixels,), amount, continues=False)
        result = to_pixels(network(to_tensor(given, device)))
        row.append(fit(result, CELL))
        if not amount:
            plain = result
            continue
        levels = np.abs(result.astype(np.float32) - plain).mean(axis=2)
        parts = flat >= FLAT, flat <= STRUCTURED
        where = [float(levels[part].mean()) if part.any() else None for part in parts]
        changed.append((where[0], where[1]))
    return changed


def _flicker(
    plan: TexturePlan, network: Styler, photographs: Sequence[Photograph], amount: float
) -> dict[str, Any]:
    """Return how much more a stream flickers with texture than without; empty if not measured."""
    chosen = [to_tensor(each.pixels, plan.device) for each in photographs]
    chosen = chosen[: plan.flicker_photographs]
    if not chosen:
        return {}
    found: dict[str, Any] = {"stream": amount}
    meters = {"still": flicker.still_flicker, "panned": flicker.panned_flicker}
    for name, meter in meters.items():
        plain = fmean(meter(network, picture, frames=FRAMES) for picture in chosen)
        found[name] = (
            fmean(meter(textured(network, amount), picture, frames=FRAMES) for picture in chosen)
            / plain
        )
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None

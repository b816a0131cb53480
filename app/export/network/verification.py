"""Comparison of a file's results in its runtime with our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from app.engine.post.blending import peak_difference
from app.sources.scene import render
from models.precision import Precision
from models.runtimes.program import Pictures
from models.runtimes.runtime import Compiled
from utils.translation.numbers import number
from utils.translation.texts import tr

SIZES = ((160, 112), (88, 136))  # (width, height) of the compared pictures
ROUNDING = 0.5  # of 255, for results in integers


@dataclass(frozen=True, slots=True)
class Verified:
    """The difference between a file's results and ours.

    Attributes:
        difference: The largest absolute difference, on 0-255.
        psnr: The lowest PSNR in dB.
        bound: The required bound, as text.
    """

    difference: float
    psnr: float
    bound: str
    agrees: bool
    sizes: tuple[tuple[int, int], ...]

    @property
    def figures(self) -> str:
        return tr(
            "{difference} of 255 at most, PSNR {psnr} dB",
            difference=f"{self.difference:.2g}",
            psnr=number(self.psnr, 1),
        )


def verify(
    run: Compiled,
    ours: Callable[[Tensor], Tensor],
    pictures: Pictures,
    precision: Precision,
    sizes: Sequence[tuple[int, int]] = SIZES,
) -> Verified:
    """Stylize pictures of the scene with both networks, and compare the results.

    Args:
        run: Maps pictures in the form of `pictures`.
        ours: Maps [1, 3, H, W], RGB 0-255, float32 on the CPU.
        precision: `Precision.agree` defines how close results must be.
        sizes: (width, height) of the pictures.
    """
    apart = [_apart(run, ours, pictures, size, 1.0 + n) for n, size in enumerate(sizes)]
    difference, psnr = max(d for d, _ in apart), min(p for _, p in apart)
    rounding = 0.0 if pictures.planes else ROUNDING
    agrees, bound = precision.agree(difference - rounding, psnr)
    if rounding and precision.value.max_difference is not None:
        bound = tr("{bound}, plus rounding", bound=bound)
    finite = all(np.isfinite(d) for d, _ in apart)
    return Verified(difference, psnr, bound, agrees and finite, tuple(sizes))


def _apart(
    run: Compiled,
    ours: Callable[[Tensor], Tensor],
    pictures: Pictures,
    size: tuple[int, int],
    seconds: float,
) -> tuple[float, float]:
    """Return the largest difference, and the PSNR in dB, for the scene at a time in `seconds`."""
    pixels = np.ascontiguousarray(render(seconds, *size))[None]  # [1, H, W, 3] uint8
    planes = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32)
    with torch.inference_mode():
        expected = ours(torch.from_numpy(planes)).clamp(0, 255)
    found = torch.from_numpy(run(planes if pictures.planes else pixels)).float()
    return peak_difference(found if pictures.planes else found.permute(0, 3, 1, 2), expected)

"""The plain network under torch.compile, timed as the engine times its own networks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from app.engine.comparison import BASELINE
from app.engine.stage_timer import Stopwatch
from app.engine.style_weights import ActiveWeights
from models.precision import Precision, computing

Pixels = NDArray[np.uint8]


class CompiledNetwork:
    """The baseline of a style, compiled at its first picture. Not thread-safe."""

    def __init__(self, active: ActiveWeights, precision: Precision, device: torch.device) -> None:
        family = active.family
        module: Any = family.build_on(active.network, BASELINE, device, precision)
        family.load_into(module, active.state)
        self._precision, self._device = precision, device
        self._call = torch.compile(module, dynamic=False)

    def raw(self, pixels: Pixels) -> Tensor:
        """Return a picture's unrounded values, [H, W, 3] float32, about 0-255, on the device."""
        with self._computing():
            return self._run(torch.as_tensor(pixels[None]).to(self._device))[0]

    def milliseconds(self, pixels: Pixels) -> float:
        """Paint a picture, from uint8 to uint8, and return the time."""
        clock = Stopwatch(self._device)
        with self._computing():
            frames = torch.as_tensor(pixels[None]).to(self._device)
            clock.mark("upload")
            raws = self._run(frames)
            clock.mark("network")
            (raws.clamp(0, 255) + 0.5).to(torch.uint8).contiguous().cpu()
            clock.mark("download")
        timings = clock.read()
        return timings.upload + timings.network + timings.download

    def _run(self, frames: Tensor) -> Tensor:
        x = frames.permute(0, 3, 1, 2).to(self._precision.value.dtype).contiguous()
        return self._call(x).permute(0, 2, 3, 1).float()

    @contextmanager
    def _computing(self) -> Iterator[None]:
        from torch._inductor import config  # the import takes seconds

        # One thread compiles: the pool of processes would outlive the measurement.
        with (
            torch.inference_mode(),
            computing(self._precision, self._device),
            config.patch(compile_threads=1),
        ):
            yield

    def forget(self) -> None:
        """Free the compiled code, of which PyTorch keeps a limited amount per process."""
        torch.compiler.reset()

"""The precisions `styleforge bench` measures, and how PyTorch is set to each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from models.precision import Precision, tf32_allowed


@dataclass(frozen=True, slots=True)
class MathMode:
    """One precision, with what a benchmark has to know of it."""

    precision: Precision

    @property
    def name(self) -> str:
        return self.precision.name

    @property
    def title(self) -> str:
        return self.precision.title

    @property
    def tf32(self) -> bool:
        """Whether a GPU may multiply FP32 numbers as TF32."""
        return self.precision.value.tf32

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and pictures."""
        return self.precision.value.dtype

    @property
    def activation_bytes(self) -> int:
        """What an activation takes; autocast keeps them in half precision."""
        return 2 if self.precision.value.autocast else self.dtype.itemsize

    @contextmanager
    def on(self, device: torch.device) -> Iterator[None]:
        """Within, PyTorch computes this way on `device`."""
        half = torch.float16 if device.type == "cuda" else torch.bfloat16
        with (
            tf32_allowed(self.precision.value.tf32),
            torch.autocast(device.type, half, enabled=self.precision.value.autocast),
        ):
            yield


FP32, TF32 = MathMode(Precision.fp32), MathMode(Precision.tf32)
MATH_MODES = {precision.name: MathMode(precision) for precision in Precision}


def math_modes_of(device: torch.device) -> dict[str, MathMode]:
    """Those of MATH_MODES that `device` knows: TF32 needs a GPU that has it."""
    has_tf32 = (
        device.type == "cuda"
        and torch.cuda.get_device_capability(device) >= Precision.tf32.value.capability
    )
    return {name: mode for name, mode in MATH_MODES.items() if mode != TF32 or has_tf32}

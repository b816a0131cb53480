"""The precisions that `styleforge bench` measures, and PyTorch's settings for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from models.precision import Precision, int8_allowed, tf32_allowed


@dataclass(frozen=True, slots=True)
class MathMode:
    """One precision with the properties that a benchmark needs."""

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
        return self.precision.value.dtype

    @property
    def activation_bytes(self) -> int:
        """Bytes per activation; autocast stores activations in half precision."""
        return 2 if self.precision.value.autocast else self.dtype.itemsize

    @contextmanager
    def applied(self, device: torch.device) -> Iterator[None]:
        """Return a context in which PyTorch computes with this precision on `device`."""
        half = torch.float16 if device.type == "cuda" else torch.bfloat16
        with (
            tf32_allowed(self.precision.value.tf32),
            int8_allowed(self.precision.value.int8),
            torch.autocast(device.type, half, enabled=self.precision.value.autocast),
        ):
            yield


FP32, TF32, INT8 = map(MathMode, (Precision.fp32, Precision.tf32, Precision.int8))
MATH_MODES = {precision.name: MathMode(precision) for precision in Precision}


def supported_math_modes(device: torch.device) -> dict[str, MathMode]:
    on_ampere = (TF32, INT8)  # FP32 and FP16 elsewhere
    has_both = (
        device.type == "cuda"
        and torch.cuda.get_device_capability(device) >= Precision.tf32.value.capability
    )
    return {name: mode for name, mode in MATH_MODES.items() if mode not in on_ampere or has_both}

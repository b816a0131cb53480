"""The arithmetics `styleforge bench` measures: every precision, and FP32 with TF32 allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from models.precision import Precision

TF32_CAPABILITY = (8, 0)


@dataclass(frozen=True, slots=True)
class MathMode:
    """A precision, and whether a GPU may multiply FP32 with the ten bits of TF32."""

    name: str
    title: str
    precision: Precision
    tf32: bool

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
        before = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = self.tf32
        try:
            with torch.autocast(device.type, half, enabled=self.precision.value.autocast):
                yield
        finally:
            torch.backends.cudnn.allow_tf32 = before


FP32 = MathMode("fp32", Precision.fp32.title, Precision.fp32, tf32=False)
TF32 = MathMode("tf32", "TF32", Precision.fp32, tf32=True)
# In the others TF32 is left as PyTorch has it by default.
OTHERS = [MathMode(p.name, p.title, p, tf32=True) for p in Precision if p is not Precision.fp32]
ARITHMETICS = {arithmetic.name: arithmetic for arithmetic in (FP32, TF32, *OTHERS)}


def arithmetics_of(device: torch.device) -> dict[str, MathMode]:
    """Those of ARITHMETICS that `device` knows."""
    knows_tf32 = (
        device.type == "cuda" and torch.cuda.get_device_capability(device) >= TF32_CAPABILITY
    )
    return {name: a for name, a in ARITHMETICS.items() if a is not TF32 or knows_tf32}

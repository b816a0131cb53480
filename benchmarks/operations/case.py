"""One operation at one shape, as `bench --operations` measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

Way = Callable[[], Tensor]


@dataclass(frozen=True, slots=True)
class Case:
    """One operation at one shape.

    Attributes:
        precision: "FP32" (TF32 off), "TF32", "FP16" or "BF16".
        layout: "NCHW", "NHWC", or in words.
        ours: Our implementation; with True, always our own kernel.
        unavailable_reason: Why our own kernel is not the default; empty if it is.
    """

    operation: str
    shape: str
    precision: str
    layout: str
    pytorch: Way
    ours: Callable[[bool], Tensor]
    reference: Way
    unavailable_reason: Callable[[], str] = str

    @property
    def measures_compiled(self) -> bool:
        """Whether to measure torch.compile too, which takes long."""
        return self.layout == "NCHW" and self.operation in ("instance norm", "residual block")

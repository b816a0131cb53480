"""The choice between our convolution kernel and cuDNN's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FasterCase:
    """Convolutions for which our kernel is faster than cuDNN; every field must match.

    Attributes:
        min_stride: Minimum of the larger stride.
        max_outputs: Maximum number of output channels; 0 for any.
        kernel: Kernel side; 0 for any.
        exact: Whether it matches only FP32 without TF32; `channels_last` and `upsample` likewise.
    """

    min_stride: int = 0
    max_outputs: int = 0
    kernel: int = 0
    exact: bool = False
    channels_last: bool = False
    upsample: bool = False


# Measured on an H200, see benchmarks/reports/operations.json.
FASTER_CASES = (
    FasterCase(min_stride=2),
    FasterCase(upsample=True),
    FasterCase(exact=True, max_outputs=8),
    FasterCase(exact=True, kernel=3, channels_last=True),
)


def own_kernel_is_faster(
    *, stride: int, outputs: int, kernel: int, exact: bool, channels_last: bool, upsample: bool
) -> bool:
    """Return whether our kernel is faster than cuDNN: whether a row of FASTER_CASES matches.

    `stride` is the larger one, and `exact` means FP32 without TF32.
    """
    return any(
        stride >= row.min_stride
        and (not row.max_outputs or outputs <= row.max_outputs)
        and (not row.kernel or kernel == row.kernel)
        and exact >= row.exact
        and channels_last >= row.channels_last
        and upsample >= row.upsample
        for row in FASTER_CASES
    )

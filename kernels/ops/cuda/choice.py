"""Whether our kernel or cuDNN computes a convolution."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FasterCase:
    """Convolutions that our kernel computes faster than cuDNN: those for which every field holds.

    Attributes:
        min_stride: At least, in the direction that has the larger one.
        max_outputs: Channels of the result at most; 0 for any number.
        kernel: Taps on a side; 0 for any number.
        exact: Only FP32 without TF32.
        channels_last: Only inputs that are.
        upsample: Only after an enlargement.
    """

    min_stride: int = 0
    max_outputs: int = 0
    kernel: int = 0
    exact: bool = False
    channels_last: bool = False
    upsample: bool = False


# Measured on an H200, see benchmarks/operations.json.
FASTER_CASES = (
    FasterCase(min_stride=2),
    FasterCase(upsample=True),
    FasterCase(exact=True, max_outputs=8),
    FasterCase(exact=True, kernel=3, channels_last=True),
)


def own_kernel_is_faster(
    *, stride: int, outputs: int, kernel: int, exact: bool, channels_last: bool, upsample: bool
) -> bool:
    """Whether our kernel computes a convolution faster than cuDNN: a row of FASTER_CASES holds.

    Args:
        stride: The larger of the two.
        outputs: Channels of the result.
        kernel: Taps on a side.
        exact: Whether it is computed in FP32, without TF32.
        channels_last: Whether the input is.
        upsample: Whether it follows an enlargement to twice the size.
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

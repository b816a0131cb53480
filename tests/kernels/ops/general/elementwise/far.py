"""Numbers far from zero and close to it, and a comparison with PyTorch's results for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

_SIZES = (0.0, 1e-40, 0.5, 9.0, 13.3, 20.5, 44.7, 86.0, 88.2, 100.0, 1e4, 1e10, 1e30, 1e38, 3e38)
_NUMBERS = (*_SIZES, *(-size for size in _SIZES), math.inf, -math.inf, math.nan)


def far_numbers(dtype: torch.dtype, device: str = "cpu", operation: str = "") -> Tensor:
    """Return the numbers sixteen times, so that whole vectors and remainders contain each.

    For an operation with a GELU, numbers that PyTorch's own GELU computes wrongly are left out.
    """
    x = torch.tensor(_NUMBERS * 16, dtype=torch.float64).to(device, dtype)
    too_large = x > torch.finfo(dtype).max / 2
    return x[~too_large] if "gelu" in operation and _gelu_overflows() else x


def _gelu_overflows() -> bool:
    """Return whether PyTorch doubles x within its GELU, as 2.13's AVX-512 code does.

    It then gives inf for finite numbers beyond half of the largest one, and NaN for inf.
    """
    return bool(F.gelu(torch.full((64,), torch.inf)).isnan().any())


def assert_as_pytorch(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> None:
    """Check that NaN and infinities agree, and other numbers agree within PyTorch's rounding."""
    for mine, right in zip(ours, theirs, strict=True):
        unit = torch.finfo(mine.dtype).eps
        assert mine.dtype == right.dtype
        torch.testing.assert_close(mine, right, atol=8 * unit, rtol=8 * unit, equal_nan=True)

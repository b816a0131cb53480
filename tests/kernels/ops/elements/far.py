"""Numbers far from zero and close to it, and a comparison with PyTorch's results for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

_SIZES = (0.0, 1e-40, 0.5, 9.0, 13.3, 20.5, 44.7, 86.0, 88.2, 100.0, 1e4, 1e10, 1e30, 1e38, 3e38)
_NUMBERS = (*_SIZES, *(-size for size in _SIZES), math.inf, -math.inf, math.nan)


def far_numbers(dtype: torch.dtype, device: str = "cpu") -> Tensor:
    """Return the numbers sixteen times, so that whole vectors and remainders contain each."""
    return torch.tensor(_NUMBERS * 16, dtype=torch.float64).to(device, dtype)


def assert_as_pytorch(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> None:
    """Check that NaN and infinities agree, and other numbers agree within PyTorch's rounding."""
    for mine, right in zip(ours, theirs, strict=True):
        unit = torch.finfo(mine.dtype).eps
        assert mine.dtype == right.dtype
        torch.testing.assert_close(mine, right, atol=8 * unit, rtol=8 * unit, equal_nan=True)

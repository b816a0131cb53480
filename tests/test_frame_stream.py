"""What is told of a picture from the range of its values; the rest needs a GPU (test_gpu.py)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.frame_stream import is_broken


def ranges(low: float, high: float, *, finite: bool = True) -> torch.Tensor:
    """As the kernels leave them: integers that have the order of the floats."""
    bits = np.array([low, high], np.float32).view(np.int32)
    orders = np.where(bits >= 0, bits, bits ^ np.int32(0x7FFFFFFF)).tolist()
    return torch.tensor([[*orders, int(not finite)]], dtype=torch.int32)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 255.0), (-103.5, -2.25), (-1e-30, 1e-30), (-300.0, 400.0)]
)
def test_a_picture_of_several_finite_values_is_good(low, high):
    assert not is_broken(ranges(low, high))


@pytest.mark.parametrize(
    "broken",
    [
        ranges(7.5, 7.5),
        ranges(-3.0, -3.0),
        ranges(0.0, 255.0, finite=False),
        ranges(-np.inf, 255.0),
        ranges(0.0, np.inf),
        ranges(np.inf, -np.inf),  # nothing but NaN
    ],
    ids=["constant", "negative constant", "not finite", "below all", "above all", "no value"],
)
def test_a_picture_of_one_value_or_of_none_is_broken(broken):
    assert is_broken(broken)

"""The settings of PyTorch for each precision."""

from __future__ import annotations

import pytest
import torch

from benchmarks.network.math_modes import FP32, MATH_MODES, TF32, supported_math_modes
from models.precision import Precision

CPU = torch.device("cpu")


def test_every_precision_is_an_arithmetic_and_tf32_and_int8_are_on_a_gpu_alone():
    assert {a.precision for a in MATH_MODES.values()} == set(Precision)
    assert set(MATH_MODES) - set(supported_math_modes(CPU)) == {"tf32", "int8"}


@pytest.mark.parametrize("before", [False, True])
def test_an_arithmetic_decides_on_tf32_and_leaves_it_as_it_was(before, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", before)
    for arithmetic, allowed in ((FP32, False), (TF32, True)):
        with arithmetic.applied(CPU):
            assert torch.backends.cudnn.allow_tf32 is allowed
        with pytest.raises(ValueError, match="whatever"), arithmetic.applied(CPU):
            raise ValueError("whatever")
        assert torch.backends.cudnn.allow_tf32 is before


def test_autocast_keeps_activations_in_half_precision():
    taken = {name: arithmetic.activation_bytes for name, arithmetic in MATH_MODES.items()}
    assert taken == {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "amp": 2, "int8": 2}

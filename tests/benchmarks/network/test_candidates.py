"""The compiled ways to run a network."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.network.candidates import COMPILE_MODES, COMPILED, compiled_candidate
from models.precision import Precision

CPU = torch.device("cpu")


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # from PyTorch itself
@pytest.mark.parametrize("mode", COMPILE_MODES)
def test_the_compiler_knows_the_options_of_every_mode(mode):
    candidate = compiled_candidate(
        COMPILED, "Compiled", nn.Identity(), mode, Precision.fp32, CPU
    )  # raises for unknown options
    assert candidate.is_compiled

"""The reference of the errors."""

from __future__ import annotations

import torch

from benchmarks.network.float64 import in_float64
from models.transformer_net import TransformerNetBaseline


def test_float64_in_strips_is_the_same_network(monkeypatch):
    # several strips even at this size
    monkeypatch.setattr("benchmarks.network.float64.STRIP_BYTES", 50_000)
    torch.manual_seed(0)
    network = TransformerNetBaseline(num_residual_blocks=1)
    x = torch.rand(1, 3, 36, 44, dtype=torch.float64) * 255
    with torch.inference_mode():
        whole = network.double()(x)
        torch.testing.assert_close(in_float64(network)(x), whole, rtol=1e-12, atol=1e-9)

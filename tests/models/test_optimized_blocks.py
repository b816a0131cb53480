"""Norms and blocks of the any-style network, against PyTorch's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from models.optimized_blocks import AdaIN, TransformerBlock, mean_tokens, normalize


def test_normalizing_is_instance_norm():
    x = torch.randn(2, 5, 9, 7) * 3 + 2
    torch.testing.assert_close(normalize(x, (2, 3)), nn.functional.instance_norm(x))


@pytest.mark.parametrize("shape", [(2, 30, 6), (2, 6, 5, 6)])
def test_a_code_decides_mean_and_deviation(shape):
    torch.manual_seed(0)
    inject = AdaIN(6, 4)
    nn.init.normal_(inject.affine.bias)
    code = torch.randn(2, 4)
    painted = inject(torch.randn(shape) * 5 - 1, code)
    scale, shift = inject.affine(code).chunk(2, -1)
    dims = (2, 3) if len(shape) == 4 else (1,)
    variance, mean = torch.var_mean(painted, dims, correction=0)
    torch.testing.assert_close(mean, shift, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(variance.sqrt(), (1 + scale).abs(), atol=1e-4, rtol=1e-4)


def test_the_last_groups_of_tokens_are_averaged_over_what_is_there():
    tokens = torch.arange(15.0).reshape(1, 15, 1)  # 3 rows of 5
    found = mean_tokens(tokens, (3, 5), 2)
    assert found.flatten().tolist() == [3.0, 5.0, 6.5, 10.5, 12.5, 14.0]


def test_shared_keys_of_equal_tokens_change_nothing():
    torch.manual_seed(0)
    block = TransformerBlock(32, 2, 48)
    x = torch.randn(1, 1, 32).expand(1, 48, 32)
    torch.testing.assert_close(block(x, (6, 8), 2), block(x, (6, 8)))


def test_a_block_of_plain_layers_has_the_same_weights_and_results():
    torch.manual_seed(0)
    fused, plain = TransformerBlock(32, 2, 48), TransformerBlock(32, 2, 48, fused=False)
    plain.load_state_dict(fused.state_dict())
    x = torch.randn(2, 48, 32)
    for stride in (1, 3):
        torch.testing.assert_close(fused(x, (6, 8), stride), plain(x, (6, 8), stride))

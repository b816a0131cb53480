"""The wrappers compute the same as PyTorch's layers, with the same state dicts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from models.custom_attention_wrapper import CustomMultiheadAttention, FusedFFNWrapper


def attention_pair(dim: int = 48, heads: int = 3) -> tuple[nn.MultiheadAttention, nn.Module]:
    torch.manual_seed(0)
    plain = nn.MultiheadAttention(dim, heads, batch_first=True)
    nn.init.normal_(plain.in_proj_bias)
    ours = CustomMultiheadAttention(dim, heads)
    ours.load_state_dict(plain.state_dict())
    return plain, ours


def test_the_state_dict_is_that_of_multihead_attention():
    plain, ours = attention_pair()
    theirs = {key: value.shape for key, value in plain.state_dict().items()}
    assert {key: value.shape for key, value in ours.state_dict().items()} == theirs
    plain.load_state_dict(ours.state_dict())


def test_attention_to_itself_is_that_of_multihead_attention():
    plain, ours = attention_pair()
    x = torch.randn(2, 35, 48)
    torch.testing.assert_close(ours(x), plain(x, x, x, need_weights=False)[0])


def test_attention_to_a_context_is_that_of_multihead_attention():
    plain, ours = attention_pair()
    x, context = torch.randn(2, 35, 48), torch.randn(2, 9, 48)
    expected = plain(x, context, context, need_weights=False)[0]
    torch.testing.assert_close(ours(x, context), expected)


def test_features_that_the_heads_cannot_share_are_refused():
    with pytest.raises(ValueError, match=r"50 features.*3 heads"):
        CustomMultiheadAttention(50, 3)


def test_the_feed_forward_network_is_linear_gelu_linear():
    torch.manual_seed(0)
    ours = FusedFFNWrapper(24, 60)
    plain = nn.Sequential(nn.Linear(24, 60), nn.GELU("tanh"), nn.Linear(60, 24))
    names = {"0": "fc1", "2": "fc2"}
    state = {f"{names[key[0]]}{key[1:]}": value for key, value in plain.state_dict().items()}
    ours.load_state_dict(state)
    x = torch.randn(2, 7, 24)
    torch.testing.assert_close(ours(x), plain(x))

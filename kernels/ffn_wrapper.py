"""The feed-forward network of a transformer as a module, on the fused operation."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from kernels.ops.transformer.ffn.api import fused_ffn_forward


class FusedFFN(nn.Module):
    """Linear, GELU, Linear, and optionally the sum with the input.

    The layers are `fc1` and `fc2`, with the state dicts of nn.Linear.

    Args:
        approximate: "none" for the exact GELU, "tanh" for its approximation.
        residual: Whether to add the input to the result.
    """

    def __init__(
        self,
        embed_dim: int,
        hidden_dim: int,
        bias: bool = True,
        approximate: Literal["none", "tanh"] = "none",
        residual: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, hidden_dim, bias, device, dtype)
        self.fc2 = nn.Linear(hidden_dim, embed_dim, bias, device, dtype)
        self.approximate, self.residual = approximate, residual

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network to [..., E] of the parameters' dtype.

        Raises:
            ValueError: If the number of channels differs or the approximation is unknown.
        """
        weights = self.fc1.weight, self.fc1.bias, self.fc2.weight, self.fc2.bias
        return fused_ffn_forward(x, *weights, True, self.approximate, x if self.residual else None)

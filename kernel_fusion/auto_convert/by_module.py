"""Replaces neighbors in nn.Sequential, for models that cannot be exported as a graph."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch import Tensor, nn

from kernel_fusion.auto_convert.forward import has_hooks
from kernel_fusion.modules import (
    FusedConv2dBNReLU,
    FusedLayerNormGELU,
    FusedLayerNormReLU,
    FusedLinearGELU,
    FusedLinearReLU,
)

# By layer and activation: the class that the layer gets, which keeps its parameters, and the kind.
PAIRS: dict[tuple[type[nn.Module], type[nn.Module]], tuple[type[nn.Module], str]] = {
    (nn.Linear, nn.ReLU): (FusedLinearReLU, "linear_relu"),
    (nn.Linear, nn.GELU): (FusedLinearGELU, "linear_gelu"),
    (nn.LayerNorm, nn.ReLU): (FusedLayerNormReLU, "layernorm_relu"),
    (nn.LayerNorm, nn.GELU): (FusedLayerNormGELU, "layernorm_gelu"),
}


class PassedConv2d(nn.Conv2d):
    """Holds the parameters of a convolution that a later module computes."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class PassedBatchNorm2d(nn.BatchNorm2d):
    """Holds the parameters of a norm that a later module computes."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class ConvBNReLU(nn.Module):
    """Computes a convolution, a norm and a ReLU whose parameters are elsewhere."""

    def __init__(self, conv: nn.Conv2d, bn: nn.BatchNorm2d) -> None:
        super().__init__()
        self.__dict__["layers"] = FusedConv2dBNReLU(conv, bn)  # not in the state dict

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layers to [N, in, H, W]."""
        return self.__dict__["layers"](input)


def replace_neighbors(model: nn.Module) -> dict[str, int]:
    """Replace layers of a model in place; the state dict keeps its keys.

    Returns:
        By kind, how many were replaced.
    """
    found: Counter[str] = Counter()
    for sequence in [module for module in model.modules() if type(module) is nn.Sequential]:
        for at in range(len(sequence)):
            layers: list[Any] = list(sequence)[at : at + 3]
            kinds: Any = tuple(map(type, layers))
            is_exact = len(layers) > 1 and getattr(layers[1], "approximate", "none") == "none"
            if kinds[:2] in PAIRS and is_exact and not any(map(has_hooks, layers[:2])):
                layers[0].__class__, kind = PAIRS[kinds[:2]]
                sequence[at + 1] = nn.Identity()
                found[kind] += 1
            elif kinds == (nn.Conv2d, nn.BatchNorm2d, nn.ReLU) and not any(map(has_hooks, layers)):
                try:
                    sequence[at + 2] = ConvBNReLU(layers[0], layers[1])
                except ValueError:
                    continue  # of a kind that has no fused form: it stays as it is
                layers[0].__class__, layers[1].__class__ = PassedConv2d, PassedBatchNorm2d
                found["conv_bn_relu"] += 1
    return dict(found)

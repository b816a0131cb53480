"""Fuses neighbors in nn.Sequential, for models that cannot be exported as a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from kernel_fusion.auto_convert.watched import GLOBAL_HOOKS, HOOKS
from kernel_fusion.modules import (
    FusedConv2dBNReLU,
    FusedLayerNormGELU,
    FusedLayerNormReLU,
    FusedLinearGELU,
    FusedLinearReLU,
)

# By layer and activation: the class whose forward computes both from the layer's parameters.
PAIRS: dict[tuple[type[nn.Module], ...], tuple[Any, str]] = {
    (nn.Linear, nn.ReLU): (FusedLinearReLU, "linear_relu"),
    (nn.Linear, nn.GELU): (FusedLinearGELU, "linear_gelu"),
    (nn.LayerNorm, nn.ReLU): (FusedLayerNormReLU, "layernorm_relu"),
    (nn.LayerNorm, nn.GELU): (FusedLayerNormGELU, "layernorm_gelu"),
}
CONVOLUTION = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)


class FusedSequential(nn.Sequential):
    """A sequence that looks for neighbors to compute together, at every call without gradients."""

    def forward(self, input: Tensor) -> Tensor:
        if torch.is_grad_enabled() or any(GLOBAL_HOOKS):
            alone: Any = super()
            return alone.forward(input)
        layers, at = list(self), 0
        while at < len(layers):
            _, count, run = fused(layers[at : at + 3])
            input, at = run(input), at + count
        return input


def fused(layers: list[nn.Module]) -> tuple[str, int, Callable[[Tensor], Tensor]]:
    """Return the first neighbors' kind ("" for a single layer), their number and their call."""
    kinds = tuple(map(type, layers))
    if kinds[:2] in PAIRS and all(map(_is_plain, layers[:2])):
        made, kind = PAIRS[kinds[:2]]
        if getattr(layers[1], "approximate", "none") == "none":
            run: Any = made.forward
            return kind, 2, lambda x: run(layers[0], x)
    if kinds == CONVOLUTION and all(map(_is_plain, layers)):
        try:
            whole = FusedConv2dBNReLU(*layers[:2])  # type: ignore[arg-type]
        except ValueError:
            pass  # the convolution has no fused form
        else:
            return "conv_bn_relu", 3, whole.forward
    return "", 1, layers[0]


def _is_plain(layer: nn.Module) -> bool:
    """Return whether a layer is in evaluation, has no hooks and uses its class's forward."""
    hooks = any(vars(layer)[each] for each in HOOKS)
    return not (layer.training or hooks or "forward" in layer.__dict__)


def replace_neighbors(model: nn.Module) -> dict[str, int]:
    """Make a model's nn.Sequential fuse neighbors, with its state dict keys; count them by kind."""
    found: Counter[str] = Counter()
    for sequence in [module for module in model.modules() if type(module) is nn.Sequential]:
        kinds, layers = Counter[str](), list(sequence)
        while layers:
            kind, count, _ = fused(layers[:3])
            kinds[kind] += 1
            layers = layers[count:]
        del kinds[""]
        if kinds:
            sequence.__class__ = FusedSequential
            found += kinds
    return dict(found)

"""The weights of the any-style network's painter in its executor's form: exact rewrites only.

They are merged in float64, once per dtype and device. A norm cancels any constant in a channel, so
such constants are left out: the shift of the pixels, and the biases of all convolutions but the
last and of the blocks' last layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.weight_transforms import bilinear_phase_weight
from models.vit_config import VitConfig

CENTER, SPREAD = 127.5, 64.0  # equal to the constants of models.vit_convolutions

Exact = Callable[[str], Tensor]  # returns a tensor of the state dict in float64


@dataclass(frozen=True, slots=True, eq=False)
class BlockWeights:
    """The weights of one transformer block; each layer norm's affine part is in the next layer.

    Attributes:
        qkv: Weight [3 E, E] and bias [3 E] of queries, keys and values.
        projection: Weight [E, E] of the attention's output, and its bias [E] in float32 or better.
        hidden: Weight [hidden, E] and bias [hidden].
        output: Weight [E, hidden]; the norm that follows the block cancels its bias.
    """

    qkv: tuple[Tensor, Tensor]
    projection: tuple[Tensor, Tensor]
    hidden: tuple[Tensor, Tensor]
    output: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class VitWeights:
    """The weights of the content's stem, the blocks and the decoder.

    Attributes:
        convolutions: By name, channels last. "conv1" accepts pixels 0-255, "position" adds its
            input, "deconv1" to "deconv3" compute the four phases of an enlarged picture, and
            "conv_out" returns pixels.
        bias: [3], of "conv_out", in float32 or better: near 127.5, FP16 has steps of 0.06.
        norms: Weight and bias [C] of the stem's three norms, in float32 or better.
        code: Weight [2 S, code_dim] and bias [2 S], in float32 or better, of the layer from a code
            to the factors of all AdaINs, then their shifts.
        styled: The features of each AdaIN, in order of application; S is their sum.
    """

    convolutions: Mapping[str, Tensor]
    bias: Tensor
    norms: tuple[tuple[Tensor, Tensor], ...]
    blocks: tuple[BlockWeights, ...]
    code: tuple[Tensor, Tensor]
    styled: tuple[int, ...]


def prepare(
    state: Mapping[str, Tensor], config: VitConfig, dtype: torch.dtype, device: torch.device
) -> VitWeights:
    """Prepare the weights from the state dict of a StyleForgeTransformer, on any device."""
    fine = torch.promote_types(dtype, torch.float32)

    def exact(name: str) -> Tensor:
        return state[name].detach().to(device, torch.float64)

    def norm(number: int) -> tuple[Tensor, Tensor]:
        name = f"stem.norms.{number}"
        return exact(f"{name}.weight").to(fine), exact(f"{name}.bias").to(fine)

    return VitWeights(
        {
            name: weight.to(dtype).contiguous(memory_format=torch.channels_last)
            for name, weight in _convolutions(exact).items()
        },
        (exact("decoder.conv_out.conv2d.bias") * SPREAD + CENTER).to(fine),
        tuple(norm(number) for number in range(3)),
        tuple(_block(exact, f"blocks.{n}", dtype, fine) for n in range(config.content_blocks)),
        *_code(exact, config.content_blocks, fine),
    )


def _convolutions(exact: Exact) -> dict[str, Tensor]:
    position = exact("stem.position.weight").clone()
    position[:, :, 1, 1] += 1
    made = {f"conv{n}": exact(f"stem.conv{n}.conv2d.weight") for n in (1, 2, 3, 4)}
    made |= {f"skip{n}": exact(f"decoder.skip{n}.weight") for n in (1, 2)}
    made |= {f"res_conv{n}": exact(f"decoder.res_conv{n}.conv2d.weight") for n in (1, 2)}
    for name in ("deconv1", "deconv2", "deconv3"):
        made[name] = bilinear_phase_weight(exact(f"decoder.{name}.conv2d.weight"))
    made["conv1"] = made["conv1"] / SPREAD
    made["conv_out"] = exact("decoder.conv_out.conv2d.weight") * SPREAD
    return {**made, "position": position}


def _block(exact: Exact, name: str, dtype: torch.dtype, fine: torch.dtype) -> BlockWeights:
    def after_norm(norm: str, weight: str, bias: str) -> tuple[Tensor, Tensor]:
        matrix = exact(f"{name}.{weight}")
        factor, shift = exact(f"{name}.{norm}.weight"), exact(f"{name}.{norm}.bias")
        joined = exact(f"{name}.{bias}") + matrix @ shift
        return (matrix * factor).to(dtype), joined.to(dtype)

    return BlockWeights(
        after_norm("norm1", "attention.in_proj_weight", "attention.in_proj_bias"),
        (
            exact(f"{name}.attention.out_proj.weight").to(dtype),
            exact(f"{name}.attention.out_proj.bias").to(fine),
        ),
        after_norm("norm2", "ffn.fc1.weight", "ffn.fc1.bias"),
        exact(f"{name}.ffn.fc2.weight").to(dtype),
    )


def _code(
    exact: Exact, blocks: int, dtype: torch.dtype
) -> tuple[tuple[Tensor, Tensor], tuple[int, ...]]:
    norms = ("norm1", "res_norm1", "res_norm2", "norm2", "norm3")
    names = [f"injections.{n}" for n in range(blocks)] + [f"decoder.{norm}" for norm in norms]
    weights = [exact(f"{name}.affine.weight").chunk(2) for name in names]
    biases = [exact(f"{name}.affine.bias").chunk(2) for name in names]
    weight = torch.cat([part[half] for half in (0, 1) for part in weights])
    bias = torch.cat([*(1 + scale for scale, _ in biases), *(shift for _, shift in biases)])
    return (weight.to(dtype), bias.to(dtype)), tuple(scale.shape[0] for scale, _ in weights)

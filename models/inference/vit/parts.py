"""The fused parts of the any-style network's painter: convolutions, norms and blocks.

They are exact up to rounding, see models.inference.vit.weights. Activations are channels last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops import fused_instance_norm, fused_instance_norm_out
from kernels.ops.transformer.attention.api import fused_attention
from kernels.ops.transformer.attention.choice import faster_reason
from kernels.ops.transformer.channel_norm.api import fused_channel_norm
from kernels.ops.transformer.channel_norm.statistics import fused_channel_statistics
from kernels.ops.transformer.depthwise.api import fused_depthwise_conv
from kernels.ops.transformer.enlarging.api import (
    fused_enlarging_interleave_out,
    fused_enlarging_pad_out,
)
from kernels.ops.transformer.enlarging.reference import padded_size
from kernels.ops.transformer.ffn.api import fused_ffn_forward
from kernels.ops.transformer.token_norm.api import fused_pooled_token_norm, fused_token_norm
from kernels.table.registry import TRANSFORMER, use_native
from kernels.weight_transforms import can_write_into, convolve
from models.inference.buffers import Workspace
from models.inference.vit.weights import BlockWeights, VitWeights
from models.inference.winograd import WinogradConvolutions
from models.optimized_blocks import EPS, mean_tokens
from models.vit_config import VitConfig

_HALVES = torch.float16, torch.bfloat16

Given = TypeVar("Given")
Made = TypeVar("Made")


class VitParts:
    """The parts of one network, with one code at a time; several may share `weights`.

    Not thread-safe; without gradients only. On the CPU, activations use buffers that are reused
    from frame to frame.

    Attributes:
        factors: The factors of all AdaINs, then their shifts, in float32 or better. The address is
            fixed, so that a CUDA graph can read it.
        styles: The same by AdaIN: factor [C] and shift [C].
        winograd: The CPU's own convolutions.
        joins_norms: Whether AdaIN of the tokens and the layer norm after it are one operation, on
            statistics from another one; on the CPU our norm is faster.
    """

    def __init__(self, config: VitConfig, weights: VitWeights) -> None:
        self.config, self.weights = config, weights
        last = weights.convolutions["conv_out"]
        self.dtype, self.device = last.dtype, last.device
        # Code outside inference mode could not write to tensors created in it.
        with torch.inference_mode(False):
            self.factors = torch.zeros_like(weights.code[1])
        factors, shifts = (
            torch.split(half, list(weights.styled)) for half in self.factors.chunk(2)
        )
        self.styles = list(zip(factors, shifts, strict=True))
        self.joins_norms = self.device.type != "cpu"
        self._workspace, self.winograd = Workspace(), WinogradConvolutions()

    def set_code(self, code: Tensor) -> None:
        """Set the code of the style to paint in, [1, code_dim], on any device."""
        weight, bias = self.weights.code
        row = code[0].to(weight.device, weight.dtype)
        with torch.autocast(self.device.type, enabled=False):
            self.factors.copy_(torch.addmv(bias, weight, row))

    def run(self, step: Callable[[Given], Made], given: Given) -> Made:
        """Run a step in the executor's dtype throughout."""
        kind = self.device.type
        if not torch.is_autocast_enabled(kind):
            return step(given)
        with torch.autocast(kind, enabled=False):
            return step(given)

    def embedded(self, quarter: Tensor) -> Tensor:
        """Convolve padded [N, C, H/4 + 2, W/4 + 2] to [N, E, H/8, W/8] and add positions."""
        return fused_depthwise_conv(
            self.conv("conv4", quarter, 2), self.weights.convolutions["position"]
        )

    def block(self, number: int, planes: Tensor) -> Tensor:
        """Apply AdaIN and a transformer block: tokens [N, E, h, w] to the same shape."""
        weights = self.weights.blocks[number]
        size = planes.shape[2], planes.shape[3]
        stride = self.config.key_stride(*size)
        x, normed, keys = self._styled_tokens(number, planes, stride)
        attended = F.linear(self._attended(normed, keys, weights), weights.projection[0])
        x, normed = fused_token_norm(attended, bias=weights.projection[1], residual=x, eps=EPS)
        x = self._fed_forward(x, normed, weights)
        return torch.unflatten(x.transpose(1, 2), 2, size)

    def _fed_forward(self, x: Tensor, normed: Tensor, weights: BlockWeights) -> Tensor:
        """Add the feed-forward network of tokens [N, T, E] to `x`, which may be overwritten."""
        if self.device.type != "cuda" or self.dtype not in _HALVES:
            return fused_ffn_forward(
                normed, *weights.hidden, weights.output, None, True, "tanh", residual=x
            )
        # GELU and the sum are epilogues of the two products, which saves a pass over memory.
        weight, bias = weights.hidden
        gelu: Any = torch._addmm_activation  # pyright: ignore
        hidden: Tensor = gelu(bias, normed.flatten(0, 1), weight.t(), use_gelu=True)
        x.view(-1, x.shape[-1]).addmm_(hidden, weights.output.t())
        return x

    def _styled_tokens(
        self, number: int, planes: Tensor, stride: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Apply AdaIN to tokens [N, E, h, w]; return three tensors [N, T, E].

        They are the result, its layer norm without parameters, and the source of the keys: the
        norm, or the means of its square groups of side `stride`.
        """
        size = planes.shape[2], planes.shape[3]
        if not self.joins_norms:
            planes = self.styled("tokens", planes, number, relu=False)
            x = planes.flatten(2).transpose(1, 2)
            normed = F.layer_norm(x, x.shape[-1:], eps=EPS)
            return x, normed, normed if stride == 1 else mean_tokens(normed, size, stride)
        tokens = planes.flatten(2).transpose(1, 2)
        given = *fused_channel_statistics(planes, EPS), *self.styles[number]
        if stride > 1:
            return fused_pooled_token_norm(tokens, *size, stride, *given, eps=EPS)
        x, normed = fused_token_norm(tokens, *given, eps=EPS)
        return x, normed, normed

    def conv(self, name: str, x: Tensor, stride: int = 1) -> Tensor:
        """Apply a convolution by its name to a padded picture, without a bias."""
        weight = self.weights.convolutions[name]
        if not self.winograd.runs(x, weight, stride):
            return self.convolved(x, weight, stride)
        raw = self._workspace.take("raw", _convolved_size(x, weight, stride), x)
        return self.winograd.convolve(name, x, weight, stride, raw)

    def convolved(self, x: Tensor, weight: Tensor, stride: int = 1) -> Tensor:
        """Apply a convolution to a padded picture; on the CPU into a buffer, if possible."""
        shape = _convolved_size(x, weight, stride)
        raw = self._workspace.take("raw", shape, x) if can_write_into(x) else None
        return convolve(x, weight, None, stride, raw)

    def skip(self, name: str, x: Tensor, *, margin: int = 1) -> Tensor:
        """Apply a 1x1 convolution, then remove the margin: the interior alone is not dense."""
        y = F.conv2d(x, self.weights.convolutions[name])
        return y[..., margin:-margin, margin:-margin] if margin else y

    def enlarged(
        self, name: str, x: Tensor, skip: Tensor | None, out: Tensor | None = None
    ) -> Tensor:
        """Convolve the enlarged picture [N, C, H, W], and add `skip`, [N, O, 2 H, 2 W].

        `out` is a channels-last buffer of the result's shape, or None for a new tensor.
        """
        n, channels, height, width = x.shape
        size = (n, channels, *padded_size(height, width))
        padded = self._buffer("padded", size, x)
        fused_enlarging_pad_out(x, padded)
        z = self.conv(name, padded).contiguous(memory_format=torch.channels_last)
        if out is None:
            size = (n, z.shape[1] // 4, 2 * height, 2 * width)
            out = self._buffer("joined", size, x)
        fused_enlarging_interleave_out(z, skip, out)
        return out

    def normed(
        self, to: str, x: Tensor, number: int, *, pad: int = 0, moments: Tensor | None = None
    ) -> Tensor:
        """Apply a norm of the stem by its number, ReLU and padding; `to` names a buffer.

        With `moments` from kernels.network.ends, the statistics of `x` are not computed again.
        """
        return self._norm(to, x, self.weights.norms[number], None, pad=pad, moments=moments)

    def styled(
        self,
        to: str,
        x: Tensor,
        number: int,
        *,
        residual: Tensor | None = None,
        relu: bool = True,
        pad: int = 0,
        moments: Tensor | None = None,
    ) -> Tensor:
        """Apply AdaIN by its number, residual, ReLU, padding; `to` and `moments` as in `normed`."""
        style = self.styles[number]
        return self._norm(to, x, style, residual, relu=relu, pad=pad, moments=moments)

    def _norm(
        self,
        to: str,
        x: Tensor,
        affine: tuple[Tensor, Tensor],
        residual: Tensor | None,
        *,
        relu: bool = True,
        pad: int = 0,
        moments: Tensor | None = None,
    ) -> Tensor:
        """Apply norm, residual, ReLU and padding; into the buffer `to` on the CPU."""
        if moments is not None:
            return fused_channel_norm(x, moments, *affine, residual, EPS, relu, pad)
        arguments = (*affine, residual, EPS, relu, pad, "reflect", False)
        if self.device.type != "cpu":
            return fused_instance_norm(x, *arguments)
        n, channels, height, width = x.shape
        shape = (n, channels, height + 2 * pad, width + 2 * pad)
        result = self._buffer(to, shape, x)
        fused_instance_norm_out(x, *arguments, result)
        return result

    def _buffer(self, name: str, shape: tuple[int, int, int, int], like: Tensor) -> Tensor:
        """Return a reused buffer on the CPU; on a GPU, a new tensor, which the graph owns."""
        if self.device.type == "cpu":
            return self._workspace.take(name, shape, like)
        return torch.empty(
            shape, dtype=like.dtype, device=like.device, memory_format=torch.channels_last
        )

    def reflected(self, x: Tensor, pad: int) -> Tensor:
        y = F.pad(x, (pad,) * 4, mode="reflect")
        return y.contiguous(memory_format=torch.channels_last)

    def _attended(self, normed: Tensor, keys: Tensor, weights: BlockWeights) -> Tensor:
        """Compute attention of tokens [N, T, E] to `keys`, before its projection."""
        n, length, width = normed.shape
        heads = self.config.num_heads
        weight, bias = weights.qkv
        if keys is normed:
            parts = F.linear(normed, weight, bias).chunk(3, -1)
        else:
            both = F.linear(keys, weight[width:], bias[width:])
            parts = F.linear(normed, weight[:width], bias[:width]), *both.chunk(2, -1)
        q, k, v = (torch.unflatten(part, 2, (heads, -1)).transpose(1, 2) for part in parts)
        slower = faster_reason(self.device, self.dtype, width // heads, length)
        if slower or not use_native(TRANSFORMER):
            attended = F.scaled_dot_product_attention(q, k, v)
        else:
            attended = fused_attention(q, k, v, scale=(width // heads) ** -0.5)[0]
        return attended.transpose(1, 2).reshape(n, length, width)


def _convolved_size(x: Tensor, weight: Tensor, stride: int) -> tuple[int, int, int, int]:
    n, _, height, width = x.shape
    out, _, high, wide = weight.shape
    return n, out, (height - high) // stride + 1, (width - wide) // stride + 1

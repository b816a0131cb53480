"""The painter of the any-style network as fused steps, on any device, for one style code at a time.

It computes what models.vit_style_transfer.StyleForgeTransformer.stylize does, by the exact rewrites
of models.inference.vit_weights: enlargements are convolutions at the small size, a norm takes the
ReLU, the residual and the next layer's padding with it, and the code's factors are computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.graph_plan import StageCallback, group_of
from kernels.ops import fused_instance_norm, fused_instance_norm_out
from kernels.ops.cuda.attention_choice import faster_reason
from kernels.ops.registry import TRANSFORMER, use_native
from kernels.ops.transformer.attention import fused_attention
from kernels.ops.transformer.ffn import fused_ffn_forward, output_projection_forward
from kernels.weight_transforms import can_write_into, column_weights, convolve
from models.inference.buffers import Workspace
from models.inference.enlarging import (
    interleave_phases,
    margin_weights,
    pad_for_enlarging,
    padded_size,
)
from models.inference.vit_weights import BlockWeights, VitWeights
from models.optimized_blocks import EPS, mean_tokens
from models.vit_config import PATCH, VitConfig


class Activations(NamedTuple):
    """What one step leaves for the next; all are channels last.

    Attributes:
        x: Its result, padded for the next convolution.
        half: [N, widths[1], H/2 + 2, W/2 + 2], of the stem, padded; None before.
        quarter: [N, widths[2], H/4 + 2, W/4 + 2], likewise.
    """

    x: Tensor
    half: Tensor | None = None
    quarter: Tensor | None = None


Step = Callable[[Activations], Activations]
Given = TypeVar("Given")
Made = TypeVar("Made")


class VitExecutor:
    """Paints pictures with one code at a time. Not thread-safe; with gradients disabled only.

    On the CPU, activations are kept in buffers from frame to frame.

    Args:
        config: The network's dimensions.
        weights: Its weights, which several executors may share.

    Attributes:
        dtype: That it computes in.
        device: Where it computes.
        steps: By name, below their groups, in order: "stem/conv1".
        factors: What `set_code` writes: the factors of all AdaINs, then their shifts, in float32 or
            better. It stays where it is, so that a CUDA graph can read it.
    """

    def __init__(self, config: VitConfig, weights: VitWeights) -> None:
        self.config, self._weights = config, weights
        self.dtype, self.device = dtype, device = weights.bias.dtype, weights.bias.device
        # Tensors made in inference mode could not be written to outside of it.
        with torch.inference_mode(False):
            self._margins = margin_weights(device, dtype)
            self.factors = torch.zeros_like(weights.code[1])
        factors, shifts = (
            torch.split(half, list(weights.styled)) for half in self.factors.chunk(2)
        )
        self._styles = list(zip(factors, shifts, strict=True))
        self._workspace = Workspace()
        # In half precision, the column sums would be rounded before they are added.
        self._columns = (
            column_weights(weights.convolutions["conv_out"])
            if device.type == "cpu" and dtype in (torch.float32, torch.float64)
            else None
        )
        blocks = range(config.content_blocks)
        steps: dict[str, Step] = {
            "stem/conv1": self._conv1,
            "stem/conv2": self._conv2,
            "stem/conv3": self._conv3,
            "stem/conv4": self._conv4,
            **{f"blocks/block{n + 1}": partial(self._block, n) for n in blocks},
            "decoder/deconv1": self._deconv1,
            "decoder/residual": self._residual,
            "decoder/deconv2": self._deconv2,
            "decoder/deconv3": self._deconv3,
            "decoder/conv_out": self._conv_out,
        }
        self.steps = {name: partial(self._run, step) for name, step in steps.items()}

    def set_code(self, code: Tensor) -> None:
        """Paint in the style of this code from now on.

        Args:
            code: [1, code_dim], on any device.
        """
        weight, bias = self._weights.code
        row = code[0].to(weight.device, weight.dtype)
        with torch.autocast(self.device.type, enabled=False):
            self.factors.copy_(torch.addmv(bias, weight, row))

    def __call__(
        self, x: Tensor, mark: StageCallback | None = None, *, by_layer: bool = False
    ) -> Tensor:
        """Paint pictures.

        Args:
            x: [N, 3, H, W], RGB 0-255, H and W at least 16.
            mark: Called with "stem", "blocks" and "decoder" after each.
            by_layer: Whether it is called with the name of every step instead.

        Returns:
            [N, 3, H, W] of the executor's dtype, about 0-255, not clamped.
        """
        height, width = x.shape[-2:]
        held = Activations(self.input(x))
        names = list(self.steps)
        for name, following in zip(names, [*names[1:], ""], strict=True):
            held = self.steps[name](held)
            if mark is not None and by_layer:
                mark(name)
            elif mark is not None and group_of(name) != group_of(following):
                mark(group_of(name))
        return held.x[..., :height, :width]

    def input(self, x: Tensor) -> Tensor:
        """Pad pictures [N, 3, H, W] to multiples of 8 and for the first convolution."""
        return self._run(self._padded, x)

    def _padded(self, x: Tensor) -> Tensor:
        x = x.to(self.dtype)
        height, width = x.shape[-2:]
        if height % PATCH or width % PATCH:
            x = F.pad(x, (0, -width % PATCH, 0, -height % PATCH), mode="reflect")
        return self._reflected(x, 4).contiguous(memory_format=torch.channels_last)

    def _run(self, step: Callable[[Given], Made], given: Given) -> Made:
        """Run a step in the executor's dtype throughout."""
        kind = self.device.type
        if not torch.is_autocast_enabled(kind):
            return step(given)
        with torch.autocast(kind, enabled=False):
            return step(given)

    # Steps

    def _conv1(self, held: Activations) -> Activations:
        x = self._normed("full", self._conv("conv1", held.x), 0, pad=1)
        return Activations(x)

    def _conv2(self, held: Activations) -> Activations:
        half = self._normed("half", self._conv("conv2", held.x, 2), 1, pad=1)
        return Activations(half, half)

    def _conv3(self, held: Activations) -> Activations:
        quarter = self._normed("quarter", self._conv("conv3", held.x, 2), 2, pad=1)
        return Activations(quarter, held.half, quarter)

    def _conv4(self, held: Activations) -> Activations:
        x = self._reflected(self._conv("conv4", held.x, 2), 1)
        weight = self._weights.convolutions["position"]
        return held._replace(x=F.conv2d(x, weight, groups=weight.shape[0]))

    def _block(self, number: int, held: Activations) -> Activations:
        weights = self._weights.blocks[number]
        planes = self._styled("tokens", held.x, number, relu=False)
        size = planes.shape[2], planes.shape[3]
        x = self._attended(planes.flatten(2).transpose(1, 2), size, weights)  # [N, T, E]
        hidden = F.layer_norm(x, x.shape[-1:], eps=EPS)
        x = fused_ffn_forward(hidden, *weights.hidden, weights.output, None, residual=x)
        return held._replace(x=torch.unflatten(x.transpose(1, 2), 2, size))

    def _deconv1(self, held: Activations) -> Activations:
        assert held.quarter is not None
        x = self._enlarged("deconv1", held.x, self._skip("skip1", held.quarter))
        return held._replace(x=self._styled("inside", x, -5, pad=1))

    def _residual(self, held: Activations) -> Activations:
        inner = held.x[..., 1:-1, 1:-1]
        y = self._styled("outside", self._conv("res_conv1", held.x), -4, pad=1)
        y = self._conv("res_conv2", y)
        return held._replace(x=self._styled("small", y, -3, residual=inner, relu=False))

    def _deconv2(self, held: Activations) -> Activations:
        assert held.half is not None
        x = self._enlarged("deconv2", held.x, self._skip("skip2", held.half))
        return held._replace(x=self._styled("middle", x, -2))

    def _deconv3(self, held: Activations) -> Activations:
        return Activations(self._styled("full", self._enlarged("deconv3", held.x, None), -1, pad=4))

    def _conv_out(self, held: Activations) -> Activations:
        bias = self._weights.bias
        if self._columns is None:
            return Activations(F.conv2d(held.x, self._weights.convolutions["conv_out"], bias))
        columns, picks = self._columns
        return Activations(F.conv2d(self._convolved(held.x, columns), picks, bias))

    # Convolutions and norms

    def _conv(self, name: str, x: Tensor, stride: int = 1) -> Tensor:
        return self._convolved(x, self._weights.convolutions[name], stride)

    def _convolved(self, x: Tensor, weight: Tensor, stride: int = 1) -> Tensor:
        n, _, height, width = x.shape
        out, _, high, wide = weight.shape
        shape = (n, out, (height - high) // stride + 1, (width - wide) // stride + 1)
        raw = self._workspace.take("raw", shape, x) if can_write_into(x) else None
        return convolve(x, weight, None, stride, raw)

    def _skip(self, name: str, padded: Tensor) -> Tensor:
        """Apply a 1x1 convolution; to the margin too, since what is inside of it is not dense."""
        return F.conv2d(padded, self._weights.convolutions[name])[..., 1:-1, 1:-1]

    def _enlarged(self, name: str, x: Tensor, skip: Tensor | None) -> Tensor:
        """[N, C, H, W] to [N, O, 2 H, 2 W]: the convolution of the enlarged picture, and `skip`."""
        n, channels, height, width = x.shape
        size = (n, channels, *padded_size(height, width))
        padded = pad_for_enlarging(x, self._margins, self._buffer("padded", size, x))
        z = self._conv(name, padded).contiguous(memory_format=torch.channels_last)
        size = (n, z.shape[1] // 4, 2 * height, 2 * width)
        return interleave_phases(z, skip, self._buffer("joined", size, x))

    def _normed(self, to: str, x: Tensor, number: int, *, pad: int) -> Tensor:
        return self._norm(to, x, self._weights.norms[number], None, pad=pad)

    def _styled(
        self,
        to: str,
        x: Tensor,
        number: int,
        *,
        residual: Tensor | None = None,
        relu: bool = True,
        pad: int = 0,
    ) -> Tensor:
        return self._norm(to, x, self._styles[number], residual, relu=relu, pad=pad)

    def _norm(
        self,
        to: str,
        x: Tensor,
        affine: tuple[Tensor, Tensor],
        residual: Tensor | None,
        *,
        relu: bool = True,
        pad: int = 0,
    ) -> Tensor:
        """Norm, residual, ReLU and padding; into the buffer `to` on the CPU."""
        arguments = (*affine, residual, EPS, relu, pad, "reflect", False)
        if self.device.type != "cpu":
            return fused_instance_norm(x, *arguments)
        n, channels, height, width = x.shape
        shape = (n, channels, height + 2 * pad, width + 2 * pad)
        result = self._buffer(to, shape, x)
        fused_instance_norm_out(x, *arguments, result)
        return result

    def _buffer(self, name: str, shape: tuple[int, int, int, int], like: Tensor) -> Tensor:
        """A kept one on the CPU. On a GPU a CUDA graph keeps its memory, and knows where it is."""
        if self.device.type == "cpu":
            return self._workspace.take(name, shape, like)
        return torch.empty(
            shape, dtype=like.dtype, device=like.device, memory_format=torch.channels_last
        )

    def _reflected(self, x: Tensor, pad: int) -> Tensor:
        return F.pad(x, (pad,) * 4, mode="reflect")

    def _attended(self, x: Tensor, size: tuple[int, int], weights: BlockWeights) -> Tensor:
        """x + attention(norm(x)) of tokens [N, T, E]."""
        n, length, width = x.shape
        heads = self.config.num_heads
        normed = F.layer_norm(x, (width,), eps=EPS)
        weight, bias = weights.qkv
        stride = self.config.key_stride(*size)
        if stride == 1:
            parts = F.linear(normed, weight, bias).chunk(3, -1)
        else:
            means = mean_tokens(normed, size, stride)
            both = F.linear(means, weight[width:], bias[width:])
            parts = F.linear(normed, weight[:width], bias[:width]), *both.chunk(2, -1)
        q, k, v = (torch.unflatten(part, 2, (heads, -1)).transpose(1, 2) for part in parts)
        slower = faster_reason(self.device, self.dtype, width // heads, length)
        if slower or not use_native(TRANSFORMER):
            attended = F.scaled_dot_product_attention(q, k, v)
        else:
            attended = fused_attention(q, k, v, scale=(width // heads) ** -0.5)[0]
        merged = attended.transpose(1, 2).reshape(n, length, width)
        return output_projection_forward(merged, *weights.projection, x)

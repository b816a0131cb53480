"""The image transformation network of Johnson et al. (2016, arXiv:1603.08155), in three variants.

The variants share one state dict, whose keys are those of the published PyTorch network
(`conv1.conv2d.weight`, `in1.weight`, `res1.conv1.conv2d.weight`, ..., `deconv3.conv2d.bias`),
and compute the same picture.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from kernels.jit import build
from kernels.network.dispatch import plan_for, unavailable_reason
from kernels.network.plan import NetworkPlan
from kernels.ops import fused_instance_norm, fused_instance_norm_out
from kernels.ops.registry import OPERATIONS, OPS, statuses
from kernels.weight_transforms import can_write_into, column_weights, convolve, phase_weight
from models.inference import layerwise
from models.inference.buffers import PreparedWeights, Workspace
from models.network_config import FULL, NetworkConfig

MIN_SIDE = 16  # pixels; below, there is nothing left to reflect at a quarter of the size
PLANS_KEPT = 2  # of sizes on a GPU; each holds its buffers

StageCallback = Callable[[str], None]


class ConvLayer(nn.Module):
    """Reflection pad and convolution, after a nearest-neighbour enlargement if asked for."""

    def __init__(self, cin: int, cout: int, kernel: int, stride: int = 1, upsample: int = 1):
        super().__init__()
        self.upsample = upsample
        self.reflection_pad = nn.ReflectionPad2d(kernel // 2)
        self.conv2d = nn.Conv2d(cin, cout, kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        if self.upsample > 1:
            x = F.interpolate(x, mode="nearest", scale_factor=self.upsample)
        return self.conv2d(self.reflection_pad(x))


class ResidualBlock(nn.Module):
    """x + norm(conv(relu(norm(conv(x))))), without a ReLU after the sum."""

    def __init__(self, channels: int, norm_type: type[nn.InstanceNorm2d]):
        super().__init__()
        self.conv1 = ConvLayer(channels, channels, 3)
        self.in1 = norm_type(channels, affine=True)
        self.conv2 = ConvLayer(channels, channels, 3)
        self.in2 = norm_type(channels, affine=True)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.in1(self.conv1(x)))
        return self.in2(self.conv2(y)) + x


class TransformerNetBaseline(nn.Module):
    """The network in plain PyTorch, layer by layer as published.

    The arguments are those of models.network_config.NetworkConfig, and so are the errors; the
    published networks have the default ones.
    """

    title: ClassVar[str] = "Baseline"
    norm_type: ClassVar[type[nn.InstanceNorm2d]] = nn.InstanceNorm2d
    memory_format: ClassVar[torch.memory_format] = torch.contiguous_format  # fastest input

    def __init__(
        self,
        num_residual_blocks: int = FULL.num_residual_blocks,
        widths: tuple[int, int, int] = FULL.widths,
        end_kernel: int = FULL.end_kernel,
    ) -> None:
        super().__init__()
        self.shape = NetworkConfig(num_residual_blocks, widths, end_kernel)
        norm = self.norm_type
        outer, middle, inner = widths
        self.num_residual_blocks = num_residual_blocks
        self.conv1 = ConvLayer(3, outer, end_kernel)
        self.in1 = norm(outer, affine=True)
        self.conv2 = ConvLayer(outer, middle, 3, stride=2)
        self.in2 = norm(middle, affine=True)
        self.conv3 = ConvLayer(middle, inner, 3, stride=2)
        self.in3 = norm(inner, affine=True)
        for number in range(1, num_residual_blocks + 1):
            self.add_module(f"res{number}", ResidualBlock(inner, norm))
        self.deconv1 = ConvLayer(inner, middle, 3, upsample=2)
        self.in4 = norm(middle, affine=True)
        self.deconv2 = ConvLayer(middle, outer, 3, upsample=2)
        self.in5 = norm(outer, affine=True)
        self.deconv3 = ConvLayer(outer, 3, end_kernel)
        self.relu = nn.ReLU()

    @classmethod
    def limitations(
        cls, device: torch.device, dtype: torch.dtype, shape: NetworkConfig = FULL
    ) -> tuple[str, ...]:
        """Why this variant is not as fast as it could be there, each a sentence; empty if it is."""
        return ()

    @property
    def residual_blocks(self) -> list[ResidualBlock]:
        blocks = (
            self.get_submodule(f"res{number}") for number in range(1, self.num_residual_blocks + 1)
        )
        return [block for block in blocks if isinstance(block, ResidualBlock)]

    def forward(
        self,
        x: Tensor,  # [N, 3, H, W], floating, RGB 0-255, H and W at least 16
        mark: StageCallback | None = None,
    ) -> Tensor:  # [N, 3, H, W], RGB, about 0-255, not clamped
        """Restyle pictures of any size.

        Sides that are not multiples of 4 are padded by reflection, and the result is cropped.
        `mark` is called with "encoder", "residual blocks" and "decoder" as each group of layers
        has been submitted. Raises ValueError for another shape or an integer dtype.
        """
        _check(x)
        height, width = x.shape[-2:]
        if height % 4 or width % 4:
            x = F.pad(x, (0, -width % 4, 0, -height % 4), mode="reflect")
        for group, run in (
            ("encoder", self.encode),
            ("residual blocks", self.transform),
            ("decoder", self.decode),
        ):
            x = run(x)
            if mark is not None:
                mark(group)
        return x[..., :height, :width]

    def encode(self, x: Tensor) -> Tensor:
        """[N, 3, H, W] to [N, C, H/4, W/4]."""
        x = self.relu(self.in1(self.conv1(x)))
        x = self.relu(self.in2(self.conv2(x)))
        return self.relu(self.in3(self.conv3(x)))

    def transform(self, x: Tensor) -> Tensor:
        """[N, C, H/4, W/4] to the same."""
        for block in self.residual_blocks:
            x = block(x)
        return x

    def decode(self, x: Tensor) -> Tensor:
        """[N, C, H/4, W/4] to [N, 3, H, W]."""
        x = self.relu(self.in4(self.deconv1(x)))
        x = self.relu(self.in5(self.deconv2(x)))
        return self.deconv3(x)


class TransformerNet(TransformerNetBaseline):
    """The network with the fused instance norm, and nothing else changed."""

    title = "Fused norm"
    norm_type = FusedInstanceNorm2d
    memory_format = torch.channels_last  # which this norm keeps, and PyTorch's undoes

    @classmethod
    def limitations(
        cls, device: torch.device, dtype: torch.dtype, shape: NetworkConfig = FULL
    ) -> tuple[str, ...]:
        return tuple(
            f"{status.name}: {status.reason}"
            for status in statuses(device)
            if status.name in OPS and OPS[status.name].group == "normalization" and not status.ready
        )


class TransformerNetFused(TransformerNet):
    """The network as fused units: one convolution, then norm, residual, ReLU and the next
    layer's padding in one pass.

    Exact rewrites only: biases that the norm removes are not added, an upsampling convolution
    is one small convolution before the enlargement, and on the CPU the last layer is computed
    column by column, everything channels last. Under `torch.inference_mode` on a CPU the
    activations live in buffers that are kept, and on a GPU the native network of
    kernels.network.dispatch runs instead; one network is then for one thread. Where that cannot
    run, models.inference.layerwise does.

    On the CPU, activations between the groups are padded, by what the next layer needs.
    """

    title = "Fused"

    def __init__(
        self,
        num_residual_blocks: int = FULL.num_residual_blocks,
        widths: tuple[int, int, int] = FULL.widths,
        end_kernel: int = FULL.end_kernel,
    ) -> None:
        super().__init__(num_residual_blocks, widths, end_kernel)
        self._workspace = Workspace()
        self._prepared = PreparedWeights()
        # Collecting the weights takes as long as running the network on a GPU.
        self._weights_seen: dict[str, Tensor] | None = None
        self._plans: dict[Hashable, tuple[Hashable, NetworkPlan]] = {}

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        _check(x)
        plan = self._plan(x)
        return super().forward(x, mark) if plan is None else plan(x, mark)

    def _plan(self, x: Tensor) -> NetworkPlan | None:
        """The native network for pictures like `x`; None where it cannot run."""
        if x.dtype != self.conv1.conv2d.weight.dtype and not torch.is_autocast_enabled("cuda"):
            return None
        return self.plan((x.shape[0], x.shape[2], x.shape[3]), x.device)

    def plan(self, shape: tuple[int, int, int], device: torch.device) -> NetworkPlan | None:
        """The native network for N pictures of H x W, which also takes them as bytes; None where
        it cannot run. It is kept until the sizes of a few others were asked for."""
        dtype = self.conv1.conv2d.weight.dtype
        autocast = torch.is_autocast_enabled("cuda")
        if (
            device.type != "cuda"
            or not torch.is_inference_mode_enabled()
            or (autocast and torch.get_autocast_dtype("cuda") is not torch.float16)
            or _other_shape(self.shape)
            or unavailable_reason(device, dtype)
        ):
            return None
        # What autocast multiplies in FP16 has fewer bits than TF32 only where it is stored.
        tf32 = dtype is torch.float32 and (autocast or torch.backends.cudnn.allow_tf32)
        if self._weights_seen is None:
            self._weights_seen = dict(self.state_dict(keep_vars=True))
        weights = self._weights_seen
        # Tensors made in inference mode count no versions: a change to them could not be seen.
        counted = not any(w.is_inference() for w in weights.values())
        version = tuple((w.data_ptr(), w._version) for w in weights.values()) if counted else None
        key = (shape, dtype, device, tf32)
        made, plan = self._plans.pop(key, (None, None))
        if plan is None:
            plan = plan_for(weights, self.num_residual_blocks, shape, dtype, device, tf32=tf32)
        elif version is None or made != version:
            plan.set_weights(weights)
        self._plans[key] = version, plan
        while len(self._plans) > PLANS_KEPT:
            self._plans.pop(next(iter(self._plans)))
        return plan

    # Both may put other tensors in the place of the weights.

    def _apply(self, *args: Any, **kwargs: Any) -> TransformerNetFused:
        self._weights_seen = None
        return super()._apply(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        self._weights_seen = None
        return super().load_state_dict(*args, **kwargs)

    @classmethod
    def limitations(
        cls, device: torch.device, dtype: torch.dtype, shape: NetworkConfig = FULL
    ) -> tuple[str, ...]:
        if device.type != "cuda":
            return super().limitations(device, dtype, shape)
        reason = _other_shape(shape) or unavailable_reason(device, dtype)
        return (reason,) if reason else ()

    def encode(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            native = _native(x)
            # Autocast does not know our operations, and casts for PyTorch's by itself.
            return layerwise.encode(self, x.to(_dtype(x)) if native else x, native)
        x = F.pad(x.to(_dtype(x)), (self.shape.end_kernel // 2,) * 4, mode="reflect")
        x = x.contiguous(memory_format=torch.channels_last)
        x = self._unit("a", x, self.conv1, self.in1)
        x = self._unit("b", x, self.conv2, self.in2)
        return self._unit("a", x, self.conv3, self.in3)

    def transform(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            return layerwise.transform(self, x, _native(x))
        here, there = "a", "b"
        last = self.num_residual_blocks - 1
        for number, block in enumerate(self.residual_blocks):
            y = self._unit("inside", x, block.conv1, block.in1)
            # What enlarges next looks past the border at a repeated pixel, not a mirrored one.
            mode = "replicate" if number == last else "reflect"
            inner = x[..., 1:-1, 1:-1]
            x = self._unit(
                there, y, block.conv2, block.in2, residual=inner, relu=False, pad_mode=mode
            )
            here, there = there, here
        return x

    def decode(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            return layerwise.decode(self, x, _native(x))
        # The residual blocks end in "a" or "b", by their number.
        here, there = ("b", "a") if self.num_residual_blocks % 2 else ("a", "b")
        x = self._unit(there, x, self.deconv1, self.in4, pad_mode="replicate")
        x = self._unit(here, x, self.deconv2, self.in5, pad=self.shape.end_kernel // 2)
        return self._last(x)

    def _unit(
        self,
        to: str,
        x: Tensor,  # [N, C, H, W], padded
        layer: ConvLayer,
        norm: nn.InstanceNorm2d,
        *,
        residual: Tensor | None = None,
        relu: bool = True,
        pad: int = 1,
        pad_mode: str = "reflect",
    ) -> Tensor:
        """Convolution, norm, residual, ReLU and padding; in buffer `to` where one is owned."""
        upsample, stride = layer.upsample > 1, layer.conv2d.stride[0]
        make = _phase if upsample else _plain
        owned = self._owned(x)
        (weight,) = self._weights(layer, x.dtype, make)
        # A bias before an instance norm changes nothing; a gradient of zero is still one.
        bias = layer.conv2d.bias if torch.is_grad_enabled() else None
        if bias is not None:
            bias = bias.to(x.dtype).repeat(4 if upsample else 1)
        n, _, height, width = x.shape
        out, _, high, wide = weight.shape
        shape = (n, out, (height - high) // stride + 1, (width - wide) // stride + 1)
        raw = self._workspace.take("raw", shape, x) if owned and can_write_into(x) else None
        y = convolve(x, weight, bias, stride, raw)
        affine = (norm.weight, norm.bias, residual, norm.eps, relu, pad, pad_mode, upsample)
        if not owned:
            return fused_instance_norm(y, *affine)
        if upsample:
            shape = (n, out // 4, 2 * (shape[2] - 1), 2 * (shape[3] - 1))
        padded = (n, shape[1], shape[2] + 2 * pad, shape[3] + 2 * pad)
        result = self._workspace.take(to, padded, x)
        fused_instance_norm_out(y, *affine, result)
        return result

    def _last(self, x: Tensor) -> Tensor:
        conv = self.deconv3.conv2d
        bias = None if conv.bias is None else conv.bias.to(x.dtype)
        # In half precision the columns would be rounded before they are added up.
        if x.dtype not in (torch.float32, torch.float64):
            (weight,) = self._weights(self.deconv3, x.dtype, _plain)
            return F.conv2d(x, weight, bias)
        columns, picks = self._weights(self.deconv3, x.dtype, column_weights)
        n, _, height, width = x.shape
        shape = (n, columns.shape[0], height - columns.shape[2] + 1, width)
        owned = self._owned(x) and can_write_into(x)
        raw = self._workspace.take("raw", shape, x) if owned else None
        return F.conv2d(convolve(x, columns, out=raw), picks, bias)

    def _weights(
        self, layer: ConvLayer, dtype: torch.dtype, make: Callable[[Tensor], tuple[Tensor, ...]]
    ) -> tuple[Tensor, ...]:
        source = layer.conv2d.weight
        if torch.is_inference_mode_enabled():
            return self._prepared.get(layer, source, dtype, make)
        return tuple(weight.to(dtype) for weight in make(source))

    @staticmethod
    def _owned(x: Tensor) -> bool:
        return torch.is_inference_mode_enabled() and x.device.type == "cpu"


VARIANTS: dict[str, type[TransformerNetBaseline]] = {
    "baseline": TransformerNetBaseline,
    "norm": TransformerNet,
    "fused": TransformerNetFused,
}


def _plain(weight: Tensor) -> tuple[Tensor, ...]:
    return (weight,)


def _phase(weight: Tensor) -> tuple[Tensor, ...]:
    return (phase_weight(weight),)


def _other_shape(shape: NetworkConfig) -> str:
    """Why the native network is not for `shape`, in words; empty if it is."""
    if (shape.widths, shape.end_kernel) == (FULL.widths, FULL.end_kernel):
        return ""
    return "the native kernels are for networks as wide as the full one; runs layer by layer"


def _native(x: Tensor) -> bool:
    """Whether the operations of layerwise have native kernels where `x` is."""
    return x.device.type == "cuda" and not build.reason(OPERATIONS)


def _dtype(x: Tensor) -> torch.dtype:
    """The dtype to compute in: that of autocast, where it is on."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def _check(x: Tensor) -> None:
    shape = list(x.shape)
    if x.dim() != 4 or x.shape[1] != 3:
        raise ValueError(f"expected pictures [N, 3, H, W], got {shape}")
    if min(x.shape[-2:]) < MIN_SIDE:
        raise ValueError(
            f"expected pictures of at least {MIN_SIDE}x{MIN_SIDE} pixels, "
            f"got {x.shape[-1]}x{x.shape[-2]}"
        )
    if not x.is_floating_point():
        raise ValueError(f"expected floating-point pictures 0-255, got {x.dtype}")

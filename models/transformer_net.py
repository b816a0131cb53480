"""The image transformation network of Johnson et al. (2016, arXiv:1603.08155), in three variants.

The variants share one state dict, whose keys are those of the published PyTorch network
(`conv1.conv2d.weight`, `in1.weight`, `res1.conv1.conv2d.weight`, ..., `deconv3.conv2d.bias`),
and compute the same picture.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from kernels.network.plan import NetworkPlan, StageCallback
from kernels.ops.registry import OPS, statuses
from models.checkpoints import CheckpointError, load_checkpoint
from models.inference import layerwise
from models.inference.cpu import CpuExecutor
from models.inference.cuda import PlanCache, unavailable_reason
from models.layers import ConvLayer, ResidualBlock, UpsampleConvLayer
from models.network_config import FULL, NetworkConfig, network_config
from models.precision import compute_dtype
from utils.profiling import nvtx_range
from utils.text import printable

MIN_SIDE = 16  # pixels; below, there is nothing left to reflect at a quarter of the size


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
        self.deconv1 = UpsampleConvLayer(inner, middle, 3, upsample=2)
        self.in4 = norm(middle, affine=True)
        self.deconv2 = UpsampleConvLayer(middle, outer, 3, upsample=2)
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

    def load_checkpoint(self, path: Path | str) -> Self:
        """Take on the weights in a file; all of them or none.

        Args:
            path: Any checkpoint that models.checkpoints reads, of a network of this shape.

        Returns:
            This network.

        Raises:
            CheckpointError: The file is missing, damaged, incomplete or of another network.
        """
        state = load_checkpoint(path)
        found = network_config(state)
        if found != self.shape:
            name = printable(Path(path).name)
            raise CheckpointError(f"'{name}' has {found}; this network has {self.shape}")
        self.load_state_dict(state)
        return self

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
            with nvtx_range(group):
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
    """The network as fused units, by exact rewrites only, each device by its own executor.

    models.inference.cpu runs it on the CPU. On a GPU, where gradients are disabled, the native
    network of kernels.network.dispatch does, and where that cannot run, models.inference.layerwise.
    One network is for one thread: its executors keep buffers.
    """

    title = "Fused"

    def __init__(
        self,
        num_residual_blocks: int = FULL.num_residual_blocks,
        widths: tuple[int, int, int] = FULL.widths,
        end_kernel: int = FULL.end_kernel,
    ) -> None:
        super().__init__(num_residual_blocks, widths, end_kernel)
        self._cpu, self._cuda = CpuExecutor(), PlanCache()

    @classmethod
    def limitations(
        cls, device: torch.device, dtype: torch.dtype, shape: NetworkConfig = FULL
    ) -> tuple[str, ...]:
        if device.type != "cuda":
            return super().limitations(device, dtype, shape)
        reason = unavailable_reason(shape, device, dtype)
        return (reason,) if reason else ()

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        _check(x)
        plan = self._plan(x)
        return super().forward(x, mark) if plan is None else plan(x, mark)

    def plan(self, shape: tuple[int, int, int], device: torch.device) -> NetworkPlan | None:
        """The native network for N pictures of H x W, which also takes them as bytes; None where
        it cannot run. It is kept until the sizes of a few others were asked for."""
        dtype = self.conv1.conv2d.weight.dtype
        return self._cuda.plan(self.shape, self._state, dtype, shape, device)

    def _plan(self, x: Tensor) -> NetworkPlan | None:
        """The native network for pictures like `x`; None where it cannot run."""
        if x.dtype != self.conv1.conv2d.weight.dtype and not torch.is_autocast_enabled("cuda"):
            return None
        return self.plan((x.shape[0], x.shape[2], x.shape[3]), x.device)

    def _state(self) -> dict[str, Tensor]:
        return dict(self.state_dict(keep_vars=True))

    # Both may put other tensors in the place of the weights.

    def _apply(self, *args: Any, **kwargs: Any) -> TransformerNetFused:
        self._cuda.forget_weights()
        return super()._apply(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        self._cuda.forget_weights()
        return super().load_state_dict(*args, **kwargs)

    def encode(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu":
            return self._cpu.encode(self, x)
        native = layerwise.is_native(x)
        # Autocast does not know our operations, and casts for PyTorch's by itself.
        return layerwise.encode(self, x.to(compute_dtype(x)) if native else x, native)

    def transform(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu":
            return self._cpu.transform(self, x)
        return layerwise.transform(self, x, layerwise.is_native(x))

    def decode(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu":
            return self._cpu.decode(self, x)
        return layerwise.decode(self, x, layerwise.is_native(x))


VARIANTS: dict[str, type[TransformerNetBaseline]] = {
    "baseline": TransformerNetBaseline,
    "norm": TransformerNet,
    "fused": TransformerNetFused,
}


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

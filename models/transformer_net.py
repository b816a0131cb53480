"""The image transformation network of Johnson et al. (2016, arXiv:1603.08155), in its variants.

Three variants are ours; the others run the same network in other runtimes. All compute the same
picture and share one state dict, with the keys of the published PyTorch network
(`conv1.conv2d.weight`, `in1.weight`, `res1.conv1.conv2d.weight`, ..., `deconv3.conv2d.bias`).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from kernels.network.cpu.plan import EPS, MULTIPLE, CpuPlan, unsupported
from kernels.network.dispatch import unavailable_reason
from kernels.network.graph_plan import GraphPlan, StageCallback
from kernels.table.registry import OPS, STYLE, statuses
from models.checkpoints import check_dimensions, load_checkpoint
from models.inference import layerwise
from models.inference.cpu import CpuExecutor
from models.inference.cuda import PlanCache
from models.inference.style_state import TransformedState
from models.inference.winograd import WinogradExecutor
from models.layers import ConvLayer, ResidualBlock, UpsampleConvLayer
from models.network_config import FULL, NetworkConfig, network_config
from models.pictures import MIN_SIDE, check_pictures, padded
from models.precision import INT8_NEEDS_FUSED, compute_dtype
from models.runtimes.executor import RuntimeExecutor
from models.runtimes.runtime import Runtime
from models.runtimes.table import RUNTIMES
from utils.profiling import nvtx_range
from utils.translation.joints import labeled


def _unmarked(_layer: str) -> None:
    """Ignore the name of a layer that is not timed."""


def _below(group: str, mark: StageCallback | None) -> StageCallback:
    return _unmarked if mark is None else lambda layer: mark(f"{group}/{layer}")


class TransformerNetBaseline(nn.Module):
    """The network in plain PyTorch, layer by layer as published.

    The arguments are as for models.network_config.NetworkConfig, which raises ValueError if one is
    out of its range; published networks have the defaults. `by_layer` may be set: `forward` then
    marks each layer instead of each group of layers.
    """

    title: ClassVar[str] = "Baseline"
    norm_type: ClassVar[type[nn.InstanceNorm2d]] = nn.InstanceNorm2d
    memory_format: ClassVar[torch.memory_format] = torch.contiguous_format  # of the fastest input

    def __init__(
        self,
        num_residual_blocks: int = FULL.num_residual_blocks,
        widths: tuple[int, int, int] = FULL.widths,
        end_kernel: int = FULL.end_kernel,
    ) -> None:
        super().__init__()
        self.shape = NetworkConfig(num_residual_blocks, widths, end_kernel)
        self.by_layer = False
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
        cls,
        device: torch.device,
        dtype: torch.dtype,
        shape: NetworkConfig = FULL,
        *,
        int8: bool = False,
    ) -> tuple[str, ...]:
        """List the limits on this variant's speed on a device, one sentence each."""
        return (INT8_NEEDS_FUSED,) if int8 and device.type == "cuda" else ()

    @property
    def residual_blocks(self) -> list[ResidualBlock]:
        blocks = (
            self.get_submodule(f"res{number}") for number in range(1, self.num_residual_blocks + 1)
        )
        return [block for block in blocks if isinstance(block, ResidualBlock)]

    def load_checkpoint(self, path: Path | str) -> Self:
        """Load all weights from a file or none; return self.

        Raises:
            CheckpointError: If the file is missing, damaged, incomplete or of another network.
        """
        state = load_checkpoint(path)
        check_dimensions(path, network_config(state), self.shape)
        self.load_state_dict(state)
        return self

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        """Stylize pictures [N, 3, H, W], RGB, to about 0-255, not clamped.

        Args:
            x: Floating, RGB 0-255, H and W at least 16, else ValueError. Sides that are not
                multiples of 4 are padded by reflection, and the result is cropped.
            mark: Called with "encoder", "residual blocks" and "decoder" after each group of layers
                has been submitted; with `by_layer`, with the names of the layers, such as
                "encoder/conv1", or "residual blocks/res1" for a block computed as one layer.
        """
        check_pictures(x)
        height, width = x.shape[-2:]
        x = padded(x, MULTIPLE)
        for group, run in (
            ("encoder", self.encode),
            ("residual blocks", self.transform),
            ("decoder", self.decode),
        ):
            with nvtx_range(group):
                x = run(x, _below(group, mark if self.by_layer else None))
            if mark is not None and not self.by_layer:
                mark(group)
        return x[..., :height, :width]

    def encode(self, x: Tensor, mark: StageCallback = _unmarked) -> Tensor:
        """Apply conv1 to in3: [N, 3, H, W] to [N, C, H/4, W/4]; mark each layer after it."""
        x = self.relu(self.in1(self.conv1(x)))
        mark("conv1")
        x = self.relu(self.in2(self.conv2(x)))
        mark("conv2")
        x = self.relu(self.in3(self.conv3(x)))
        mark("conv3")
        return x

    def transform(self, x: Tensor, mark: StageCallback = _unmarked) -> Tensor:
        """Apply the residual blocks: [N, C, H/4, W/4] to the same shape."""
        for number, block in enumerate(self.residual_blocks, 1):
            x = block(x)
            mark(f"res{number}")
        return x

    def decode(self, x: Tensor, mark: StageCallback = _unmarked) -> Tensor:
        """Apply deconv1 to deconv3: [N, C, H/4, W/4] to [N, 3, H, W]."""
        x = self.relu(self.in4(self.deconv1(x)))
        mark("deconv1")
        x = self.relu(self.in5(self.deconv2(x)))
        mark("deconv2")
        x = self.deconv3(x)
        mark("deconv3")
        return x


class TransformerNet(TransformerNetBaseline):
    """The network with the fused instance norm, otherwise as the baseline."""

    title = "Fused norm"
    norm_type = FusedInstanceNorm2d
    memory_format = torch.channels_last  # preserved by this norm; PyTorch's converts to NCHW

    @classmethod
    def limitations(
        cls,
        device: torch.device,
        dtype: torch.dtype,
        shape: NetworkConfig = FULL,
        *,
        int8: bool = False,
    ) -> tuple[str, ...]:
        norms = tuple(
            labeled(status.name, status.reason)
            for status in statuses(device, STYLE)
            if status.name in OPS and OPS[status.name].group == "normalization" and not status.ready
        )
        return norms + super().limitations(device, dtype, shape, int8=int8)


class TransformerNetFused(TransformerNet):
    """The network as fused units, by exact rewrites only, with one executor per device.

    On the CPU, in FP32 and with gradients disabled, the native network of kernels.network.cpu runs
    it, otherwise models.inference.cpu. On a GPU with gradients disabled, the native network
    of kernels.network.dispatch runs it if supported, otherwise models.inference.layerwise; both run
    in a CUDA graph. Not thread-safe: the executors own buffers.
    """

    title = "Fused"

    def __init__(
        self,
        num_residual_blocks: int = FULL.num_residual_blocks,
        widths: tuple[int, int, int] = FULL.widths,
        end_kernel: int = FULL.end_kernel,
    ) -> None:
        super().__init__(num_residual_blocks, widths, end_kernel)
        self._cpu, self._cuda = CpuExecutor(), PlanCache(_layers)
        self._winograd = WinogradExecutor()

    @classmethod
    def limitations(
        cls,
        device: torch.device,
        dtype: torch.dtype,
        shape: NetworkConfig = FULL,
        *,
        int8: bool = False,
    ) -> tuple[str, ...]:
        if device.type != "cuda":
            reason = unsupported(shape) if dtype is torch.float32 else ""
            return (*filter(None, [reason]), *super().limitations(device, dtype, shape))
        reason = unavailable_reason(shape, device, dtype)
        if int8 and not reason:
            reason = unavailable_reason(shape, device, dtype, int8=True)
        return (reason,) if reason else ()

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        check_pictures(x)
        plan = self._plan(x)
        if plan is not None:
            return plan(x, mark)
        native = self._native(x)
        if native is None:
            return super().forward(x, mark)
        return self._winograd(native, x, mark, by_layer=self.by_layer)

    def paint_bytes(
        self, frames: Tensor, mark: StageCallback | None = None
    ) -> tuple[Tensor, Tensor] | None:
        """Stylize frames as BytesNetwork.paint_bytes, where the native network of the CPU runs."""
        if min(frames.shape[1:3]) < MIN_SIDE:
            return None  # `forward` refuses them
        native = self._native(frames)
        if native is None:
            return None
        return self._winograd.paint_bytes(native, frames, mark, by_layer=self.by_layer)

    def _native(self, x: Tensor) -> CpuPlan | None:
        """Return the native network of the CPU if it runs pictures `x`, floats or bytes."""
        has_own_eps = any(
            isinstance(norm, nn.InstanceNorm2d) and norm.eps != EPS for norm in self.modules()
        )
        return None if has_own_eps else self._winograd.plan(self.shape, self._state, x)

    def plan(self, shape: tuple[int, int, int], device: torch.device) -> GraphPlan | None:
        """Return CUDA graphs for one input size, N, H and W, which also accept uint8 pictures.

        They contain the native network if it is supported, otherwise the layers one by one. None
        off CUDA or if gradients are enabled. The plans of the last few sizes are cached.
        """
        dtype = self.conv1.conv2d.weight.dtype
        plan = self._cuda.plan(self.shape, self._state, dtype, shape, device)
        if plan is not None:
            plan.time_layers(self.by_layer)
        return plan

    def _plan(self, x: Tensor) -> GraphPlan | None:
        if x.dtype != self.conv1.conv2d.weight.dtype and not torch.is_autocast_enabled("cuda"):
            return None
        return self.plan((x.shape[0], x.shape[2], x.shape[3]), x.device)

    def _state(self) -> dict[str, Tensor]:
        return dict(self.state_dict(keep_vars=True))

    # Both methods below may replace the tensors of the weights.

    def _apply(self, *args: Any, **kwargs: Any) -> TransformerNetFused:
        self._cuda.forget_weights()
        self._winograd.forget_weights()
        # PyTorch: its parameter `fn` has no annotation.
        return super()._apply(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType]

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load weights as nn.Module does, and make the native network read them again."""
        self._cuda.forget_weights()
        self._winograd.forget_weights()
        return super().load_state_dict(*args, **kwargs)

    def load_state(self, state: TransformedState) -> None:
        """Load the weights of a style or a mix; the CPU's native network uses its transforms.

        Later changes of the weights are noticed, except writes through `.data`.
        """
        self.load_state_dict(state)
        if self.conv1.conv2d.weight.is_cpu:
            self._winograd.use_transforms(state, self._state())

    def encode(self, x: Tensor, mark: StageCallback = _unmarked) -> Tensor:
        """Apply conv1 to in3; the executor chooses the layout of the result."""
        if x.device.type == "cpu":
            return self._cpu.encode(self, x, mark)
        native = layerwise.is_native(x.device)
        # Autocast casts the inputs of PyTorch's operations only, not of ours.
        x = x.to(compute_dtype(x)) if native else x
        return layerwise.apply(layerwise.encoder(self, native), x, mark)

    def transform(self, x: Tensor, mark: StageCallback = _unmarked) -> Tensor:
        if x.device.type == "cpu":
            return self._cpu.transform(self, x, mark)
        layers = layerwise.transformer(self, layerwise.is_native(x.device))
        return layerwise.apply(layers, x, mark)

    def decode(self, x: Tensor, mark: StageCallback = _unmarked) -> Tensor:
        if x.device.type == "cpu":
            return self._cpu.decode(self, x, mark)
        layers = layerwise.decoder(self, layerwise.is_native(x.device))
        return layerwise.apply(layers, x, mark)


class TransformerNetInRuntime(TransformerNetBaseline):
    """The baseline in another runtime, which receives it as ONNX; one subclass per runtime.

    The first picture waits for the export of the network, and each further size for its
    compilation. Weights stay in float32 on the CPU, whatever dtype the module is converted to: the
    dtype of the pictures selects the runtime's precision. For inference only; not thread-safe.
    """

    runtime: ClassVar[Runtime]

    def __init__(
        self,
        num_residual_blocks: int = FULL.num_residual_blocks,
        widths: tuple[int, int, int] = FULL.widths,
        end_kernel: int = FULL.end_kernel,
    ) -> None:
        super().__init__(num_residual_blocks, widths, end_kernel)
        self._executor = RuntimeExecutor(self.runtime, MULTIPLE)

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:  # noqa: ARG002
        """Stylize pictures as the baseline does; no layer is marked.

        Raises:
            RuntimeFault: If the runtime is not installed, does not find the device, or does not
                compute in the dtype of `x`. The message is one sentence.
            ValueError: As for the baseline.
        """
        check_pictures(x)
        height, width = x.shape[-2:]
        return self._executor(self, super().forward, padded(x, MULTIPLE))[..., :height, :width]

    def _apply(self, *args: Any, **kwargs: Any) -> TransformerNetInRuntime:  # noqa: ARG002
        return self

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load weights as nn.Module does, and make the runtime compile them again."""
        self._executor.forget_weights()
        return super().load_state_dict(*args, **kwargs)


def in_runtime(runtime: Runtime) -> type[TransformerNetInRuntime]:
    """Return the network's class for a runtime."""
    base = TransformerNetInRuntime
    parts = {"title": runtime.title, "runtime": runtime, "__doc__": base.__doc__}
    return type(base.__name__, (base,), parts)


VARIANTS: dict[str, type[TransformerNetBaseline]] = {
    "baseline": TransformerNetBaseline,
    "norm": TransformerNet,
    "fused": TransformerNetFused,
}
IN_RUNTIMES: dict[str, type[TransformerNetInRuntime]] = {
    key: in_runtime(runtime) for key, runtime in RUNTIMES.items()
}
ALL_VARIANTS: dict[str, type[TransformerNetBaseline]] = {**VARIANTS, **IN_RUNTIMES}


def _layers(
    config: NetworkConfig, device: torch.device, dtype: torch.dtype
) -> TransformerNetBaseline:
    network = TransformerNetBaseline(**asdict(config)).requires_grad_(False).eval()
    return network.to(device, dtype)

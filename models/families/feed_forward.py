"""Feed-forward networks (Johnson et al. 2016): each style is a network with its own weights."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from kernels.frames.launchers import unavailable_reason
from models.checkpoints import State, load_checkpoint, save_checkpoint
from models.families.family import (
    FamilyVariant,
    LoadedStyle,
    NetworkFamily,
    SharedNetworks,
    StyleFiles,
)
from models.families.keys import FEED_FORWARD
from models.inference.banded import memory_needed, style_in_bands
from models.inference.banded_layers import Rows
from models.inference.style_state import StyleState, TransformedState
from models.network_config import FULL, NetworkConfig, network_config
from models.precision import Precision
from models.transformer_net import (
    ALL_VARIANTS,
    IN_RUNTIMES,
    MULTIPLE,
    TransformerNetBaseline,
    TransformerNetFused,
)
from models.webgpu.network import WebGpuNetwork, refusal
from models.webgpu_devices import is_webgpu
from utils.translation.texts import tr, trn

log = logging.getLogger(__name__)


class FeedForwardFamily(NetworkFamily[State]):
    """The family of the networks in models.transformer_net."""

    key = FEED_FORWARD
    title = "Feed-forward"
    one_of = "a network of its own"
    mixes = "weights"
    variants = {  # noqa: RUF012  (declared as ClassVar by the base class)
        name: FamilyVariant(
            variant.title,
            variant.memory_format,
            issubclass(variant, TransformerNetFused),
            IN_RUNTIMES[name].runtime if name in IN_RUNTIMES else None,
        )
        for name, variant in ALL_VARIANTS.items()
    }
    multiple = MULTIPLE
    has_webgpu = True
    bytes_per_pixel = 1200  # measured: baseline 1,130, fused 850

    def banded_bytes(self, size: tuple[int, int], precision: Precision) -> int:
        width, height = size
        return memory_needed(height, width, precision.value.dtype.itemsize)

    def run_in_bands(
        self,
        module: nn.Module,
        rows: Rows,
        write: Callable[[int, Tensor], object],
        size: tuple[int, int],
        progress: Callable[[float], object],
    ) -> None:
        """Stylize with models.inference.banded.style_in_bands; every variant paints the same."""
        assert isinstance(module, TransformerNetBaseline)
        width, height = size
        style_in_bands(module, rows, write, (height, width), progress)

    def read(self, path: Path) -> State:
        return load_checkpoint(path)

    def write(self, path: Path, contents: State, metadata: Mapping[str, str]) -> None:
        """Write a checkpoint as safetensors in float16."""
        save_checkpoint(path, contents, metadata)

    def has_lite(self, files: StyleFiles, networks: SharedNetworks) -> bool:  # noqa: ARG002
        return files.lite is not None

    def load(
        self,
        files: StyleFiles,
        networks: SharedNetworks,  # noqa: ARG002
        *,
        lite: bool = False,
        progress: Callable[[str], object] = log.debug,  # noqa: ARG002
    ) -> LoadedStyle:
        """Read the weights; styles share a network if its dimensions are equal."""
        path = files.lite if lite else files.weights
        assert path is not None
        state = StyleState.shared(load_checkpoint(path))
        return LoadedStyle(network_config(state), state)

    def build(self, network: NetworkConfig, kernels: str) -> nn.Module:
        return ALL_VARIANTS[kernels](**asdict(network)).requires_grad_(False).eval()

    def build_on(
        self, network: NetworkConfig, kernels: str, device: torch.device, precision: Precision
    ) -> nn.Module:
        if is_webgpu(device):
            return WebGpuNetwork(network, device, precision)
        return super().build_on(network, kernels, device, precision)

    def webgpu_refusal(
        self,
        network: NetworkConfig,
        kernels: str,
        device: torch.device,
        precision: Precision,
        size: tuple[int, int],
    ) -> str:
        if kernels != "fused":
            return tr("only the fused network has WebGPU shaders")
        return refusal(network, device, precision, size)

    def prepare_on(
        self,
        network: NetworkConfig,
        device: torch.device,
        precision: Precision,
        size: tuple[int, int],
    ) -> None:
        WebGpuNetwork(network, device, precision).prepare(size)

    def sample(self) -> nn.Module:
        return self.build(FULL, "fused")

    def load_into(self, module: nn.Module, state: State) -> None:
        if isinstance(module, TransformerNetFused) and isinstance(state, TransformedState):
            module.load_state(state)
        else:
            module.load_state_dict(state)

    def difference(self, first: NetworkConfig, second: NetworkConfig) -> str:
        """Return how the dimensions differ: weights of different dimensions cannot be mixed."""
        if first == second:
            return ""
        return tr(
            "their networks differ ({one}; {other})",
            one=_description(first),
            other=_description(second),
        )

    def limitations(
        self, kernels: str, device: torch.device, precision: Precision, network: NetworkConfig
    ) -> tuple[str, ...]:
        """Return the variant's limits, a sentence each.

        For the fused variant, the last is why the CPU scales and mixes frames, or "".
        """
        if is_webgpu(device):
            return ()
        variant = ALL_VARIANTS[kernels]
        mode = precision.value
        said = variant.limitations(device, mode.dtype, network, int8=mode.int8)
        return (*said, unavailable_reason(device)) if variant is TransformerNetFused else said


def _description(shape: NetworkConfig) -> str:
    channels, side = "-".join(map(str, shape.widths)), shape.end_kernel
    blocks = trn("{n} residual block", "{n} residual blocks", shape.num_residual_blocks)
    return tr(
        "{blocks}, {widths} channels, {n}x{n} first and last kernels",
        blocks=blocks,
        widths=channels,
        n=side,
    )

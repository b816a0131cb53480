"""The network layer by layer on a GPU as CUDA graphs, where the native network does not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.graph_plan import GraphPlan
from models.inference import layerwise
from models.layers import PublishedNetwork
from models.precision import compute_dtype


class LoadableNetwork(PublishedNetwork, Protocol):
    """Layers whose weights can be replaced in place."""

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> object:
        """Copy weights into the parameters."""
        ...


class LayerwisePlan(GraphPlan):
    """`models.inference.layerwise` for pictures of one size, captured in CUDA graphs.

    Launching its operations one by one would take longer than computing them. What is in effect
    when a graph is captured, such as autocast and TF32, is in effect when it is replayed.

    Args:
        network: Its layers, on the device and of the dtype, for this plan alone.
        weights: A published state dict, on any device.
        shape: N, H, W of the pictures.
        dtype: Of the layers.
        device: A CUDA device.
        native: Whether to use native kernels, see `layerwise.is_native`.
    """

    def __init__(
        self,
        network: LoadableNetwork,
        weights: Mapping[str, Tensor],
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        *,
        native: bool,
    ) -> None:
        super().__init__(shape, dtype, device)
        self._network, self._native = network, native
        groups = {
            "encoder": layerwise.encoder(network, native),
            "residual blocks": layerwise.transformer(network, native),
            "decoder": layerwise.decoder(network, native),
        }
        self._layers: layerwise.Layers = {
            f"{group}/{name}": layer
            for group, layers in groups.items()
            for name, layer in layers.items()
        }
        # What a part whose last layer is the key leaves for the next, in the memory of its graph.
        self._left: dict[tuple[str, bool], Tensor] = {}
        self.set_weights(weights)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers in order, below their groups; a residual block is one: "encoder/conv1"."""
        return tuple(self._layers)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights with those of another network of the same shape."""
        self._network.load_state_dict(weights)  # in place: graphs read them where they are

    def _free_parts(self) -> None:
        self._left.clear()
        super()._free_parts()

    def _prepared(self, part: str, in_bytes: bool) -> Callable[[], object]:
        names, layers = self.layers, self._within(part)
        first, last = names.index(layers[0]), names.index(layers[-1])

        def submit() -> None:
            x = self._left[names[first - 1], in_bytes] if first else self._input(in_bytes)
            for name in layers:
                x = self._layers[name](x)
            if names[last] == names[-1]:
                self._output(x, in_bytes)
            else:
                self._left[names[last], in_bytes] = x

        return submit

    def _input(self, in_bytes: bool) -> Tensor:
        """[N, 3, H, W] for the first layer, with sides that are multiples of 4."""
        height, width = self.shape[1:]
        pixels = self.frames if in_bytes else self._x
        x = pixels.permute(0, 3, 1, 2).to(self.dtype)
        if self._native:  # autocast casts the inputs of PyTorch's operations only
            x = x.to(compute_dtype(x))
        if height % 4 or width % 4:
            x = F.pad(x, (0, -width % 4, 0, -height % 4), mode="reflect")
        return x

    def _output(self, y: Tensor, in_bytes: bool) -> None:
        """Write what the last layer gave, [N, 3, H', W'], to the picture."""
        height, width = self.shape[1:]
        y = y[..., :height, :width].permute(0, 2, 3, 1)  # [N, H, W, 3]
        if not in_bytes:
            self._y.copy_(y)
            return
        y = y.float()
        self.pictures.copy_((y.clamp(0, 255) + 0.5).to(torch.uint8))
        low, high = torch.aminmax(y.reshape(self.samples, -1), dim=1)
        self.ranges.copy_(
            torch.stack(
                [_in_order(low), _in_order(high), (~y.isfinite()).sum(dim=(1, 2, 3)).int()], dim=1
            )
        )


def _in_order(values: Tensor) -> Tensor:
    """float32 as integers of the same order, see frame_pipeline.is_broken."""
    bits = values.view(torch.int32)
    return torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)

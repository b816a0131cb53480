"""The network layer by layer on a GPU as CUDA graphs, if the native network does not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from models.inference import layerwise
from models.inference.sequential_plan import PicturePlan
from models.layers import PublishedNetwork
from models.precision import compute_dtype


class LoadableNetwork(PublishedNetwork, Protocol):
    """Layers whose weights can be replaced in place."""

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> object: ...


class LayerwisePlan(PicturePlan[Tensor]):
    """`models.inference.layerwise` for pictures of one size, N, H, W, captured in CUDA graphs.

    This plan alone owns `network`, on `device` and in `dtype`; `weights` may be on any device.
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
        self._network, self._native = network, native
        groups = {
            "encoder": layerwise.encoder(network, native),
            "residual blocks": layerwise.transformer(network, native),
            "decoder": layerwise.decoder(network, native),
        }
        # A residual block is one layer.
        layers = {
            f"{group}/{name}": layer
            for group, layers in groups.items()
            for name, layer in layers.items()
        }
        super().__init__(shape, dtype, device, layers)
        self.set_weights(weights)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights with another network's of the same shape."""
        # in place: graphs read the weights at fixed addresses
        self._network.load_state_dict(weights)

    def _begin(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        if self._native:  # autocast casts the inputs of PyTorch's operations only
            x = x.to(compute_dtype(x))
        if height % 4 or width % 4:
            x = F.pad(x, (0, -width % 4, 0, -height % 4), mode="reflect")
        return x

    def _end(self, left: Tensor) -> Tensor:
        return left

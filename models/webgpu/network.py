"""The feed-forward network on a GPU through WebGPU, between pictures in the CPU's memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kernels.network.cpu.work import finished_shares
from kernels.network.graph_plan import StageCallback
from kernels.network.webgpu.layers import unsupported
from kernels.network.webgpu.mixing import MixedWeights
from kernels.network.webgpu.paced import Passed
from kernels.network.webgpu.plan import Before, WebGpuPlan
from kernels.network.webgpu.plan import unsupported as unsupported_by
from kernels.network.webgpu.started import Started
from kernels.network.webgpu.weights import Weights
from models.inference.style_state import MixedState, StyleState
from models.network_config import NetworkConfig
from models.pictures import check_pictures
from models.precision import Precision
from models.webgpu.tuning import network_for, untuned
from models.webgpu_devices import opened

PLANS_KEPT = 2  # sizes; each plan owns its buffers
STYLES_KEPT = 6  # their weights take 30 MB of the GPU's memory each, lite ones 5 MB
Pixels = NDArray[np.uint8]
Size = tuple[int, int]  # width, height


def refusal(network: NetworkConfig, device: torch.device, precision: Precision, size: Size) -> str:
    """Return why a GPU does not paint pictures of a size, as a clause; "" if it does.

    Raises:
        WebGpuError: If the GPU cannot be opened.
    """
    if reason := unsupported(network):
        return reason
    return unsupported_by(untuned(network, precision), size, opened(device))


class WebGpuNetwork(nn.Module):
    """The network for inference, with plans for the last PLANS_KEPT sizes. Not thread-safe.

    It reads and writes pictures in the CPU's memory, in bytes or FP32. Every method that paints
    raises WebGpuError if the GPU is lost, has too little memory or refuses a command.

    Args:
        device: A device of models.webgpu_devices.
        precision: FP32, or FP16 for activations and filters.

    Attributes:
        by_layer: Has no effect: the GPU's clock measures groups of layers.
    """

    def __init__(self, shape: NetworkConfig, device: torch.device, precision: Precision) -> None:
        super().__init__()
        self.shape, self.by_layer = shape, False
        self._device = opened(device)
        self._network = network_for(shape, device, precision)
        self._weights: Weights | None = None
        self._packed: dict[int, tuple[Mapping[str, Tensor], Weights]] = {}  # by the state's id
        self._mixed: tuple[tuple[Weights, ...], MixedWeights] | None = None  # the newest mix
        self._plans: dict[Size, WebGpuPlan] = {}

    def load_state_dict(self, state_dict: Mapping[str, Any], *_: Any, **__: Any) -> Any:
        """Pack and upload a style's weights, with the published keys, of any float dtype.

        The weights of the last STYLES_KEPT styles stay on the GPU, which interpolates their mixes.
        """
        if isinstance(state_dict, MixedState):
            styles = tuple(map(self._pack, state_dict.styles))
            if self._mixed is None or self._mixed[0] != styles:
                self._mixed = styles, MixedWeights(self._device, styles)
            self._mixed[1].mix(state_dict.shares)
            self._weights = self._mixed[1].weights
        elif isinstance(state_dict, StyleState):
            self._weights = self._pack(state_dict)
        else:  # the caller may change it
            self._weights = Weights(self._device, self._network, state_dict)

    def _pack(self, state: StyleState) -> Weights:
        kept = self._packed.pop(id(state), None)
        if kept is None:
            kept = state, Weights(self._device, self._network, state)
        self._packed[id(state)] = kept  # the reference to the state keeps its id from others
        if len(self._packed) > STYLES_KEPT:
            self._packed.pop(next(iter(self._packed)))
        return kept[1]

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        """Stylize pictures [N, 3, H, W] with values 0-255; return them in FP32, not rounded.

        With `mark`, pictures are painted as in `paint`, and layers are marked that slow GPUs end.
        """
        check_pictures(x)
        pictures = x.detach().permute(0, 2, 3, 1).float().contiguous().numpy()
        plan, weights = self._plan((x.shape[3], x.shape[2])), self._loaded()
        if mark is None:
            painted = plan(weights, pictures)
        else:
            passed = _marking(mark, finished_shares(self.shape))
            painted = np.stack([plan.paint(weights, each, passed).result() for each in pictures])
        return torch.as_tensor(painted).permute(0, 3, 1, 2)

    def paint(self, picture: Pixels, passed: Passed) -> Started:
        """Stylize a picture [H, W, 3], and wait for it; see `WebGpuPlan.paint`.

        Raises:
            Stopped: If the flag of `stopped_by` is set.
        """
        height, width = picture.shape[:2]
        return self._plan((width, height)).paint(self._loaded(), picture, passed)

    def start(
        self,
        picture: Pixels,
        before: Before = lambda picture: (),
        pieces_from: float = math.inf,
    ) -> Started:
        """Start stylizing a picture [H, W, 3], while up to one more of its size is under way.

        `WebGpuPlan.start` describes `before` and `pieces_from`.
        """
        height, width = picture.shape[:2]
        plan, weights = self._plan((width, height)), self._loaded()
        return plan.start(weights, picture, timed=True, before=before, pieces_from=pieces_from)

    def prepare(self, size: Size) -> None:
        """Compile the shaders for a size, and allocate its buffers."""
        self._plan(size).prepare()

    def _loaded(self) -> Weights:
        assert self._weights is not None, "no weights were loaded"
        return self._weights

    def _plan(self, size: Size) -> WebGpuPlan:
        plan = self._plans.pop(size, None) or WebGpuPlan(self._device, self._network, size)
        self._plans[size] = plan  # last in the dict: the first is the least recently used
        if len(self._plans) > PLANS_KEPT:
            self._plans.pop(next(iter(self._plans)))
        return plan


def _marking(mark: StageCallback, shares: Mapping[str, float]) -> Passed:
    def passed(layer: str, share: float) -> None:
        if share >= shares[layer]:
            mark(layer)

    return passed

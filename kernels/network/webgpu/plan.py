"""The network for pictures of one size on a GPU, from pixels to pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.network.graph_plan import group_of
from kernels.network.webgpu import layers, winograd
from kernels.network.webgpu.device import Device, Readback, Step
from kernels.network.webgpu.layers import MIN_SIDE, MULTIPLE, Network
from kernels.network.webgpu.steps import Pair, Steps
from kernels.network.webgpu.weights import Weights
from utils.translation.texts import tr


def unsupported(network: Network, size: Pair, device: Device) -> str:
    """Return why a device cannot paint pictures of a width and height; "" if it can."""
    if network.half and not device.adapter.half:
        return tr("this GPU has no FP16 in shaders")
    if min(size) < MIN_SIDE:
        return tr("pictures need at least {n} pixels on each side", n=MIN_SIDE)
    if max(buffer_sizes(network, size).values()) > device.adapter.binding_bytes:
        return tr("the picture is too large for one buffer of this GPU")
    return layers.unsupported(network)


def buffer_sizes(network: Network, size: Pair) -> dict[str, int]:
    """Return the bytes of the buffers between layers, for pictures of a width and height.

    "full", "half" and "raw" are raw results in three sizes, "inside" a residual block's first one.
    "even" and "odd" are the inputs of residual blocks by turns.
    """
    outer, middle, inner = network.widths
    wide, high = (-(-side // MULTIPLE) for side in size)
    quarter = wide * high
    numbers = {"full": 16 * quarter * outer, "half": 4 * quarter * middle}
    numbers |= dict.fromkeys(("raw", "inside", "even", "odd"), quarter * inner)
    if network.winograd:
        tiles = -(-wide // winograd.OUTPUTS) * -(-high // winograd.OUTPUTS)
        numbers |= dict.fromkeys(("tiles", "products"), winograd.POSITIONS * tiles * inner)
    element = 2 if network.half else 4
    return {name: element * number for name, number in numbers.items()}


class WebGpuPlan:
    """The layers of a network for pictures of one size. Not thread-safe.

    A layer writes its raw result and its moments, and a small shader its norm. The next layer
    applies the norm while it loads. The weights are an argument of each call.
    """

    def __init__(self, device: Device, network: Network, size: Pair) -> None:
        """Allocate the buffers for pictures of a width and height.

        Raises:
            WebGpuError: If the device is lost or out of memory.
            ValueError: If the device cannot paint them, see `unsupported`.
        """
        if why := unsupported(network, size, device):
            raise ValueError(why)
        self._device, self._network, self._size = device, network, size
        sizes = buffer_sizes(network, size)
        self._between = {name: device.allocate(count) for name, count in sizes.items()}
        self._forms: dict[bool, tuple[Steps, Readback]] = {}  # by whether pictures are bytes

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers in order, with their groups: "encoder/conv1"."""
        return self._network.layers

    def __call__(
        self, weights: Weights, pictures: NDArray[Any], *, by_layer: bool = False
    ) -> NDArray[Any]:
        """Stylize pictures [N, H, W, 3] one by one; return [N, H, W, 3] of their dtype.

        The first call for a dtype compiles the shaders.

        Args:
            weights: Weights for the same network and device.
            pictures: uint8, or float32 with values 0-255. Results in uint8 are rounded; a value
                that is no number becomes 0.
            by_layer: Whether each layer is a submission of its own. Drivers end a submission after
                about two seconds.

        Raises:
            WebGpuError: If the device is lost, out of memory, or refuses a shader.
        """
        wide, high = self._size
        assert pictures.shape[1:] == (high, wide, 3), pictures.shape
        assert pictures.dtype in (np.uint8, np.float32), pictures.dtype
        steps, readback = self._form(pictures.dtype == np.uint8)
        parts = steps.grouped(weights, str if by_layer else lambda _: "")
        result = np.empty_like(pictures)
        for picture, to in zip(pictures, result, strict=True):
            self._device.write(steps.picture, picture)
            self._run([*parts.values()], steps, readback)
            rows: NDArray[Any] = self._device.read(readback).view(pictures.dtype)
            to[:] = rows.reshape(high, -1, 3)[:, :wide]
        return result

    def times(self, weights: Weights, key: Callable[[str], str] = group_of) -> dict[str, float]:
        """Paint the last picture again, and return the GPU's time in ms for each part.

        Args:
            key: Returns the part of a layer, from a name such as "encoder/conv1".

        Raises:
            WebGpuError: If the device is lost or does not measure times.
        """
        steps, _ = self._form(True)
        parts = steps.grouped(weights, key)
        return dict(zip(parts, self._device.times([*parts.values()]), strict=True))

    def _form(self, in_bytes: bool) -> tuple[Steps, Readback]:
        if in_bytes not in self._forms:
            steps = Steps(self._device, self._network, self._size, self._between, in_bytes=in_bytes)
            self._forms[in_bytes] = steps, self._device.readback(steps.result_bytes)
        return self._forms[in_bytes]

    def _run(self, parts: Sequence[Sequence[Step]], steps: Steps, readback: Readback) -> None:
        for part in parts[:-1]:
            self._device.submit(part)
        self._device.submit(parts[-1], copy=(steps.result, readback))

"""The network for pictures of one size on a GPU, from pixels to pixels."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.network.graph_plan import group_of
from kernels.network.webgpu import layers
from kernels.network.webgpu.device import Buffer, Device
from kernels.network.webgpu.form import Form
from kernels.network.webgpu.layers import BAND_BYTES, MIN_SIDE, MULTIPLE, Layer, Network
from kernels.network.webgpu.native import Step
from kernels.network.webgpu.paced import MOST, Check, Passed
from kernels.network.webgpu.stamps import MOST_PASSES
from kernels.network.webgpu.started import Place, Started
from kernels.network.webgpu.steps import Pair, Steps
from kernels.network.webgpu.submissions import LONGEST, Part
from kernels.network.webgpu.weights import Weights
from kernels.network.webgpu.winograd import transform_of
from utils.stop_flag import flag_in_force
from utils.translation.texts import tr

Before = Callable[[Buffer], Sequence[Step]]

# Steps of a picture's first submission. The CPU takes 0.3 ms to encode all 45 steps of the full
# network, and on an H200 these take about as long at 512x512.
AHEAD = 6


def unsupported(network: Network, size: Pair, device: Device) -> str:
    """Return why a device cannot paint pictures of a width and height; "" if it can."""
    if why := layers.unsupported(network):
        return why
    if network.half and not device.adapter.half:
        return tr("this GPU has no FP16 in shaders")
    if min(size) < MIN_SIDE:
        return tr("pictures need at least {n} pixels on each side", n=MIN_SIDE)
    if max(buffer_sizes(network, size, band_bytes(device)).values()) > device.adapter.binding_bytes:
        return tr("the picture is too large for one buffer of this GPU")
    return ""


def band_bytes(device: Device) -> int:
    """Return the most bytes of a buffer between Winograd's shaders."""
    return min(BAND_BYTES, device.adapter.binding_bytes)


def buffer_sizes(network: Network, size: Pair, most: int | None) -> dict[str, int]:
    """Return the bytes of the buffers between layers, for pictures of a width and height.

    `most` is the limit of `Network.bands`.

    "full", "half" and "raw" are raw results in three sizes, "inside" a residual block's first one.
    "even" and "odd" are the inputs of residual blocks by turns. "tiles" and "products" are
    between the shaders of Winograd's transforms.
    """
    outer, middle, inner = network.widths
    wide, high = (-(-side // MULTIPLE) for side in size)
    quarter = wide * high
    numbers = {"full": 16 * quarter * outer, "half": 4 * quarter * middle}
    numbers |= dict.fromkeys(("raw", "inside", "even", "odd"), quarter * inner)
    for layer, each in _transformed(network, (wide, high)):
        form, transform = layer.form, transform_of(enlarges=layer.form.enlarges)
        across, down = transform.tiles(each)
        largest, *_ = network.bands(layer, across * down, most)
        positions = transform.positions * largest.tiles
        for name, channels in (("tiles", form.inputs), ("products", form.phases * form.outputs)):
            count = positions * channels
            numbers[name] = max(numbers[name], count) if name in numbers else count
    element = 2 if network.half else 4
    return {name: element * number for name, number in numbers.items()}


def _transformed(network: Network, quarter: Pair) -> list[tuple[Layer, Pair]]:
    """Return the layers by Winograd's transforms, one for all residual ones, and their inputs.

    `quarter` is the width and height of the residual layers.
    """
    wide, high = quarter
    up, out = network.decoder
    residual = [(first, quarter) for first, _ in network.blocks[:1]]
    all_layers = [*residual, (up, quarter), (out, (2 * wide, 2 * high))]
    return [(layer, size) for layer, size in all_layers if layer.winograd]


class WebGpuPlan:
    """The layers of a network for pictures of one size.

    A layer writes its raw result and its moments, and a small shader its norm. The next layer
    applies the norm while it loads. The weights are an argument of each call.

    Two pictures may be in flight: the next one is uploaded, and the one before downloaded, while
    the GPU computes. One thread may start pictures, and another one wait for them.
    """

    def __init__(
        self,
        device: Device,
        network: Network,
        size: Pair,
        *,
        longest: float = LONGEST,
        beside: WebGpuPlan | None = None,
    ) -> None:
        """Allocate the buffers for pictures of a width and height.

        Args:
            longest: The most ms of a submission. A picture that takes longer is several.
            beside: A plan of the same network and size with other tiles, which shares its buffers
                and its division into submissions. One thread must use both.

        Raises:
            WebGpuError: If the device is lost or out of memory.
            ValueError: If the device cannot paint them, see `unsupported`.
        """
        if why := unsupported(network, size, device):
            raise ValueError(why)
        self._device, self._network, self._size = device, network, size
        self._longest = longest
        self._beside = beside
        if beside is not None:
            self._between = beside._between
        else:
            sizes = buffer_sizes(network, size, band_bytes(device))
            self._between = {name: device.allocate(count) for name, count in sizes.items()}
        self._forms: dict[bool, Form] = {}  # by whether pictures are bytes
        self._pieces: Future[float] | None = None  # of the newest picture that has them

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers in order, with their groups: "encoder/conv1"."""
        return self._network.layers

    def start(
        self,
        weights: Weights,
        picture: NDArray[Any],
        *,
        timed: bool = False,
        before: Before = lambda picture: (),
        pieces_from: float = math.inf,
    ) -> Started:
        """Start to stylize a picture [H, W, 3], and return without waiting for the GPU.

        Only the first call for a dtype waits: it compiles the shaders, and measures each layer to
        divide slow GPUs' work into submissions.

        Args:
            weights: Weights for the same network and device.
            picture: uint8, or float32 with values 0-255. A result in uint8 is rounded; a value that
                is no number becomes 0.
            timed: Whether to measure the groups of layers, if the GPU can. The first picture of a
                dtype is not measured.
            before: Returns the steps that change the uploaded picture, such as texture's.
            pieces_from: The ms of a picture, from which on a thread submits it in pieces, so that
                the GPU does other work meanwhile.

        Raises:
            WebGpuError: If the device is lost, out of memory, or refuses a shader.
            ValueError: If two pictures are in flight.
        """
        to = np.empty_like(picture, order="C")
        return self._start(weights, picture, to, timed, before, pieces_from)

    def paint(
        self,
        weights: Weights,
        picture: NDArray[Any],
        passed: Passed = lambda layer, share: None,
    ) -> Started:
        """Stylize a picture [H, W, 3] in short pieces, and wait for it. It can be given up.

        The pieces of a slow GPU take some milliseconds; a fast GPU paints the picture at once, from
        the second one on. An exception of `passed`, or a flag of `stopped_by`, leaves the plan
        usable.

        Args:
            passed: Called after each piece, with its layer and the finished share, 0 to 1.

        Raises:
            Stopped: If the flag of `stopped_by` is set.
            WebGpuError: If the device is lost, out of memory, or refuses a shader.
            ValueError: If two pictures are in flight.
        """
        flag = flag_in_force()
        check: Check = (lambda: None) if flag is None else flag.check
        check()
        form = self._form(picture.dtype == np.uint8)
        paced = form.paced(self._network, self._size)
        to = np.empty_like(picture, order="C")
        if paced.expected <= MOST:
            started = self._start(weights, picture, to, timed=True)
        else:
            place = form.place()
            self._await_pieces()
            self._device.write(form.steps.picture, picture)
            layers = form.steps.grouped(weights, str)
            form.record(paced.run(layers, place.copies(timed=False), passed, check))
            started = Started(place, to, ())
        started.wait()
        return started

    def prepare(self) -> None:
        """Compile the shaders for pictures in bytes, which takes up to some seconds.

        Raises:
            WebGpuError: If the device is lost, out of memory, or refuses a shader.
        """
        self._form(True)

    def __call__(self, weights: Weights, pictures: NDArray[Any]) -> NDArray[Any]:
        """Stylize pictures [N, H, W, 3] one by one; return [N, H, W, 3] of their dtype.

        `start` describes the arguments and the errors.
        """
        result = np.empty_like(pictures, order="C")
        ahead: deque[Started] = deque()
        most = self._form(pictures.dtype == np.uint8).left
        for picture, to in zip(pictures, result, strict=True):
            if ahead and len(ahead) == most:
                ahead.popleft().wait()
            ahead.append(self._start(weights, picture, to))
        for started in ahead:
            started.wait()
        return result

    def times(self, weights: Weights, key: Callable[[str], str] = group_of) -> dict[str, float]:
        """Paint the last picture again, and return the GPU's time in ms for each part.

        Args:
            key: Returns the part of a layer, from a name such as "encoder/conv1".

        Raises:
            WebGpuError: If the device is lost or does not measure times.
        """
        parts = self._form(True).steps.grouped(weights, key)
        return dict(zip(parts, self._device.times([*parts.values()]), strict=True))

    def milliseconds(self, weights: Weights, layers: Collection[str]) -> float:
        """Run some layers on what the buffers hold, and return their time.

        The time is the GPU's, or the wall clock's if the GPU does not measure times.

        Raises:
            WebGpuError: If the device is lost or does not answer.
        """
        form = self._form(True)
        named = form.steps.grouped(weights, str)
        steps = [step for name in named if name in layers for step in named[name]]
        return (
            self._device.times([steps])[0] if self._device.adapter.timed else form.stopwatch(steps)
        )

    def _start(
        self,
        weights: Weights,
        picture: NDArray[Any],
        to: NDArray[Any],
        timed: bool = False,
        before: Before = lambda picture: (),
        pieces_from: float = math.inf,
    ) -> Started:
        wide, high = self._size
        assert picture.shape == (high, wide, 3), picture.shape
        assert picture.dtype in (np.uint8, np.float32), picture.dtype
        form = self._form(picture.dtype == np.uint8)
        place = form.place()
        self._device.write(place.picture, picture)
        if changes := before(place.picture):
            self._device.submit([changes])
        if form.measured >= pieces_from:
            return self._start_pieces(weights, place, to, timed=timed)
        self._await_pieces()
        layers = form.layers(weights, place)
        if not form.submissions:
            form.measure(layers, self._longest)
            self._device.submit([], place.copies(timed=False))
            return Started(place, to, ())
        if timed and self._device.adapter.timed:
            return Started(place, to, self._submit_timed(form.submissions, layers, place))
        passes = [
            [step for part in parts for step in part.of(layers[part.layer])]
            for parts in form.submissions
        ]
        # The GPU begins while the CPU encodes the rest.
        passes[:1] = [passes[0][:AHEAD], passes[0][AHEAD:]]
        *early, last = [steps for steps in passes if steps]
        for steps in early:
            self._device.submit([steps])
        self._device.submit([last], place.copies(timed=False))
        return Started(place, to, ())

    def _start_pieces(
        self, weights: Weights, place: Place, to: NDArray[Any], *, timed: bool
    ) -> Started:
        """Start a picture that a thread submits in pieces, after the one before."""
        form = self._form(to.dtype == np.uint8)
        paced = form.streamed(self._network, place)
        timed = timed and self._device.adapter.timed and len(paced.layers) <= MOST_PASSES
        stamps = place.clock(len(paced.layers)) if timed else None
        layers, copies = form.steps.grouped(weights, str), place.copies(timed=timed)
        self._pieces = self._device.background.begin(
            lambda: paced.run(layers, copies, stamps=stamps)
        )
        return Started(place, to, [*map(group_of, paced.layers)] if timed else (), self._pieces)

    def _await_pieces(self) -> None:
        """Wait until the newest picture in pieces is submitted: pictures share their buffers."""
        if self._pieces is not None:
            wait([self._pieces])
            self._pieces = None

    def _submit_timed(
        self,
        submissions: Sequence[Sequence[Part]],
        layers: Mapping[str, Sequence[Step]],
        place: Place,
    ) -> list[str]:
        """Submit passes for the groups of layers in each submission; return the passes' groups."""
        passes: list[list[tuple[str, list[Step]]]] = [
            [
                (group, [step for part in some for step in part.of(layers[part.layer])])
                for group, some in groupby(parts, lambda part: group_of(part.layer))
            ]
            for parts in submissions
        ]
        groups = [group for part in passes for group, _ in part]
        stamps = place.clock(len(groups))
        first = 0
        for part in passes:
            copies = place.copies(timed=True) if part is passes[-1] else ()
            self._device.submit([steps for _, steps in part], copies, stamps, first)
            first += len(part)
        return groups

    def _form(self, in_bytes: bool) -> Form:
        if in_bytes not in self._forms:
            size, between = self._size, self._between
            with self._device.compiling():
                steps = Steps(
                    *(self._device, self._network, size, between),
                    band_bytes=band_bytes(self._device),
                    in_bytes=in_bytes,
                )
            form = Form(self._device, steps)
            if self._beside is not None:
                form.share(self._beside._form(in_bytes))
            self._forms[in_bytes] = form
        return self._forms[in_bytes]

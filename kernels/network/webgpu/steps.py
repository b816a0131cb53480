"""All steps of a network for pictures of one size, as bytes or as FP32."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from kernels.network.webgpu import last as last_layer
from kernels.network.webgpu import product, transform_in, transform_out
from kernels.network.webgpu.convolution import convolution, groups
from kernels.network.webgpu.device import Buffer, Device
from kernels.network.webgpu.layers import LAST, MULTIPLE, Layer, Network
from kernels.network.webgpu.moments import MOMENTS_BYTES, merging
from kernels.network.webgpu.native import Group, Pipeline, Step
from kernels.network.webgpu.weights import Weights
from kernels.network.webgpu.wgsl import Reading, Shader
from kernels.network.webgpu.winograd import transform_of

Pair = tuple[int, int]  # a width and a height, or another field of a shader's `sizes`


Groups = tuple[int, int, int]  # workgroups


class Run(NamedTuple):
    """A step without the style's weights.

    Attributes:
        weights: Their name, "" if it reads none.
        sizes, buffers: What `bound` holds.
        axis: The dimension of workgroups in which the run can be divided; the last pair of `sizes`
            is then the first one and the number of all. None for a run that is always whole.
    """

    pipeline: Pipeline
    groups: Groups
    bound: Group
    weights: str
    sizes: tuple[Pair, ...]
    buffers: Mapping[str, Buffer]
    axis: int | None

    def step(self, device: Device, weights: Weights) -> Step:
        group = None
        if self.weights:
            group = device.bind_weights(self.pipeline, weights.buffers[self.weights])
        return Step(self.pipeline, self.groups, self.bound, group)

    def divided(
        self, device: Device, most: int, buffers: Mapping[str, Buffer]
    ) -> list[tuple[Groups, Group]]:
        """Return the workgroups and the bind groups of at most `most` parts, in order.

        `buffers` takes the place of the buffers with these names.
        """
        buffers = {**self.buffers, **buffers}
        if self.axis is None:
            same = buffers == self.buffers
            bound = self.bound if same else device.bind(self.pipeline, self.sizes, **buffers)
            return [(self.groups, bound)]
        before, every, after = (
            *(self.groups[: self.axis], self.groups[self.axis], self.groups[self.axis + 1 :]),
        )
        each = -(-every // min(most, every))
        parts: list[tuple[Groups, Group]] = []
        for first in range(0, every, each):
            sizes = *self.sizes[:-1], (first, every)
            groups = cast("Groups", (*before, min(each, every - first), *after))
            parts.append((groups, device.bind(self.pipeline, sizes, **buffers)))
        return parts


def tiled(layer: Layer, half: bool) -> Shader:
    """Return the shader of a layer that depends on its tile."""
    form, tile = layer.form, layer.tile
    if layer.winograd:
        positions = transform_of(enlarges=form.enlarges).positions
        outputs = form.phases * form.outputs
        return product.product(positions, form.inputs, outputs, tile, half, layer.half_sums)
    return convolution(form, tile, half, layer.half_sums)


class Steps:
    """The steps from a picture to a picture.

    Attributes:
        picture: The buffer for the input, [H, W, 3], as uint8 or float32.
        runs: The runs of shaders by layer, in order.
        result: The output, [H, P, 3] of the same dtype. P is W, rounded up to a multiple of four.
            The limits of all workgroups follow bytes, see `last`.
        pixel_bytes, result_bytes: The bytes of the output without and with the limits.
    """

    def __init__(
        self,
        device: Device,
        network: Network,
        real: Pair,
        between: Mapping[str, Buffer],
        *,
        band_bytes: int | None,
        in_bytes: bool,
    ) -> None:
        """Compile the shaders and bind the buffers.

        Args:
            real: Width and height of the pictures.
            between: The buffers between layers, see `plan.buffer_sizes`.
            band_bytes: The limit of `Network.bands`.
            in_bytes: Whether pictures are uint8; otherwise they are float32.

        Raises:
            WebGpuError: If the device is lost, out of memory, or refuses a shader.
        """
        self._device, self._network, self._between = device, network, between
        self._real, self._in_bytes, self._band_bytes = real, in_bytes, band_bytes
        self.runs: dict[str, list[Run]] = {}
        self._bound: weakref.WeakKeyDictionary[Weights, dict[str, list[Step]]] = (
            weakref.WeakKeyDictionary()
        )
        wide, high = real
        element = 1 if in_bytes else 4
        self.picture = device.allocate(3 * element * high * wide)
        self.pixel_bytes = self.result_bytes = 3 * element * high * -(-wide // 4) * 4
        if in_bytes:
            self.result_bytes += last_layer.limits_bytes(network.end_kernel, real)
        self.result = device.allocate(self.result_bytes)
        self._norm: Buffer = None  # the norm of the last layer's result
        self._trunk = ""  # the buffer with the input of the residual block
        self._lay_out()

    def another_picture(self) -> Buffer:
        """Return another buffer for the input, see `reading`."""
        return self._device.allocate(self.picture.size)

    def reading(self, picture: Buffer) -> Group:
        """Return the bind group of the first step for another buffer with the input."""
        pipeline, sizes, buffers = self._first
        return self._device.bind(pipeline, sizes, **{**buffers, "source": picture})

    def divided(
        self, layer: str, number: int, most: int, picture: Buffer
    ) -> list[tuple[Groups, Group]]:
        """Return at most `most` parts of a run, see `Run.divided`, where `picture` is the input."""
        run = self.runs[layer][number]
        reads = run.buffers.get("source") is self.picture
        return run.divided(self._device, most, {"source": picture} if reads else {})

    def grouped(self, weights: Weights, key: Callable[[str], str]) -> dict[str, list[Step]]:
        """Return the steps in order with a style's weights, grouped by a key of their layer."""
        if weights not in self._bound:
            assert weights.network == self._network, "the weights of another network"
            self._bound[weights] = {
                name: [run.step(self._device, weights) for run in runs]
                for name, runs in self.runs.items()
            }
        parts: dict[str, list[Step]] = {}
        for name, steps in self._bound[weights].items():
            parts.setdefault(key(name), []).extend(steps)
        return parts

    def _lay_out(self) -> None:
        network = self._network
        wide, high = (-(-side // MULTIPLE) * MULTIPLE for side in self._real)
        full, half, quarter = (wide, high), (wide // 2, high // 2), (wide // 4, high // 4)
        first, second, third = network.encoder
        self._convolve(first, "", "full", full, full)
        self._convolve(second, "full", "half", full, half)
        self._convolve(third, "half", "raw", half, quarter)
        for number, (outward, inward) in enumerate(network.blocks):
            kept = ("even", "odd")[number % 2]
            self._convolve(outward, "raw", "inside", quarter, quarter, kept)
            self._trunk = kept
            self._convolve(inward, "inside", "raw", quarter, quarter)
        up, out = network.decoder
        self._convolve(up, "raw", "half", quarter, half)
        self._convolve(out, "half", "full", half, full)
        self._finish(full)

    def _convolve(
        self, layer: Layer, source: str, result: str, size: Pair, result_size: Pair, kept: str = ""
    ) -> None:
        """Add a layer, from a buffer to a buffer, and its norm."""
        buffers = self._inputs(layer, source)
        if layer.form.keeps:
            buffers["kept"] = self._between[kept]
        if layer.winograd:
            parts, count = self._transformed(layer, buffers, result, size, result_size)
        else:
            parts, count = self._direct(layer, buffers, result, size, result_size)
        self._merge(layer, parts, (count, result_size[0] * result_size[1]), result)

    def _direct(
        self, layer: Layer, buffers: dict[str, Buffer], result: str, size: Pair, result_size: Pair
    ) -> tuple[Buffer, int]:
        """Add a direct convolution; return the moments of its parts, and their number."""
        form, tile = layer.form, layer.tile
        if form.reading.is_picture and not self._in_bytes:
            layer = replace(layer, form=form.of_numbers())
        across, down, others = groups(form, tile, result_size)
        count = form.phases * across * down
        parts = self._device.allocate(MOMENTS_BYTES * count * form.outputs // 4)
        shader = tiled(layer, self._network.half)
        sizes, workgroups = (size, result_size, self._real), (across, down, others)
        self._add(
            *(layer.name, shader, sizes, workgroups, layer.convolution, 1),
            **buffers, result=self._between[result], parts=parts,
        )  # fmt: skip
        return parts, count

    def _transformed(
        self, layer: Layer, buffers: dict[str, Buffer], result: str, size: Pair, result_size: Pair
    ) -> tuple[Buffer, int]:
        """Add a convolution by Winograd's transforms; return the same as `_direct`."""
        name, form, half, between = layer.name, layer.form, self._network.half, self._between
        transform = transform_of(enlarges=form.enlarges)
        across, down = transform.tiles(size)
        outputs = form.phases * form.outputs
        inward = transform_in.transform_in(
            form.inputs, form.reading, form.keeps, half, form.enlarges
        )
        outward = transform_out.transform_out(form.outputs, half, form.enlarges)
        bands = self._network.bands(layer, across * down, self._band_bytes)
        ends = [transform_out.groups(tiles, form.outputs, form.phases) for _, tiles in bands]
        count = sum(parts for parts, *_ in ends)
        parts = self._device.allocate(MOMENTS_BYTES * count * form.outputs // 4)
        part = 0
        for (first, tiles), end in zip(bands, ends, strict=True):
            counts, band = (across, tiles), (first, part)
            self._add(
                *(name, inward, (size, counts, band), transform_in.groups(tiles, form.inputs)),
                **buffers, result=between["tiles"],
            )  # fmt: skip
            workgroups = product.groups(transform.positions, tiles, outputs, layer.tile)
            self._add(
                *(name, tiled(layer, half), (counts,), workgroups, layer.convolution, 0),
                source=between["tiles"], result=between["products"],
            )  # fmt: skip
            self._add(
                *(name, outward, (result_size, counts, band), end),
                source=between["products"], result=between[result], parts=parts,
            )  # fmt: skip
            part += end[0]
        return parts, count

    def _merge(self, layer: Layer, parts: Buffer, counts: Pair, result: str) -> None:
        """Add the shader that merges a layer's moments to its norm."""
        channels = layer.form.outputs
        self._norm = self._device.allocate(3 * 4 * channels)
        buffers = {"parts": parts, "source": self._between[result], "norm": self._norm}
        if layer.following is Reading.RESIDUAL:
            buffers["trunk"] = self._between[self._trunk]
        shader = merging(channels, layer.following, self._network.half)
        self._add(layer.name, shader, (counts,), (channels // 4, 1, 1), layer.norm, **buffers)

    def _finish(self, size: Pair) -> None:
        """Add the last layer."""
        network = self._network
        shader = last_layer.last(
            network.widths[0], network.end_kernel, self._in_bytes, network.half
        )
        workgroups = last_layer.groups(network.end_kernel, self._real)
        self._add(
            *(LAST, shader, (size, self._real), workgroups, "deconv3", 1),
            source=self._between["full"], norm=self._norm, result=self.result,
        )  # fmt: skip

    def _inputs(self, layer: Layer, source: str) -> dict[str, Buffer]:
        reading = layer.form.reading
        if reading.is_picture:
            return {"source": self.picture}
        buffers = {"source": self._between[source], "norm": self._norm}
        if reading is Reading.RESIDUAL:
            buffers["trunk"] = self._between[self._trunk]
        return buffers

    def _add(
        self,
        layer: str,
        shader: Shader,
        sizes: Sequence[Pair],
        workgroups: Groups,
        weights: str = "",
        axis: int | None = None,
        **buffers: Buffer,
    ) -> None:
        """Add a run of a shader, with the weights of a convolution or a norm; see also `Run`."""
        if axis is not None:
            sizes = *sizes, (0, workgroups[axis])
        pipeline = self._device.pipeline(shader)
        bound = self._device.bind(pipeline, sizes, **buffers)
        if not self.runs:
            self._first = pipeline, sizes, buffers
        run = Run(pipeline, workgroups, bound, weights, tuple(sizes), buffers, axis)
        self.runs.setdefault(layer, []).append(run)

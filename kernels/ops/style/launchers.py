"""The single operations' launchers over the CUDA driver: they choose kernels and grids.

tests/kernels/ops/cuda/test_launchers.py compares every launch with the stored one next to it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from ctypes import c_int, c_longlong, c_void_p
from pathlib import Path
from typing import Any

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.launch import Kernel
from kernels.driver.layouts import check
from kernels.driver.library import DriverLibrary, no_image
from kernels.driver.prebuilt import register
from kernels.driver.sequence import Launch
from kernels.jit.errors import BuildError
from kernels.ops.style.structs import (
    STRUCTURES,
    AffineParameters,
    Convolution,
    Cut,
    Margin,
    PartialMomentsView,
    Planes,
    StyleforgeConvNormRelu,
    StyleforgeConvolution,
    StyleforgeNorm,
    StyleforgeResidualBlock,
)
from kernels.table.names import OPERATIONS

INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
PLAIN = 0  # STYLEFORGE_PLAIN
MOMENTS_BYTES = 16  # bytes of PartialMoments and Affine
MOST_SHAPES = 4096  # with cached launches

_Grid = tuple[int, int, int]
_Stream = c_void_p | int | None


class Operations:
    """The single operations on the GPU with the driver's number `device`.

    Structs are passed by value, addresses as numbers. A launcher returns a CUresult as a number, 0
    for success. No launcher allocates memory. `launches` is None unless the launchers record.

    Raises:
        BuildError: If no image supports the GPU, an image is damaged, or the library's structs
            differ.
    """

    def __init__(
        self,
        images: ImageList,
        folder: Path,
        capability: tuple[int, int],
        device: int,
        driver: Driver,
    ) -> None:
        told = images.description
        check(told["structs"], STRUCTURES, "kernels/ops/style/structs.py")
        self._library = DriverLibrary(images, folder, capability, device, driver)
        if missing := sorted(images.kernels.keys() - self._library.sources):
            raise BuildError(no_image(missing[0], capability))
        self._source = {
            name: source for source, kernels in images.kernels.items() for name in kernels
        }
        types = {number: name for name, number in told["types"].items()}
        self._float = told["types"]["float32"]
        conv = told["conv2d"]
        self._pack_threads: int = conv["pack_threads"]
        self._tiles = {number: conv["tiles"][name] for number, name in types.items()}
        norm = self._norm = told["instance_norm"]
        self._of_type = {number: norm["types"][name]["kernels"] for number, name in types.items()}
        self._whole = {
            number: sorted(norm["types"][name]["whole"].values(), key=_capacity)
            for number, name in types.items()
        }
        self._kernels: dict[tuple[str, int], Kernel] = {}
        # Computing the values that depend on a shape alone takes longer than the launch.
        self._layouts: dict[tuple[bytes, int], tuple[Mapping[str, Any], tuple[int, ...]]] = {}
        self._cuts: dict[tuple[int, ...], Cut] = {}
        self.launches: list[Launch] | None = None

    def recording(self) -> Operations:
        """Return the same launchers, which record launches in `launches` instead of launching."""
        other = copy.copy(self)
        other.launches = []
        return other

    # Convolutions

    def styleforge_packed_bytes(self, p: StyleforgeConvolution) -> int:
        if p.type not in self._tiles:
            return INVALID_VALUE
        tile, c = self._layout(p)
        return p.phases * c.steps * tile["depth"] * c.padded_out * tile["stored_bytes"]

    def styleforge_tiles(self, p: StyleforgeConvolution) -> int:
        """Return the number of tiles per sample that write statistics."""
        if p.type not in self._tiles:
            return INVALID_VALUE
        return self._layout(p)[1].tiles * p.phases

    def styleforge_pack_weight(
        self, p: StyleforgeConvolution, weight: int | None, packed: int | None, stream: _Stream
    ) -> int:
        """Reorder a weight as the convolution reads it."""
        if p.type not in self._tiles:
            return INVALID_VALUE
        tile, c = self._layout(p)
        elements = p.phases * c.steps * tile["depth"] * c.padded_out
        return self._launch(
            tile["kernels"]["pack"],
            (_divide_up(elements, self._pack_threads), 1, 1),
            self._pack_threads,
            stream,
            (c, c_void_p(weight), c_void_p(packed)),
        )

    def styleforge_convolve(self, p: StyleforgeConvolution, stream: _Stream) -> int:
        if p.type not in self._tiles:
            return INVALID_VALUE
        tile, c = self._layout(p)
        grid = c.tiles, _divide_up(p.out_channels, tile["columns"]), p.samples * p.phases
        return self._launch(tile["kernels"]["convolve"], grid, tile["threads"], stream, (c,))

    # Norms

    def styleforge_norm_scratch(self, p: StyleforgeNorm) -> int:
        """Return the bytes of scratch memory for a norm."""
        if p.channels_last:
            chunks: int = self._cut(p).chunks
            return (p.samples * chunks + p.samples) * p.channels * MOMENTS_BYTES
        if self._fits_on_chip(p):
            return 0
        parts = _divide_up(p.pixels, self._norm["part_size"])
        return p.samples * p.channels * parts * MOMENTS_BYTES

    def styleforge_norm(self, p: StyleforgeNorm, stream: _Stream) -> int:
        if not p.samples * p.channels * p.pixels:
            return 0
        if p.type not in self._of_type:
            return INVALID_VALUE
        return self._norm_pixels(p, stream) if p.channels_last else self._norm_planes(p, stream)

    def styleforge_finish_norm(
        self, p: StyleforgeNorm, parts: int | None, tiles: int, stream: _Stream
    ) -> int:
        """Normalize by the statistics that a convolution wrote, `tiles` per sample."""
        if p.type not in self._of_type:
            return INVALID_VALUE
        view = _view_of_tiles(p, parts, tiles)
        if not p.channels_last:
            return self._write_planes(p, view, stream)
        if error := self._merge(p, view, p.scratch, stream):
            return error
        return self._write_pixels(p, p.scratch, stream)

    def styleforge_merge_norm(
        self, p: StyleforgeNorm, parts: int | None, tiles: int, affine: int | None, stream: _Stream
    ) -> int:
        """Compute only each channel's affine, for a convolution that applies it to its input."""
        return self._merge(p, _view_of_tiles(p, parts, tiles), affine, stream)

    # Sequences

    def styleforge_conv_norm_relu(self, p: StyleforgeConvNormRelu, stream: _Stream) -> int:
        if error := self.styleforge_convolve(p.conv, stream):
            return error
        tiles = self.styleforge_tiles(p.conv)
        return self.styleforge_finish_norm(p.norm, p.conv.parts, tiles, stream)

    def styleforge_residual_block(self, p: StyleforgeResidualBlock, stream: _Stream) -> int:
        if error := self.styleforge_convolve(p.first, stream):
            return error
        tiles = self.styleforge_tiles(p.first)
        if error := self.styleforge_merge_norm(
            p.first_norm, p.first.parts, tiles, p.affine, stream
        ):
            return error
        second = StyleforgeConvolution.from_buffer_copy(p.second)
        second.affine = p.affine
        if error := self.styleforge_convolve(second, stream):
            return error
        tiles = self.styleforge_tiles(second)
        return self.styleforge_finish_norm(p.second_norm, second.parts, tiles, stream)

    # Shared by the launchers

    def _tile(self, p: StyleforgeConvolution) -> Mapping[str, Any]:
        tiles, out = self._tiles[p.type], p.out_channels
        if out <= 8:
            return tiles["few"]
        if p.math == PLAIN:
            return tiles["fma32" if out <= 32 else "fma64"]
        if out <= 32:
            return tiles["tensor32"]
        large = tiles["tensor128"]
        blocks = _divide_up(p.out_height * p.out_width, large["rows"]) * p.phases * p.samples
        blocks *= _divide_up(out, large["columns"])
        # If large tiles leave half of the multiprocessors idle, small ones are faster.
        return tiles["tensor64"] if out <= 64 or 2 * blocks <= p.multiprocessors else large

    def _layout(self, p: StyleforgeConvolution) -> tuple[Mapping[str, Any], Convolution]:
        key = bytes(p)[StyleforgeConvolution.x_strides.offset :], (p.x or 0) % 16
        found = self._layouts.get(key)
        if found is None:
            if len(self._layouts) >= MOST_SHAPES:
                self._layouts.clear()
            tile = self._tile(p)
            found = self._layouts[key] = tile, self._numbers(p, tile)
        return found[0], Convolution(p, *found[1])

    def _numbers(self, p: StyleforgeConvolution, tile: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the fields of Convolution after its first."""
        taps, depth = p.kernel * p.kernel, tile["depth"]
        # If slices would be mostly padding, the depth runs over taps and channels together.
        flat = p.in_channels * 2 <= depth or p.in_channels < 8
        steps = (
            _divide_up(taps * p.in_channels, depth)
            if flat
            else _divide_up(p.in_channels, depth) * taps
        )
        size, strides = 4 if p.type == self._float else 2, p.x_strides
        vector = (
            strides[1] == 1
            and p.in_channels % 8 == 0
            and not any(strides[axis] * size % 16 for axis in (0, 2, 3))
            and not (p.x or 0) % 16
        )
        padded_out = _divide_up(p.out_channels, tile["columns"]) * tile["columns"]
        tiles = _divide_up(p.out_height * p.out_width, tile["rows"])
        return taps, steps, flat, vector, padded_out, tiles

    def _norm_planes(self, p: StyleforgeNorm, stream: _Stream) -> int:
        vector = self._width_of(p)
        layer = next((row for row in self._whole[p.type] if p.pixels <= _capacity(row)), None)
        if layer is None and self._fits_on_chip(p):
            layer = self._whole[p.type][-1]
        if layer is not None:
            parts = _divide_up(p.pixels, _capacity(layer))
            kernels = layer["kernels"]["cluster" if parts > 1 else "block"]
            grid = p.samples * p.channels * parts, 1, 1
            planes = _planes(p, parts)
            return self._launch(
                kernels[vector], grid, layer["threads"], stream, (planes,), cluster=parts
            )
        parts = _divide_up(p.pixels, self._norm["part_size"])
        planes = p.samples * p.channels
        if error := self._launch(
            self._of_type[p.type]["parts_of_planes"][vector],
            (planes * parts, 1, 1),
            self._norm["part_threads"],
            stream,
            (c_void_p(p.x), c_void_p(p.scratch), c_longlong(p.pixels), c_int(parts)),
        ):
            return error
        view = PartialMomentsView(p.scratch, p.channels * parts, parts, 1, parts)
        return self._write_planes(p, view, stream)

    def _norm_pixels(self, p: StyleforgeNorm, stream: _Stream) -> int:
        cut = self._cut(p)
        affine = (p.scratch or 0) + p.samples * cut.chunks * p.channels * MOMENTS_BYTES
        vector = self._width_of(p)
        if error := self._launch(
            self._of_type[p.type]["parts_of_pixels"][vector],
            self._grid_of_pixels(p, cut),
            self._norm["pixel_threads"],
            stream,
            (c_void_p(p.x), c_void_p(p.scratch), cut),
        ):
            return error
        view = PartialMomentsView(p.scratch, cut.chunks * p.channels, 1, p.channels, cut.chunks)
        if error := self._merge(p, view, affine, stream):
            return error
        return self._write_pixels(p, affine, stream)

    def _write_planes(self, p: StyleforgeNorm, view: PartialMomentsView, stream: _Stream) -> int:
        blocks = _divide_up(p.pixels, self._norm["write_size"])
        return self._launch(
            self._of_type[p.type]["write_planes"][self._width_of(p)],
            (p.samples * p.channels * blocks, 1, 1),
            self._norm["write_threads"],
            stream,
            (_planes(p, 1), view, c_int(blocks)),
        )

    def _write_pixels(self, p: StyleforgeNorm, affine: int | None, stream: _Stream) -> int:
        margin = Margin(p.pixels // p.width, p.width, p.pad, p.border) if p.pad else Margin()
        cut = self._cut(p, (margin.height + 2 * p.pad) * (margin.width + 2 * p.pad))
        return self._launch(
            self._of_type[p.type]["write_pixels"][self._width_of(p)],
            self._grid_of_pixels(p, cut),
            self._norm["pixel_threads"],
            stream,
            (_planes(p, 1), c_void_p(affine), cut, margin),
        )

    def _merge(
        self, p: StyleforgeNorm, view: PartialMomentsView, affine: int | None, stream: _Stream
    ) -> int:
        threads: int = self._norm["merge_threads"]
        return self._launch(
            self._norm["kernels"]["merge_planes"],
            (_divide_up(p.samples * p.channels, self._norm["merged_planes"]), 1, 1),
            threads,
            stream,
            (view, _parameters(p), c_void_p(affine), c_int(p.samples), c_int(p.channels)),
        )

    def _fits_on_chip(self, p: StyleforgeNorm) -> bool:
        block = _capacity(next(iter(self._whole.values()))[-1])
        return not p.channels_last and p.pixels <= block * (
            self._norm["most_parts"] if p.clusters else 1
        )

    def _width_of(self, p: StyleforgeNorm) -> str:
        """Return "vector" for 16-byte loads, or "scalar" for single elements."""
        inner = p.channels if p.channels_last else p.pixels
        addresses = (p.x or 0) | (p.y or 0) | (p.residual or 0) | inner * self._bytes(p)
        return "vector" if p.vectorized and not addresses % 16 else "scalar"

    def _elements(self, p: StyleforgeNorm) -> int:
        return 16 // self._bytes(p) if self._width_of(p) == "vector" else 1

    def _bytes(self, p: StyleforgeNorm) -> int:
        return 4 if p.type == self._float else 2

    def _grid_of_pixels(self, p: StyleforgeNorm, cut: Cut) -> _Grid:
        across = _divide_up(p.channels, cut.columns * self._elements(p))
        return cut.chunks, across, p.samples

    def _cut(self, p: StyleforgeNorm, written: int = 0) -> Cut:
        """Split into about eight blocks per multiprocessor, with chunks that are worth a block.

        It splits the pixels read or, with a margin, the pixels written.
        """
        elements, pixels = self._elements(p), written or p.pixels
        key = (pixels, p.channels, p.samples, p.multiprocessors, elements)
        found = self._cuts.get(key)
        if found is not None:
            return found
        if len(self._cuts) >= MOST_SHAPES:
            self._cuts.clear()
        vectors = _divide_up(p.channels, elements)
        columns = min(vectors, 32)
        rows = self._norm["pixel_threads"] // columns
        wanted = _divide_up(8 * p.multiprocessors, _divide_up(vectors, columns) * p.samples)
        chunk = max(_divide_up(pixels, wanted), 4 * rows)
        chunks = _divide_up(pixels, chunk)
        cut = self._cuts[key] = Cut(pixels, p.channels, columns, rows, chunk, chunks)
        return cut

    def _launch(
        self,
        name: str,
        grid: _Grid,
        threads: int,
        stream: _Stream,
        arguments: tuple[Any, ...],
        cluster: int = 1,
    ) -> int:
        kernel = self._kernels.get((name, cluster))
        if kernel is None:
            kernel = self._kernels[name, cluster] = self._library.kernel(
                self._source[name], name, threads, cluster=cluster, arguments=len(arguments)
            )
        if self.launches is not None:
            self.launches.append(Launch(kernel, grid, arguments))
            return 0
        return kernel(grid, stream, *arguments)


register(OPERATIONS, Operations)


def _planes(p: StyleforgeNorm, parts: int) -> Planes:
    return Planes(p.x, p.residual, p.y, _parameters(p), p.pixels, p.channels, parts, p.relu)


def _parameters(p: StyleforgeNorm) -> AffineParameters:
    return AffineParameters(p.gamma, p.beta, p.parameter_type, p.eps)


def _view_of_tiles(p: StyleforgeNorm, parts: int | None, tiles: int) -> PartialMomentsView:
    return PartialMomentsView(parts, tiles * p.channels, 1, p.channels, tiles)


def _capacity(layer: Mapping[str, Any]) -> int:
    return layer["threads"] * layer["elements"]


def _divide_up(a: int, b: int) -> int:
    return -(-a // b)

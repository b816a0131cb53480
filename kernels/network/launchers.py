"""The network's launchers over the CUDA driver, in place of the compiled library.

What the C++ of network_sm80.cu and network_sm90.cu decides on the host, which kernel and how many
blocks, is decided here; tests/kernels/network/test_launchers.py holds every launch equal.
"""

from __future__ import annotations

import ctypes
import json
from ctypes import Structure, c_void_p
from functools import partial
from pathlib import Path
from typing import Any

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.launch import Kernel
from kernels.driver.library import DriverLibrary
from kernels.driver.prebuilt import register
from kernels.network import abi
from kernels.ops.registry import NETWORK

INVALID_VALUE = 1  # cudaErrorInvalidValue, which the C++ launchers return


class Network:
    """What plans call in place of the compiled library, with the same names and arguments.

    A launcher returns an error as a number, 0 for success. Structs are passed themselves, as ctypes
    allows where a pointer is declared; launchers are partial objects, which can be declared too.

    Args:
        images: The list of the folder.
        folder: Where the images are.
        capability: Of the GPU.
        device: The driver's number of the GPU.
        driver: What loads and launches.

    Raises:
        BuildError: No image runs on the GPU, or one that does is damaged.
    """

    def __init__(
        self,
        images: ImageList,
        folder: Path,
        capability: tuple[int, int],
        device: int,
        driver: Driver,
    ) -> None:
        self._library = DriverLibrary(images, folder, capability, device, driver)
        self._kernels: dict[str, Kernel] = {}
        # By precision, kind and which pointers are null: finding a name takes as long as a launch.
        self._sm90_kernels: dict[tuple[int, int, bool, bool], Kernel] = {}
        description = json.dumps(images.description).encode()
        self.styleforge_network_abi = partial(lambda: description)
        self.abi = told = abi.describe(self)
        self._sm80, self._sm90 = told.sm80, told.sm90
        self._dtypes = {number: name for name, number in told.sm80.dtypes.items()}
        self._sm80_convs = {conv.kind: conv for conv in told.sm80.convs.values()}
        self._precisions = {row.number: row for row in told.sm90.precisions.values()}
        self._sm90_convs = {
            (row.number, conv.kind): conv
            for row in told.sm90.precisions.values()
            for conv in row.convs.values()
        }
        self.styleforge_sm80_conv = partial(self._conv_sm80)
        self.styleforge_sm80_first = partial(self._first_sm80)
        self.styleforge_sm80_last = partial(self._last_sm80)
        self.styleforge_sm90_conv = partial(self._conv_sm90)
        self.styleforge_sm90_first = partial(self._first_sm90)
        self.styleforge_sm90_last = partial(self._last_sm90)

    # sm80: a block for each tile

    def _conv_sm80(
        self, kind: int, dtype: int, params: abi.Sm80ConvParams, samples: int, stream: c_void_p
    ) -> int:
        conv = self._sm80_convs.get(kind)
        if conv is None:
            return INVALID_VALUE
        # What it activates, a layer of sm80 stores without a kernel of its own.
        variant = abi.variant(residual=bool(params.residual), activated=False)
        name = conv.kernels[self._dtypes[dtype]].get(variant)
        tiling = params.tiling
        grid = (tiling.rows * tiling.columns, tiling.copies, samples)
        return self._launch(self._sm80.source, name, conv, grid, stream, params)

    def _first_sm80(
        self,
        dtype: int,
        in_bytes: int,
        params: abi.FirstLayerParams,
        samples: int,
        stream: c_void_p,
    ) -> int:
        first, tiling = self._sm80.first, params.tiling
        name = first.kernels[self._dtypes[dtype]][_stored(in_bytes)]
        grid = (tiling.rows * tiling.columns, 1, samples)
        return self._launch(self._sm80.source, name, first, grid, stream, params)

    def _last_sm80(
        self, dtype: int, in_bytes: int, params: abi.LastLayerParams, samples: int, stream: c_void_p
    ) -> int:
        last = self._sm80.last
        name = last.kernels[self._dtypes[dtype]][_stored(in_bytes)]
        grid = (-(-params.width // last.tile_w), -(-params.height // last.tile_h), samples)
        return self._launch(self._sm80.source, name, last, grid, stream, params)

    # sm90: as many persistent blocks as the plan says

    def _conv_sm90(
        self,
        kind: int,
        precision: int,
        params: abi.Sm90ConvParams,
        blocks: int,
        samples: int,
        stream: c_void_p,
    ) -> int:
        key = precision, kind, params.residual is None, params.activated is None
        kernel = self._sm90_kernels.get(key)
        if kernel is None:
            conv = self._sm90_convs.get((precision, kind))
            if conv is None:
                return INVALID_VALUE
            given = abi.variant(residual=bool(params.residual), activated=bool(params.activated))
            name = conv.kernels.get(given)
            if name is None:  # no layer needs it
                return INVALID_VALUE
            kernel = self._sm90_kernels[key] = self._kernel(self._sm90.source, name, conv)
        return kernel((blocks, 1, samples), stream, params)

    def _first_sm90(self, precision: int, in_bytes: int, *rest: Any) -> int:
        row = self._precisions.get(precision)
        return INVALID_VALUE if row is None else self._strips(row.first, in_bytes, *rest)

    def _last_sm90(self, precision: int, in_bytes: int, *rest: Any) -> int:
        row = self._precisions.get(precision)
        return INVALID_VALUE if row is None else self._strips(row.last, in_bytes, *rest)

    def _strips(
        self,
        layer: abi.Sm90Strip,
        in_bytes: int,
        params: abi.EdgeConvParams,
        blocks: int,
        samples: int,
        stream: c_void_p,
    ) -> int:
        name = layer.kernels[_stored(in_bytes)]
        return self._launch(self._sm90.source, name, layer, (blocks, 1, samples), stream, params)

    def _launch(
        self,
        source: str,
        name: str | None,
        layer: abi.Sm80Conv | abi.Sm80Edge | abi.Sm90Conv | abi.Sm90Strip,
        grid: tuple[int, int, int],
        stream: c_void_p,
        params: Structure,
    ) -> int:
        if name is None:  # no layer needs it
            return INVALID_VALUE
        return self._kernel(source, name, layer)(grid, stream, params)

    def _kernel(
        self,
        source: str,
        name: str,
        layer: abi.Sm80Conv | abi.Sm80Edge | abi.Sm90Conv | abi.Sm90Strip,
    ) -> Kernel:
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._library.kernel(
                source, name, layer.threads, layer.shared_bytes, overlap=True
            )
        return kernel


NetworkLibrary = ctypes.CDLL | Network  # what plans call

register(NETWORK, Network)


def _stored(in_bytes: int) -> str:
    return "bytes" if in_bytes else "values"

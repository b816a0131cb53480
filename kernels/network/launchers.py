"""The network's launchers over the CUDA driver: they select the kernel of a layer.

tests/kernels/network/test_launchers.py compares every launch with a stored record.
"""

from __future__ import annotations

from ctypes import Structure, c_void_p
from pathlib import Path
from typing import Any

import torch

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.launch import Kernel
from kernels.driver.library import DriverLibrary
from kernels.driver.prebuilt import register
from kernels.jit.errors import BuildError
from kernels.network import abi, tuned
from kernels.table.names import NETWORK

INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
_Layer = abi.Sm80Conv | abi.Sm80Edge | abi.Sm90Conv | abi.Sm90Residual | abi.Sm90Strip


class Network:
    """The network's layers on one GPU, for plans to launch.

    A launcher returns a CUresult, 0 for success. `precision`, `kind` and `network` are the numbers
    of the description. With `in_bytes`, kernels read frames or write pictures as uint8. `blocks`
    is the number per sample. `tuning` tells which layers were tuned, or why tuned ones are not
    used.

    Raises:
        BuildError: If no image runs on the GPU, or the library does not match this program.
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
        self._sources = {name: source for source, of in images.kernels.items() for name in of}
        self.tuning = ""
        self._kernels: dict[str, Kernel] = {}
        # By precision, kind and null pointers: finding a name takes as long as a launch.
        self._sm90_kernels: dict[tuple[int, int, bool, bool], Kernel] = {}
        self.abi = told = abi.parse(images.description)
        self._sm90 = told.sm90
        # By number: the description that has a precision, and the precision's name there.
        whole = {
            number: (sm80, name)
            for sm80 in (told.sm75, *told.of_mma_sync)
            for name, number in sm80.precisions.items()
        }
        self._networks = {
            (number, network.number): network
            for number, (sm80, _) in whole.items()
            for network in (*sm80.networks.values(), *(row.layers for row in sm80.tuned))
        }
        int8 = {
            number: (told.sm80_int8, name) for name, number in told.sm80_int8.precisions.items()
        }
        self._sm80_precisions: dict[int, tuple[abi.Sm80 | abi.Sm80Int8, str]] = {**whole, **int8}
        self._sm80_convs = {
            (precision, conv.kind): conv
            for (precision, _), network in self._networks.items()
            for conv in network.convs.values()
        }
        self._sm80_convs |= {
            (number, conv.kind): conv for number in int8 for conv in told.sm80_int8.convs.values()
        }
        self._precisions = {row.number: row for row in told.sm90.precisions.values()}
        self._sm90_convs = {
            (row.number, conv.kind): conv
            for row in told.sm90.precisions.values()
            for conv in row.convs.values()
        }

    @property
    def sources(self) -> frozenset[str]:
        return self._library.sources

    def load(self, source: str) -> None:
        self._library.load(source)

    # sm80 (with sm75) and sm90: the plan gives the number of persistent blocks

    def styleforge_sm80_conv(
        self,
        kind: int,
        precision: int,
        params: abi.Sm80ConvParams,
        blocks: int,
        samples: int,
        stream: c_void_p,
    ) -> int:
        conv = self._sm80_convs.get((precision, kind))
        if conv is None:
            return INVALID_VALUE
        # A layer of sm80 stores its activated input without a separate kernel.
        variant = abi.variant(residual=bool(params.residual), activated=False)
        sm80, precision_name = self._sm80_precisions[precision]
        name = conv.kernels[precision_name].get(variant)
        return self._launch(sm80.source, name, conv, (blocks, 1, samples), stream, params)

    def styleforge_sm80_first(self, network: int, small: int, precision: int, *rest: Any) -> int:
        """Launch the first layer; `small` selects the one that needs less shared memory."""
        row = self._networks.get((precision, network))
        if row is None:
            return INVALID_VALUE
        return self._sm80_edge(row.first_small if small else row.first, precision, *rest)

    def styleforge_sm80_last(self, network: int, small: int, precision: int, *rest: Any) -> int:
        row = self._networks.get((precision, network))
        if row is None:
            return INVALID_VALUE
        return self._sm80_edge(row.last_small if small else row.last, precision, *rest)

    def _sm80_edge(
        self,
        layer: abi.Sm80Edge,
        precision: int,
        in_bytes: int,
        params: abi.FirstLayerParams | abi.LastLayerParams,
        blocks: int,
        samples: int,
        stream: c_void_p,
    ) -> int:
        sm80, precision_name = self._sm80_precisions[precision]
        name = layer.kernels[precision_name][_stored(in_bytes)]
        return self._launch(sm80.source, name, layer, (blocks, 1, samples), stream, params)

    def styleforge_sm90_conv(
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

    def styleforge_sm90_residual(
        self,
        precision: int,
        params: abi.ResidualParams,
        blocks: int,
        samples: int,
        stream: c_void_p,
    ) -> int:
        """Launch all layers of the residual blocks: a block per tile, all running at once."""
        row = self._precisions.get(precision)
        if row is None or row.residual is None:
            return INVALID_VALUE
        name, grid = row.residual.kernels["all"], (blocks, 1, samples)
        return self._launch(self._sm90.source, name, row.residual, grid, stream, params)

    def styleforge_sm90_first(self, precision: int, in_bytes: int, *rest: Any) -> int:
        row = self._precisions.get(precision)
        return INVALID_VALUE if row is None else self._strips(row.first, in_bytes, *rest)

    def styleforge_sm90_last(self, precision: int, in_bytes: int, *rest: Any) -> int:
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
        layer: _Layer,
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
        layer: _Layer,
    ) -> Kernel:
        kernel = self._kernels.get(name)
        if kernel is None:
            # Kernels for sm_75 have no instruction that waits for the previous kernel. Blocks that
            # wait for one another were only seen to run next to another stream's blocks without
            # overlap.
            cooperative = isinstance(layer, abi.Sm90Residual)
            overlap = source != self.abi.sm75.source and not cooperative
            kernel = self._kernels[name] = self._library.kernel(
                self._sources.get(name, source),
                name,
                layer.threads,
                layer.shared_bytes,
                overlap=overlap,
                cooperative=cooperative,
                all_shared=True,
            )
        return kernel


def tuned_network(
    images: ImageList, folder: Path, capability: tuple[int, int], device: int, driver: Driver
) -> Network:
    """Return the network with a GPU's tuned layers, if any; arguments and errors as in Network."""
    joined, said = tuned.for_card(images, torch.cuda.get_device_name(device), capability)
    try:
        network = Network(joined, folder, capability, device, driver)
        for source in network.sources - images.kernels.keys():
            network.load(source)  # report a broken image here, not at the first launch
    except BuildError as error:
        if joined is images:
            raise
        network = Network(images, folder, capability, device, driver)
        said = f"layers tuned for this card are not used: {error}"
    network.tuning = said
    return network


register(NETWORK, tuned_network)


def _stored(in_bytes: int) -> str:
    return "bytes" if in_bytes else "values"

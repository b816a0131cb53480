"""The launchers of the kernels for any model, over the CUDA driver."""

from __future__ import annotations

from ctypes import c_void_p
from pathlib import Path

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.layouts import check
from kernels.driver.library import DriverLibrary
from kernels.driver.prebuilt import register
from kernels.ops.general.elementwise.functions import FUNCTIONS
from kernels.ops.general.elementwise.layout import (
    StyleforgeColumns,
    StyleforgeElements,
    StyleforgeTotals,
    Walk,
)
from kernels.table.names import GENERAL

STRUCTURES = {
    "StyleforgeElements": StyleforgeElements,
    "StyleforgeColumns": StyleforgeColumns,
    "StyleforgeTotals": StyleforgeTotals,
}
# Blocks of a pass per block that runs at once. Later blocks replace the first ones that end, so
# that few wait for one with an extra tile.
_WAVES = 2
# Tiles per block if all tensors have one dimension. With 1, the GPU schedules the rest as blocks
# end, so that no block has a tile more than the others. With more, threads are set up less often.
# Rows with a bias have 1 too.
_FLAT_TILES = 1
_NAMES = tuple(FUNCTIONS)
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


class LibraryKernels:
    """The kernels for any model on the GPU with the driver's number `device`.

    Structs are passed by value. A launcher returns a CUresult as a number, 0 for success. No
    launcher allocates memory.

    Raises:
        BuildError: If no image supports the GPU, or the library's structs differ.
    """

    def __init__(
        self,
        images: ImageList,
        folder: Path,
        capability: tuple[int, int],
        device: int,
        driver: Driver,
    ) -> None:
        check(
            images.description["structs"], STRUCTURES, "kernels/ops/general/elementwise/layout.py"
        )
        self._told = images.description
        self._library = DriverLibrary(images, folder, capability, device, driver)

    def elements(
        self,
        p: StyleforgeElements,
        walk: Walk,
        dtype: str,
        multiprocessors: int,
        stream: c_void_p | int | None,
    ) -> int:
        """Launch a pass of a function in "float32", "float16", "bfloat16" or "float64"."""
        told = self._told["elementwise"]
        width = 16 // _BYTES[dtype]
        addresses = 0
        for number in range(len(walk.strides)):
            if walk.strides[number][0]:
                addresses |= p.inputs[number] or 0
        for address in p.outputs:
            addresses |= address or 0
        fits = not addresses % 16 and walk.fits(width)
        of_function = told["kernels"][dtype][_NAMES[p.function]]
        direction = "backward" if p.backward else "forward"
        kernel = of_function[direction]
        of_rows = told["rows_in_flight"][_NAMES[p.function]]  # 0 for a walk in waves
        threads: int = told["threads"]
        groups = -(-p.count // (width if fits else 1))
        launch = self._library.kernel(
            told["source"], kernel["vector" if fits else "scalar"], threads
        )
        blocks = -(-groups // threads)
        if fits and walk.is_flat:
            blocks = -(-blocks // (told["in_flight"][dtype] * _FLAT_TILES))
        elif fits and of_rows and len(walk.sizes) == 2 and not p.backward:
            blocks = -(-blocks // of_rows)
        else:
            blocks = min(blocks, _WAVES * told["blocks"][direction] * multiprocessors)
        return launch((max(1, blocks), 1, 1), stream, p)

    def chunk_of_rows(self, columns: int, rows: int, dtype: str, multiprocessors: int) -> int:
        """Return how many rows `columns` sums together, so that all blocks run at once."""
        told = self._told["elementwise"]
        at_once = told["column_blocks"][dtype] * multiprocessors
        chunks = max(1, at_once // self._tiles(columns, dtype))
        # A block with fewer rows than it handles at once would have idle warps.
        return max(-(-rows // chunks), told["threads"] // told["column_lanes"])

    def columns(self, p: StyleforgeColumns, dtype: str, stream: c_void_p | int | None) -> int:
        """Launch an elementwise function's gradients, and their sums over rows; not in FP64."""
        told = self._told["elementwise"]
        kernel = told["kernels"][dtype][_NAMES[p.call.function]]["columns"]
        launch = self._library.kernel(told["source"], kernel, told["threads"])
        columns, rows = p.call.sizes[0], p.call.sizes[1]
        blocks = self._tiles(columns, dtype) * -(-rows // p.chunk)
        return launch((blocks, 1, 1), stream, p)

    def totals(self, p: StyleforgeTotals, dtype: str, stream: c_void_p | int | None) -> int:
        """Launch the sums over chunks of one or two gradients' sums from `columns`; not in FP64."""
        source, told = self._told["elementwise"]["source"], self._told["elementwise"]["totals"]
        threads: int = told["threads"]
        launch = self._library.kernel(source, told["kernels"][dtype], threads)
        return launch((-(-p.columns // 32), 2 if p.totals[1] else 1, 1), stream, p)

    def _tiles(self, columns: int, dtype: str) -> int:
        lanes: int = self._told["elementwise"]["column_lanes"]
        return -(-columns // (lanes * (16 // _BYTES[dtype])))


register(GENERAL, LibraryKernels)

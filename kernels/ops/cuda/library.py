"""The launchers of the kernels of operations for any model, over the CUDA driver."""

from __future__ import annotations

from ctypes import c_void_p
from pathlib import Path

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.layouts import check
from kernels.driver.library import DriverLibrary
from kernels.driver.prebuilt import register
from kernels.ops.elements.functions import FUNCTIONS
from kernels.ops.elements.layout import (
    StyleforgeColumns,
    StyleforgeElements,
    StyleforgeTotals,
    Walk,
)
from kernels.ops.registry import LIBRARY

STRUCTURES = {
    "StyleforgeElements": StyleforgeElements,
    "StyleforgeColumns": StyleforgeColumns,
    "StyleforgeTotals": StyleforgeTotals,
}
# Blocks of a pass for each that runs at once: those that come later take the place of the first to
# end, so that few wait for one that has a tile more.
_WAVES = 2
# Tiles of a block where all tensors lie in one dimension: with 1 the GPU hands out what is left as
# blocks end, so that none has one more than the others; with more a thread is set up less often.
# Rows with a bias have one too.
_FLAT_TILES = 1
_NAMES = tuple(FUNCTIONS)
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


class LibraryKernels:
    """The kernels for any model on one GPU.

    Structs are passed themselves. A launcher returns an error as a number, a CUresult, 0 for
    success. None of them allocates.

    Args:
        images: The list of the folder.
        folder: Where the images are.
        capability: Of the GPU.
        device: The driver's number of the GPU.
        driver: What loads and launches.

    Raises:
        BuildError: No image runs on the GPU, or the library's structs differ.
    """

    def __init__(
        self,
        images: ImageList,
        folder: Path,
        capability: tuple[int, int],
        device: int,
        driver: Driver,
    ) -> None:
        check(images.description["structs"], STRUCTURES, "kernels/ops/elements/layout.py")
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
        """A pass of an elementwise function.

        Args:
            p: What it is called with.
            walk: What `p` was described by.
            dtype: "float32", "float16", "bfloat16" or "float64".
            multiprocessors: Of the GPU.
            stream: A CUstream.
        """
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
        of_rows = told["rows_in_flight"][_NAMES[p.function]]  # 0 where they are walked in waves
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
        """How many rows `columns` sums together, so that all blocks run at once.

        Args:
            columns: Of each row.
            rows: How many there are.
            dtype: "float32", "float16" or "bfloat16".
            multiprocessors: Of the GPU.
        """
        told = self._told["elementwise"]
        at_once = told["column_blocks"][dtype] * multiprocessors
        chunks = max(1, at_once // self._tiles(columns, dtype))
        # A block of fewer rows than it takes at once would have warps without any.
        return max(-(-rows // chunks), told["threads"] // told["column_lanes"])

    def columns(self, p: StyleforgeColumns, dtype: str, stream: c_void_p | int | None) -> int:
        """The gradients of an elementwise function, and their sums over rows.

        Args:
            p: What it is called with.
            dtype: "float32", "float16" or "bfloat16".
            stream: A CUstream.
        """
        told = self._told["elementwise"]
        kernel = told["kernels"][dtype][_NAMES[p.call.function]]["columns"]
        launch = self._library.kernel(told["source"], kernel, told["threads"])
        columns, rows = p.call.sizes[0], p.call.sizes[1]
        blocks = self._tiles(columns, dtype) * -(-rows // p.chunk)
        return launch((blocks, 1, 1), stream, p)

    def totals(self, p: StyleforgeTotals, dtype: str, stream: c_void_p | int | None) -> int:
        """What `columns` left of one or two gradients, summed over chunks.

        Args:
            p: What it is called with.
            dtype: Of the totals: "float32", "float16" or "bfloat16".
            stream: A CUstream.
        """
        source, told = self._told["elementwise"]["source"], self._told["elementwise"]["totals"]
        threads: int = told["threads"]
        launch = self._library.kernel(source, told["kernels"][dtype], threads)
        return launch((-(-p.columns // 32), 2 if p.totals[1] else 1, 1), stream, p)

    def _tiles(self, columns: int, dtype: str) -> int:
        lanes: int = self._told["elementwise"]["column_lanes"]
        return -(-columns // (lanes * (16 // _BYTES[dtype])))


register(LIBRARY, LibraryKernels)

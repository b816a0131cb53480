"""The launchers of the transformer kernels over the CUDA driver: they choose kernels and grids.

tests/kernels/ops/cuda/test_transformer.py compares every launch with the stored one next to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_void_p
from pathlib import Path
from typing import Any, NamedTuple

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.layouts import check
from kernels.driver.library import DriverLibrary
from kernels.driver.prebuilt import register
from kernels.driver.tensor_map import TensorMap, encode
from kernels.ops.transformer.structs import (
    STRUCTURES,
    StyleforgeAttention,
    StyleforgeAttentionBackward,
    StyleforgeEpilogue,
    TensorMaps,
)
from kernels.table.names import TRANSFORMER

MOST_BLOCKS = 65535  # along y and z
MOST_MAPS = 4096  # in the cache
_EPILOGUE_BLOCKS = 8  # of an epilogue, per multiprocessor

_Stream = c_void_p | int | None


class Rows(NamedTuple):
    """The memory of q, k or v: [samples, heads, rows, columns].

    Attributes:
        sizes: Columns, rows, heads, samples.
        strides: Strides of rows, heads and samples, in elements.
        box: Columns per copy, 32 or 64; columns beyond the last become zeros.
    """

    address: int
    sizes: tuple[int, int, int, int]
    strides: tuple[int, int, int]
    box: int = 64


class Transformer:
    """The transformer kernels on the GPU with the driver's number `device`.

    Structs are passed by value, addresses as numbers. A launcher returns a CUresult as a number, 0
    for success. No launcher allocates memory.

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
        told = images.description
        check(told["structs"], STRUCTURES, "kernels/ops/transformer/structs.py")
        self._told, self._driver = told, driver
        self._library = DriverLibrary(images, folder, capability, device, driver)
        self._maps: dict[tuple[str, Rows, int], TensorMap] = {}

    def has(self, part: str) -> bool:
        """Return whether an image of a part ("v1", "v2", "v3", "v3_sm90", ...) supports the GPU."""
        return self._told[part]["source"] in self._library.sources

    def most_columns(self) -> int:
        """Return the largest head size of the first rung, the attention kernel "v1"."""
        return self._told["v1"]["most_columns"]

    def head_sizes(self, part: str, dtype: str) -> frozenset[int]:
        """Return the head sizes of a part's kernels in "float32", "float16" or "bfloat16"."""
        found = self._told[part]["types"].get(dtype, {})
        found = found.get("plain", found.get("whole", found))
        return frozenset(int(size) for size in found if size.isdecimal())

    def first_rung(self, p: StyleforgeAttention, dtype: str, stream: _Stream) -> int:
        """Launch the first rung's attention, for any head size up to most_columns."""
        return self._forward("v1", self._told["v1"]["types"][dtype]["any"], p, stream)

    def second_rung(self, p: StyleforgeAttention, dtype: str, stream: _Stream) -> int:
        return self._forward("v2", self._told["v2"]["types"][dtype][str(p.columns)], p, stream)

    def third_rung(
        self, p: StyleforgeAttention, dtype: str, stream: _Stream, *, general: bool
    ) -> int:
        """Launch attention with an online softmax on any GPU; `general` adds masks and dropout."""
        if dtype == "float32":
            kernel = self._told["v3_fp32"]["types"][dtype][str(p.columns)]
            return self._forward("v3_fp32", kernel, p, stream)
        kind = self._told["v3"]["types"][dtype]["general" if general else "plain"]
        return self._forward("v3", kind[str(p.columns)], p, stream)

    def third_rung_sm90(
        self,
        p: StyleforgeAttention,
        dtype: str,
        rows: tuple[Rows, Rows, Rows],
        multiprocessors: int,
        stream: _Stream,
    ) -> int:
        """Launch attention on Hopper, in FP16 or BF16 without mask and dropout.

        The q, k and v of `p` are not read. Addresses and strides of `rows`, the memory of q, k and
        v, are multiples of 16 bytes.
        """
        told = self._told["v3_sm90"]
        kinds = told["types"][dtype]
        whole = kinds["whole"][str(p.columns)]
        # If tiles of 128 queries leave multiprocessors idle, two warpgroups share a tile of 64. So
        # do causal masks with heads of 64, for which smaller tiles measured a better balance of the
        # work.
        few = _works(whole, p) < multiprocessors or (p.causal and p.columns == 64)
        kernel = kinds["split"].get(str(p.columns), whole) if few else whole
        maps = TensorMaps(
            self._map(dtype, rows[0], kernel["queries"]),
            self._map(dtype, rows[1], told["keys"]),
            self._map(dtype, rows[2], told["keys"]),
        )
        launch = self._library.kernel(
            told["source"],
            kernel["kernels"]["forward"],
            kernel["threads"],
            kernel["shared"],
            arguments=2,
        )
        return launch((min(_works(kernel, p), multiprocessors), 1, 1), stream, maps, p)

    def gradients(self, p: StyleforgeAttentionBackward, dtype: str, stream: _Stream) -> int:
        told, f = self._told["v3_backward"], p.forward
        rows = f.samples * f.heads * f.queries
        delta = self._library.kernel(told["source"], told["kernels"][dtype], 128)
        if error := delta((-(-rows // told["delta_rows"]), 1, 1), stream, p):
            return error
        kernel = told["types"][dtype][str(f.columns)]
        for name, length in (("keys", f.keys), ("queries", f.queries)):
            launch = self._library.kernel(
                *(told["source"], kernel["kernels"][name], kernel["threads"], kernel["shared"])
            )
            if error := launch((-(-length // kernel["rows"]), f.heads, f.samples), stream, p):
                return error
        return 0

    def epilogue(
        self,
        part: str,
        p: StyleforgeEpilogue,
        dtype: str,
        multiprocessors: int,
        stream: _Stream,
        *,
        vectorized: bool = True,
    ) -> int:
        """Launch the pass after a matrix product.

        Args:
            part: "ffn" for bias and GELU, "output_projection" for bias and residual.
            dtype: "float16" or "bfloat16" for "output_projection".
            vectorized: Whether to use 16-byte loads if shape and addresses allow.
        """
        told = self._told[part]
        size = 16 // (4 if dtype == "float32" else 2)
        addresses = (p.x or 0) | (p.bias or 0) | (p.residual or 0) | (p.y or 0)
        fits = vectorized and not addresses % 16 and not p.columns % size
        width = "vector" if fits else "scalar"
        count = p.rows * p.columns // (size if width == "vector" else 1)
        blocks = min(-(-count // told["threads"]), _EPILOGUE_BLOCKS * multiprocessors)
        launch = self._library.kernel(
            told["source"], told["kernels"][dtype][width], told["threads"]
        )
        return launch((blocks, 1, 1), stream, p)

    def _forward(
        self, part: str, kernel: Mapping[str, Any], p: StyleforgeAttention, stream: _Stream
    ) -> int:
        launch = self._library.kernel(
            self._told[part]["source"],
            kernel["kernels"]["forward"],
            kernel["threads"],
            kernel["shared"],
        )
        return launch(_grid(kernel, p), stream, p)

    def _map(self, dtype: str, rows: Rows, count: int) -> TensorMap:
        """Return a tensor map from the cache: encoding outlasts a launch, and memory is reused."""
        key = dtype, rows, count
        found = self._maps.get(key)
        if found is None:
            if len(self._maps) >= MOST_MAPS:
                self._maps.clear()
            found = self._maps[key] = self._encode(dtype, rows, count)
        return found

    def _encode(self, dtype: str, rows: Rows, count: int) -> TensorMap:
        # The stride of a dimension of size 1 is not read, but must be a multiple all the same.
        strides = [
            2 * stride if size > 1 else 16
            for stride, size in zip(rows.strides, rows.sizes[1:], strict=True)
        ]
        box = (rows.box, count, 1, 1)
        return encode(self._driver, dtype, rows.address, rows.sizes, strides, box)


register(TRANSFORMER, Transformer)


def _works(kernel: Mapping[str, Any], p: StyleforgeAttention) -> int:
    return -(-p.queries // kernel["queries"]) * p.heads * p.samples


def _grid(kernel: Mapping[str, Any], p: StyleforgeAttention) -> tuple[int, int, int]:
    return -(-p.queries // kernel["queries"]), p.heads, p.samples

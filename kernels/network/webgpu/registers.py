"""A thread's products: its pixels times its output channels, summed in registers.

`total(p, g)` names the sum of pixel p and of the g-th vector of channels. Neighboring threads have
neighboring vectors, so that they read memory without conflicts.
"""

from __future__ import annotations

from collections.abc import Callable

from kernels.network.webgpu.tiles import Tile
from kernels.network.webgpu.wgsl import lines

TOGETHER = 8  # input channels whose products are summed in FP16


def total(pixel: int, group: int) -> str:
    return f"sum{pixel}_{group}"


def zeros(tile: Tile) -> str:
    return lines(
        f"  var {total(pixel, group)} = vec4<f32>();"
        for pixel in range(tile.pixels)
        for group in range(tile.groups)
    )


def multiplied(tile: Tile, lanes: int, stride: int, *, half: bool = False) -> str:
    """Return code that adds the products of one tap for `tile.depth` input channels.

    The code reads the first pixel at `halo[at]` and the first filter at `taps[row]`. Each vector of
    inputs has `lanes` filters. With `half`, both are FP16, and so are the sums over TOGETHER
    channels, which the code then adds to the sums in FP32.
    """
    quads = tile.depth // 4
    if not half:
        return lines(_products(tile, quad, lanes, stride, total) for quad in range(quads))
    code: list[str] = []
    for first in range(0, quads, TOGETHER // 4):
        some = range(first, min(first + TOGETHER // 4, quads))
        sums = [(pixel, group) for pixel in range(tile.pixels) for group in range(tile.groups)]
        code += ["{", *(f"var {_part(*each)} = vec4<f16>();" for each in sums)]
        code += [_products(tile, quad, lanes, stride, _part, "f16") for quad in some]
        code += [f"{total(*each)} += vec4<f32>({_part(*each)});" for each in sums]
        code.append("}")
    return lines(code)


def _part(pixel: int, group: int) -> str:
    return f"part{pixel}_{group}"


def _products(
    tile: Tile,
    quad: int,
    lanes: int,
    stride: int,
    sum_of: Callable[[int, int], str],
    number: str = "f32",
) -> str:
    """Return code that adds the products of four input channels to sums."""
    quads, next_row = tile.depth // 4, tile.outputs // 4
    code = [
        f"let x{quad}_{pixel} = halo[at + {pixel * stride * quads + quad}u];"
        for pixel in range(tile.pixels)
    ]
    for lane in range(lanes):
        name = f"w{quad}_{lane}"
        first = (quad * lanes + lane) * next_row
        code += [
            f"let {name}_{group} = taps[row + {first + group * tile.lanes}u];"
            for group in range(tile.groups)
        ]
        code += [
            f"{sum_of(pixel, group)} = fma(vec4<{number}>(x{quad}_{pixel}.{'xyzw'[lane]}), "
            f"{name}_{group}, {sum_of(pixel, group)});"
            for pixel in range(tile.pixels)
            for group in range(tile.groups)
        ]
    return lines(code)

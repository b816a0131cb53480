"""A thread's products: its pixels times its output channels, summed in registers.

`total(p, g)` names the sum of pixel p and of the g-th vector of channels. Neighboring threads have
neighboring vectors, so that they read memory without conflicts.
"""

from __future__ import annotations

from kernels.network.webgpu.tiles import Tile
from kernels.network.webgpu.wgsl import lines


def total(pixel: int, group: int) -> str:
    return f"sum{pixel}_{group}"


def zeros(tile: Tile) -> str:
    return lines(
        f"  var {total(pixel, group)} = vec4<f32>();"
        for pixel in range(tile.pixels)
        for group in range(tile.groups)
    )


def multiplied(tile: Tile, lanes: int, stride: int) -> str:
    """Return code that adds the products of one tap for `tile.depth` input channels.

    The code reads the first pixel at `halo[at]` and the first filter at `taps[row]`. Each vector of
    inputs has `lanes` filters.
    """
    quads, next_row = tile.depth // 4, tile.outputs // 4
    code: list[str] = []
    for quad in range(quads):
        code += [
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
                f"{total(pixel, group)} = fma(vec4<f32>(x{quad}_{pixel}.{'xyzw'[lane]}), "
                f"{name}_{group}, {total(pixel, group)});"
                for pixel in range(tile.pixels)
                for group in range(tile.groups)
            ]
    return lines(code)

"""The first shader of Winograd's convolution: normalizes and transforms tiles of the input."""

from __future__ import annotations

from functools import cache
from string import Template

from kernels.network.webgpu.wgsl import (
    EDGES,
    Binding,
    Reading,
    Shader,
    constants,
    floats,
    lines,
    reader,
    sources,
)
from kernels.network.webgpu.winograd import OUTPUTS, transform_of

_THREADS = 128


@cache
def transform_in(
    channels: int, reading: Reading, keeps: bool, half: bool, enlarges: bool = False
) -> Shader:
    """Return the shader that transforms the input: a thread for each tile and four channels.

    It writes [positions, tiles of a band, channels], and with `keeps`, the normalized input to
    `kept`.
    """
    transform = transform_of(enlarges=enlarges)
    tile, store = range(transform.side), range(OUTPUTS)
    border = "replicated" if enlarges else "reflected"
    keep = lines(_keep(y, x, half) for y in store for x in store) if keeps else ""
    body = Template(_BODY).substitute(
        loads=lines(_load(y, x, border) for y in tile for x in tile),
        keep=keep,
        columns=lines(
            transform.input([f"x{y}_{x}" for y in tile], [f"y{y}_{x}" for y in tile]) for x in tile
        ),
        rows=lines(
            transform.input([f"y{y}_{x}" for x in tile], [f"v{y}_{x}" for x in tile]) for y in tile
        ),
        stores=lines(_store(y, x, y * transform.side + x, half) for y in tile for x in tile),
    )
    of_floats = f"array<{floats(half)}>"
    values = constants(threads=_THREADS)
    return Shader(
        sizes=("size", "tiles", "band"),
        buffers=(
            *sources(reading, half),
            *([Binding("kept", "write", of_floats)] if keeps else []),
            Binding("result", "write", of_floats),
        ),
        weights=None,
        threads=_THREADS,
        vectors=0,
        body=lines([values, EDGES, transform.points, reader(reading, channels), body]),
        half=half,
    )


def groups(tiles: int, channels: int) -> tuple[int, int, int]:
    """Return the workgroups."""
    return -(-tiles * channels // (4 * _THREADS)), 1, 1


# `tiles` are the tiles across and the tiles of the band. `band` begins with its first tile.
_BODY = """
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let c = id.x % SOURCE_QUADS;
  let place = id.x / SOURCE_QUADS;
  let tiles = sizes.tiles.y;
  if (place >= tiles) { return; }
  let tile = sizes.band.x + place;
  let corner = vec2<i32>(vec2<u32>(tile % sizes.tiles.x, tile / sizes.tiles.x)) * 4;
  let first = center(c);
$loads
$keep
$columns
$rows
$stores
}
"""


def _load(y: int, x: int, border: str) -> str:
    return f"""
  let p{y}_{x} = vec2<u32>({border}(corner + vec2<i32>({x - 1}, {y - 1}), sizes.size));
  let z{y}_{x} = load(p{y}_{x}.y * sizes.size.x + p{y}_{x}.x, c);
  let x{y}_{x} = z{y}_{x} - first;"""


def _keep(y: int, x: int, half: bool) -> str:
    near = f"{y + 1}_{x + 1}"
    return (
        f"  if (all(vec2<u32>(corner) + vec2<u32>({x}u, {y}u) < sizes.size)) {{ "
        f"kept[(p{near}.y * sizes.size.x + p{near}.x) * SOURCE_QUADS + c] = "
        f"{floats(half)}(z{near}); }}"
    )


def _store(y: int, x: int, position: int, half: bool) -> str:
    at = f"({position}u * tiles + place) * SOURCE_QUADS + c"
    return f"  result[{at}] = {floats(half)}(v{y}_{x});"

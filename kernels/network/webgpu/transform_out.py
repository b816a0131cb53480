"""The last shader of Winograd's convolution: transforms products to the result, with its moments.

A thread computes a tile of four channels in one phase. A workgroup has some tiles of at most 128
channels, each in all phases.
"""

from __future__ import annotations

from functools import cache
from string import Template

from kernels.network.webgpu.moments import MOMENTS, PARTS, summed
from kernels.network.webgpu.wgsl import Binding, Shader, constants, floats, lines
from kernels.network.webgpu.winograd import OUTPUTS, transform_of

_THREADS = 128  # at most
_LANES = 32  # vectors of channels of a workgroup, at most: it then has the four phases of a tile


@cache
def transform_out(channels: int, half: bool, enlarges: bool = False) -> Shader:
    """Return the shader that computes the result.

    It reads [positions, tiles of a band, phases, channels].
    """
    transform = transform_of(enlarges=enlarges)
    lanes, at_once = _lanes(channels), _at_once(channels)
    threads = lanes * at_once
    tile, result = range(transform.side), range(OUTPUTS)
    body = Template(_BODY).substitute(
        loads=lines(_load(y, x, y * transform.side + x) for y in tile for x in tile),
        columns=lines(
            transform.output([f"m{y}_{x}" for y in tile], [f"n{y}_{x}" for y in result])
            for x in tile
        ),
        rows=lines(
            transform.output([f"n{y}_{x}" for x in tile], [f"r{y}_{x}" for x in result])
            for y in result
        ),
        stores=lines(_store(y, x, half) for y in result for x in result),
        squares=lines(_square(y, x) for y in result for x in result),
    )
    values = constants(
        threads=threads, lanes=lanes, all_quads=channels // 4, at_once=at_once,
        scale=transform.scale, phases=transform.phases,
    )  # fmt: skip
    of_floats = f"array<{floats(half)}>"
    return Shader(
        sizes=("size", "tiles", "band"),
        buffers=(
            Binding("source", "read", of_floats),
            Binding("result", "write", of_floats),
            PARTS,
        ),
        weights=None,
        threads=threads,
        vectors=threads,
        body=lines([values, MOMENTS, transform.points, summed("sums", threads, lanes), body]),
        half=half,
    )


def groups(tiles: int, channels: int, phases: int = 1) -> tuple[int, int, int]:
    """Return the workgroups: parts of the tiles, parts of the channels, 1."""
    return -(-tiles * phases // _at_once(channels)), channels // (4 * _lanes(channels)), 1


def _at_once(channels: int) -> int:
    """Return the tiles and phases of a workgroup, a power of two, as `summed` needs it."""
    most = _THREADS // _lanes(channels)
    return 1 << (most.bit_length() - 1)


def _lanes(channels: int) -> int:
    """Return the vectors of channels of a workgroup, a divisor of all of them."""
    quads = channels // 4
    return next(lanes for lanes in range(min(quads, _LANES), 0, -1) if quads % lanes == 0)


# `size` is the result's. `tiles` are the tiles across and the tiles of the band. `band` has its
# first tile and the first part of its moments. A place before the result wraps to a number beyond
# it.
_BODY = """
var<workgroup> sums: array<vec4<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32
) {
  let c = group.y * LANES + thread % LANES;
  let number = group.x * AT_ONCE + thread / LANES;
  let numbers = sizes.tiles.y * PHASES;
  let own = min(number, numbers - 1u);
  let tile = sizes.band.x + own / PHASES;
  let phase = vec2<u32>(own, own / SCALE) % SCALE;
  let corner = vec2<u32>(tile % sizes.tiles.x, tile / sizes.tiles.x) * 4u;
  let end = select(vec2<u32>(), sizes.size, number < numbers);  // a thread may have no tile
$loads
$columns
$rows
  var sum = vec4<f32>();
  var pixels = 0.0;
$stores
  let count = summed(vec4<f32>(pixels), thread).x;
  let mean = summed(sum, thread) / count;
  var apart: vec4<f32>;
  var squares = vec4<f32>();
$squares
  squares = summed(squares, thread);
  let part = sizes.band.y + group.x;
  if (thread < LANES) { parts[part * ALL_QUADS + c] = Moments(mean, squares, count); }
}
"""


def _load(y: int, x: int, position: int) -> str:
    place = f"({position}u * numbers + own) * ALL_QUADS + c"
    return f"  let m{y}_{x} = vec4<f32>(source[{place}]);"


def _store(y: int, x: int, half: bool) -> str:
    return f"""
  let place{y}_{x} = (corner + vec2<u32>({x}u, {y}u)) * SCALE - phase;
  let inside{y}_{x} = all(place{y}_{x} < end);
  if (inside{y}_{x}) {{
    result[(place{y}_{x}.y * sizes.size.x + place{y}_{x}.x) * ALL_QUADS + c] =
      {floats(half)}(r{y}_{x});
    sum += r{y}_{x};
    pixels += 1.0;
  }}"""


def _square(y: int, x: int) -> str:
    return (
        f"  apart = select(vec4<f32>(), r{y}_{x} - mean, inside{y}_{x});"
        " squares = fma(apart, apart, squares);"
    )

"""Direct convolutions: the first layer, stride 2, the 3x3 of residual blocks, enlarging layers.

A workgroup computes a Tile. It loads a block of input channels of the tile, with the pixels around
it, and the filters of some taps. A thread sums products of its pixels and channels in registers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from string import Template

from kernels.network.webgpu.moments import MOMENTS, PARTS, summed
from kernels.network.webgpu.registers import multiplied, total, zeros
from kernels.network.webgpu.staging import staging
from kernels.network.webgpu.tiles import Tile
from kernels.network.webgpu.wgsl import (
    EDGES,
    MAX_MEMORY,
    Binding,
    Reading,
    Shader,
    constants,
    floats,
    lines,
    reader,
    sources,
    unrolled,
)


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution, padded by reflection, that a norm follows.

    Attributes:
        inputs: Channels, 3 for a picture; otherwise a multiple of 16.
        outputs: Channels, a multiple of 16.
        side: Side of the filters.
        stride: 1 or 2.
        enlarges: Whether each input pixel is first repeated to 2x2. The layer computes four phases
            of a 2x2 convolution instead: phase (a, b) is at (2i + a, 2j + b) of the result. `side`
            is 2.
        keeps: Whether the layer writes its input to the buffer `kept`. The stride is 1.
    """

    inputs: int
    outputs: int
    side: int
    reading: Reading
    stride: int = 1
    enlarges: bool = False
    keeps: bool = False

    @property
    def phases(self) -> int:
        return 4 if self.enlarges else 1

    @property
    def lanes(self) -> int:
        """Filters for each vector of inputs: a picture has three colors."""
        return min(self.inputs, 4)

    def of_numbers(self) -> Convolution:
        """Return the same convolution of a picture in FP32."""
        return replace(self, reading=Reading.NUMBERS)

    def blocks(self, tile: Tile) -> int:
        """Return how many times a workgroup loads `tile.depth` channels."""
        return max(self.inputs // tile.depth, 1)

    def halo(self, tile: Tile) -> tuple[int, int]:
        """Return the width and height of the input of a tile."""
        wide, high = ((side - 1) * self.stride + self.side for side in (tile.width, tile.height))
        return wide, high


def fitting(layer: Convolution, tile: Tile) -> Tile:
    """Return the tile with as many rows as a workgroup's memory holds."""
    while 16 * sum(_vectors(layer, tile)) > MAX_MEMORY:
        tile = replace(tile, height=tile.height // 2)
    return tile


def groups(layer: Convolution, tile: Tile, result: tuple[int, int]) -> tuple[int, int, int]:
    """Return the workgroups for a result of a width and height.

    They are the tiles of a phase across and down, and the phases times the parts of the outputs.
    """
    scale = 2 if layer.enlarges else 1
    across, down = -(-result[0] // (scale * tile.width)), -(-result[1] // (scale * tile.height))
    return across, down, layer.phases * layer.outputs // tile.outputs


@cache
def convolution(layer: Convolution, tile: Tile, half: bool, half_sums: bool = False) -> Shader:
    """Return the shader of a layer.

    `share` has the first row of workgroups of a run, and all rows. Filters are [phases, parts,
    blocks, taps, inputs of a block, tile.outputs]. With `half_sums`, some products are summed in
    FP16, see `multiplied`.
    """
    vector = floats(half_sums)
    pixels, filters = _vectors(layer, tile)
    wide, _ = layer.halo(tile)
    parts, steps = layer.outputs // tile.outputs, layer.side**2 // tile.taps
    total = layer.phases * parts * layer.blocks(tile) * steps * filters
    staged = staging(filters, tile.threads, total, ahead=tile.ahead, vector=vector)
    values = constants(
        halo_width=wide, side=layer.side, stride=layer.stride, scale=2 if layer.enlarges else 1,
        threads=tile.threads, lanes=tile.lanes, pixels=tile.pixels, quads=tile.depth // 4,
        taps_at_once=tile.taps, steps=steps, blocks=layer.blocks(tile),
        rows=tile.depth // 4 * layer.lanes, tile_quads=tile.outputs // 4, filters_at_once=filters,
        parts_of_outputs=parts, all_quads=layer.outputs // 4,
    )  # fmt: skip
    body = Template(_BODY).substitute(
        tile=f"vec2<u32>({tile.width}u, {tile.height}u)", halo=pixels, filters=filters,
        vector=vector, zeros=zeros(tile),
        multiply=multiplied(tile, layer.lanes, layer.stride, half=half_sums),
        load_pixels=unrolled(pixels, tile.threads, Template(_LOAD).substitute(
            source=_SOURCES[layer.enlarges, layer.reading.is_picture],
            vector=vector, across="real" if layer.reading.is_picture else "size",
            keep=_KEEP.replace("FLOATS", floats(half)) if layer.keeps else "",
        )),
        begin_filters=staged.begin, store_filters=staged.store, fetch_filters=staged.fetch,
        store=_stores(tile, half), measure=_measures(tile),
    )  # fmt: skip
    summing = summed("sums" if half_sums else "halo", tile.threads, tile.lanes)
    if half_sums:
        summing += f"var<workgroup> sums: array<vec4<f32>, {tile.threads}>;"
    return Shader(
        sizes=("size", "result_size", "real", "share"),
        buffers=(
            *sources(layer.reading, half),
            *([Binding("kept", "write", f"array<{floats(half)}>")] if layer.keeps else []),
            Binding("result", "write", f"array<{floats(half)}>"),
            PARTS,
        ),
        weights=Binding("filters", "read", f"array<{floats(half)}>"),
        threads=tile.threads,
        vectors=(pixels + filters) // 2 + tile.threads if half_sums else pixels + filters,
        body=lines([values, MOMENTS, EDGES, reader(layer.reading, layer.inputs), summing, body]),
        half=half,
    )


def _vectors(layer: Convolution, tile: Tile) -> tuple[int, int]:
    """Return the vectors of pixels and of filters in a workgroup's memory."""
    wide, high = layer.halo(tile)
    quads = tile.depth // 4
    pixels = max(wide * high * quads, tile.threads)  # `summed` needs one vector for each thread
    return pixels, tile.taps * quads * layer.lanes * tile.outputs // 4


_BODY = """
const TILE = $tile;
var<workgroup> halo: array<$vector, $halo>;
var<workgroup> taps: array<$vector, $filters>;

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32
) {
  let lane = thread % LANES;
  let first = thread / LANES * PIXELS;
  let inner = vec2<u32>(first % TILE.x, first / TILE.x);  // the thread's first pixel in the tile
  let tile = group.xy + vec2<u32>(0u, sizes.share.x);
  let corner = tile * TILE;
  let part = group.z % PARTS_OF_OUTPUTS;
  let phase = (vec2<u32>(group.z / PARTS_OF_OUTPUTS) >> vec2<u32>(0u, 1u)) & vec2<u32>(1u);
  let begin = vec2<i32>((corner + phase) * STRIDE) - i32(SIDE / 2u);
  let own = (inner.y * HALO_WIDTH + inner.x) * STRIDE * QUADS;
  var next = group.z * BLOCKS * STEPS * FILTERS_AT_ONCE;
$zeros
$begin_filters
  for (var block = 0u; block < BLOCKS; block++) {
    workgroupBarrier();
$load_pixels
    for (var step = 0u; step < STEPS; step++) {
      if (step > 0u) { workgroupBarrier(); }
$store_filters
      workgroupBarrier();
      next += FILTERS_AT_ONCE;
$fetch_filters
      for (var u = 0u; u < TAPS_AT_ONCE; u++) {
        let tap = step * TAPS_AT_ONCE + u;
        let at = own + (tap / SIDE * HALO_WIDTH + tap % SIDE) * QUADS;
        let row = u * ROWS * TILE_QUADS + lane;
$multiply
      }
    }
  }
  let end = sizes.result_size / SCALE;
  let channels = part * TILE_QUADS + lane;
$store
  let covered = min(TILE, end - corner);
  let count = f32(covered.x * covered.y);
  let number = (group.z / PARTS_OF_OUTPUTS * sizes.share.y + tile.y) * groups.x + tile.x;
  let moments = number * ALL_QUADS + channels;
$measure
}
"""

_LOAD = """
      let c = block * QUADS + i % QUADS;
      let near = vec2<u32>(i / QUADS % HALO_WIDTH, i / QUADS / HALO_WIDTH);
      let at = begin + vec2<i32>(near);
      let real = vec2<u32>($source);
      let value = load(real.y * sizes.$across.x + real.x, c);
      halo[i] = $vector(value - center(c));
      $keep
"""

_SOURCES = {  # by whether the layer enlarges, and whether it reads a picture
    (False, False): "reflected(at, sizes.size)",
    (True, False): "replicated(at, sizes.size)",
    # A picture is padded by reflection to whole steps of the network.
    (False, True): "reflected(reflected(at, sizes.size), sizes.real)",
}

_KEEP = """
      if (part == 0u && all(near - SIDE / 2u < TILE) && all(vec2<u32>(at) < sizes.size)) {
        kept[(real.y * sizes.size.x + real.x) * SOURCE_QUADS + c] = FLOATS(value);
      }
"""


def _stores(tile: Tile, half: bool) -> str:
    """Store the sums of each pixel inside the result; `inside0` and so on say which are."""

    def stored(pixel: int) -> str:
        sums = (
            f"result[to{pixel} + {group * tile.lanes}u] = {floats(half)}({total(pixel, group)});"
            for group in range(tile.groups)
        )
        return f"""
  let place{pixel} = corner + inner + vec2<u32>({pixel}u, 0u);
  let inside{pixel} = all(place{pixel} < end);
  let at{pixel} = place{pixel} * SCALE + phase;
  let to{pixel} = (at{pixel}.y * sizes.result_size.x + at{pixel}.x) * ALL_QUADS + channels;
  if (inside{pixel}) {{ {" ".join(sums)} }}"""

    return lines(map(stored, range(tile.pixels)))


def _measures(tile: Tile) -> str:
    """Write the moments of the pixels inside the result, for each group of a thread's channels."""

    def measured(group: int) -> str:
        values = [(f"inside{pixel}", total(pixel, group)) for pixel in range(tile.pixels)]
        plain = " + ".join(f"select(vec4<f32>(), {sums}, {inside})" for inside, sums in values)
        squares = lines(
            f"    apart = select(vec4<f32>(), {sums} - mean, {inside});"
            " squares = fma(apart, apart, squares);"
            for inside, sums in values
        )
        return f"""  {{
    let mean = summed({plain}, thread) / count;
    var apart: vec4<f32>;
    var squares = vec4<f32>();
{squares}
    squares = summed(squares, thread);
    if (thread < LANES) {{
      parts[moments + {group * tile.lanes}u] = Moments(mean, squares, count);
    }}
  }}"""

    return lines(map(measured, range(tile.groups)))

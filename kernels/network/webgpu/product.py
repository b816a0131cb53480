"""The second shader of Winograd's convolution: a matrix product for each position."""

from __future__ import annotations

from functools import cache
from string import Template

from kernels.network.webgpu.registers import multiplied, total, zeros
from kernels.network.webgpu.staging import staging
from kernels.network.webgpu.tiles import Tile
from kernels.network.webgpu.wgsl import Binding, Shader, constants, floats, lines, unrolled


@cache
def product(
    positions: int, inputs: int, outputs: int, tile: Tile, half: bool, half_sums: bool = False
) -> Shader:
    """Return the shader that computes [positions, tiles, outputs] from [positions, tiles, inputs].

    A pixel of its Tile is a tile of Winograd's transform, and its height is 1. Filters are
    [positions, parts, blocks, inputs of a block, tile.outputs], always in FP32: that gains 1 dB in
    FP16. With `half_sums`, some products are summed in FP16, see `multiplied`.
    """
    vector = floats(half_sums)
    quads, of_outputs = tile.depth // 4, tile.outputs // 4
    pixels, filters = tile.width * quads, tile.depth * of_outputs
    parts, blocks = outputs // tile.outputs, inputs // tile.depth
    total = positions * parts * blocks * filters
    staged = staging(filters, tile.threads, total, ahead=tile.ahead, vector=vector)
    values = constants(
        threads=tile.threads, lanes=tile.lanes, pixels=tile.pixels, width=tile.width, quads=quads,
        blocks=blocks, filters_at_once=filters, source_quads=inputs // 4,
        tile_quads=of_outputs, all_quads=outputs // 4, parts_of_outputs=parts,
    )  # fmt: skip
    body = Template(_BODY).substitute(
        halo=pixels,
        filters=filters,
        vector=vector,
        zeros=zeros(tile),
        load_pixels=unrolled(pixels, tile.threads, _LOAD.replace("VECTOR", vector)),
        begin_filters=staged.begin,
        store_filters=staged.store,
        fetch_filters=staged.fetch,
        multiply=multiplied(tile, 4, 1, half=half_sums),
        stores=lines(_store(tile, pixel, half) for pixel in range(tile.pixels)),
    )
    of_floats = f"array<{floats(half)}>"
    return Shader(
        sizes=("tiles", "share"),
        buffers=(Binding("source", "read", of_floats), Binding("result", "write", of_floats)),
        weights=Binding("filters", "read", "array<vec4<f32>>"),
        threads=tile.threads,
        vectors=(pixels + filters) // (2 if half_sums else 1),
        body=lines([values, body]),
        half=half,
    )


def groups(positions: int, tiles: int, outputs: int, tile: Tile) -> tuple[int, int, int]:
    """Return the workgroups: parts of the tiles, 1, parts of the outputs of each position."""
    return -(-tiles // tile.width), 1, positions * outputs // tile.outputs


# `tiles` are the tiles across and the tiles of the band. `share` begins with the first workgroup
# of a run.
_BODY = """
var<workgroup> halo: array<$vector, $halo>;
var<workgroup> taps: array<$vector, $filters>;

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32
) {
  let lane = thread % LANES;
  let inner = thread / LANES * PIXELS;
  let tiles = sizes.tiles.y;
  let position = group.z / PARTS_OF_OUTPUTS;
  let begin = (group.x + sizes.share.x) * WIDTH;
  let at = inner * QUADS;
  let row = lane;
  var next = group.z * BLOCKS * FILTERS_AT_ONCE;
$zeros
$begin_filters
  for (var block = 0u; block < BLOCKS; block++) {
    workgroupBarrier();
$load_pixels
$store_filters
    workgroupBarrier();
    next += FILTERS_AT_ONCE;
$fetch_filters
$multiply
  }
  let channels = group.z % PARTS_OF_OUTPUTS * TILE_QUADS + lane;
$stores
}
"""

_LOAD = """
      let tile = min(begin + i / QUADS, tiles - 1u);
      halo[i] = VECTOR(source[(position * tiles + tile) * SOURCE_QUADS
        + block * QUADS + i % QUADS]);
"""


def _store(tile: Tile, pixel: int, half: bool) -> str:
    stores = " ".join(
        f"result[to{pixel} + {group * tile.lanes}u] = {floats(half)}({total(pixel, group)});"
        for group in range(tile.groups)
    )
    return f"""
  let tile{pixel} = begin + inner + {pixel}u;
  let to{pixel} = (position * tiles + tile{pixel}) * ALL_QUADS + channels;
  if (tile{pixel} < tiles) {{ {stores} }}"""

"""The shaders that find the motion of a scene at every cell, as in kernels/frames/native/flow.h."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from kernels.network.webgpu.moving.shared import FLOWS, GRAY, GRAYS, STATE, state
from kernels.network.webgpu.texture.shared import REFLECTED, TAPS, shader
from kernels.network.webgpu.wgsl import Shader, constants, lines

WIDE, HIGH = 16, 8  # cells of a workgroup's tile, a thread for each
REACH = 3  # cells of a window on each side of its center
MEDIAN_REACH = 2  # of the median's
_ACROSS, _DOWN = WIDE + 2 * REACH, HIGH + 2 * REACH


@cache
def step() -> Shader:
    """Return the shader that goes one step towards the motion, by tiles of cells.

    A workgroup's third dimension is the painting. In `between`, the motion known so far begins at
    the first number, and the result at the second one; these are of place 0. `coarse` is the size
    of the motion known so far, 0 if there is none.
    """
    vectors = -(-_ACROSS * _DOWN * 5 // 4) + -(-HIGH * _ACROSS * 10 // 4)
    return shader(
        ("cells", "at", "coarse", "between"),
        (GRAYS, FLOWS, STATE),
        constants(wide=WIDE, high=HIGH, across=_ACROSS, down=_DOWN),
        f"const REACH = {REACH};",
        state(),
        REFLECTED,
        TAPS,
        GRAY,
        _KNOWN,
        _SOLVED,
        _STEP,
        threads=WIDE * HIGH,
        vectors=vectors,
    )


@cache
def median() -> Shader:
    """Return the shader that removes single errors from a motion, a thread for each cell.

    `between` is as in `step`. The first number of `settles` is 1 for the motion by which pictures
    are moved: rounded to 1/32 of a cell, and 0 where the scene stands still.
    """
    return shader(
        ("cells", "between", "settles"),
        (FLOWS, STATE),
        state(),
        _MEDIAN.replace("MIDDLE", lines(_middle())),
    )


def _middle() -> Iterator[str]:
    """Yield code for `middle`, the median of the window around a cell by components.

    Among a few more than half of them, the minimum and the maximum cannot be the median: they are
    dropped, and another motion is added, until three are left.
    """
    reach = range(-MEDIAN_REACH, MEDIAN_REACH + 1)
    values = [f"motion(places, row + {i}, column + {j})" for i, j in product(reach, reach)]
    held = len(values) // 2 + 2
    yield from (f"  var m{k} = {values[k]};" for k in range(held))
    for number in range(held, 2, -1):
        half, odd = number // 2, (number + 1) // 2
        pairs = [(k, number - 1 - k) for k in range(half)]
        pairs += [(0, k) for k in range(1, odd)]
        pairs += [(k, number - 1) for k in range(half, number - 1)]
        for a, b in pairs:
            yield f"  {{ let low = min(m{a}, m{b}); m{b} = max(m{a}, m{b}); m{a} = low; }}"
        if number > 3:
            yield f"  m0 = {values[len(values) + 3 - number]};"
    yield "  let middle = m1;"


_KNOWN = """
fn between_at(place: u32, row: u32, column: u32) -> vec2<f32> {
  let cells = sizes.coarse.x * sizes.coarse.y;
  return flows[sizes.between.x + place * 2u * cells + row * sizes.coarse.x + column];
}
fn known_flow(place: u32, row: u32, column: u32) -> vec2<f32> {
  if (sizes.coarse.x == 0u) { return vec2<f32>(); }
  if (all(sizes.coarse == sizes.cells)) { return between_at(place, row, column); }
  let down = taps_at(source_of(f32(row), sizes.cells.y, sizes.coarse.y), sizes.coarse.y);
  let across = taps_at(source_of(f32(column), sizes.cells.x, sizes.coarse.x), sizes.coarse.x);
  let a = between_at(place, down.first, across.first);
  let c = between_at(place, down.second, across.first);
  let above = a + (between_at(place, down.first, across.second) - a) * across.share;
  let below = c + (between_at(place, down.second, across.second) - c) * across.share;
  let scale = vec2<f32>(sizes.cells) / vec2<f32>(sizes.coarse);
  return (above + (below - above) * down.share) * scale;
}
"""

# Sums over a window: the slopes and their products; the difference between the newest and the moved
# earlier picture except for the known motion, `wrong`, and its products; and the known motion.
_SOLVED = """
struct Sums { a: vec4<f32>, b: vec4<f32>, c: vec2<f32> }
fn solved(sums: Sums) -> vec2<f32> {
  let share = 1.0 / 49.0;
  let damping = 2.0;
  let right = sums.a.x * share;
  let down = sums.a.y * share;
  let wrong = sums.b.y * share;
  let xx = sums.a.z * share - right * right + damping;
  let yy = sums.b.x * share - down * down + damping;
  let xy = sums.a.w * share - right * down;
  let x = sums.b.z * share - right * wrong + damping * (sums.c.x * share);
  let y = sums.b.w * share - down * wrong + damping * (sums.c.y * share);
  let inverse = 1.0 / (xx * yy - xy * xy);
  return vec2<f32>((yy * x - xy * y) * inverse, (xx * y - xy * x) * inverse);
}
"""

# `measured` is the slopes, `wrong` and the motion to the right; `falling` the motion down. Sums run
# along columns first.
_STEP = """
var<workgroup> measured: array<vec4<f32>, ACROSS * DOWN>;
var<workgroup> falling: array<f32, ACROSS * DOWN>;
var<workgroup> firsts: array<vec4<f32>, HIGH * ACROSS>;
var<workgroup> seconds: array<vec4<f32>, HIGH * ACROSS>;
var<workgroup> thirds: array<vec2<f32>, HIGH * ACROSS>;

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32
) {
  let place = place_of(group.z);
  let corner = vec2<i32>(group.xy * vec2<u32>(WIDE, HIGH)) - REACH;
  for (var i = thread; i < ACROSS * DOWN; i += THREADS) {
    let row = reflected(corner.y + i32(i / ACROSS), i32(sizes.cells.y));
    let column = reflected(corner.x + i32(i % ACROSS), i32(sizes.cells.x));
    let slope = slopes_at(row, column);
    let flow = known_flow(place, u32(row), u32(column));
    let moved = sampled(place, vec2<f32>(vec2<i32>(column, row)) + flow);
    let wrong = here_at(row, column) - moved + slope.x * flow.x + slope.y * flow.y;
    measured[i] = vec4<f32>(slope, wrong, flow.x);
    falling[i] = flow.y;
  }
  workgroupBarrier();
  for (var i = thread; i < HIGH * ACROSS; i += THREADS) {
    var sums = Sums();
    for (var k = 0u; k < 7u; k++) {
      let at = measured[i + k * ACROSS];
      sums.a += vec4<f32>(at.xy, at.x * at.x, at.x * at.y);
      sums.b += vec4<f32>(at.y * at.y, at.z, at.x * at.z, at.y * at.z);
      sums.c += vec2<f32>(at.w, falling[i + k * ACROSS]);
    }
    firsts[i] = sums.a;
    seconds[i] = sums.b;
    thirds[i] = sums.c;
  }
  workgroupBarrier();
  let at = group.xy * vec2<u32>(WIDE, HIGH) + vec2<u32>(thread % WIDE, thread / WIDE);
  if (any(at >= sizes.cells)) { return; }
  let begin = thread / WIDE * ACROSS + thread % WIDE;
  var sums = Sums();
  for (var k = 0u; k < 7u; k++) {
    sums.a += firsts[begin + k];
    sums.b += seconds[begin + k];
    sums.c += thirds[begin + k];
  }
  let to = sizes.between.y + place * 2u * sizes.cells.x * sizes.cells.y;
  flows[to + at.y * sizes.cells.x + at.x] = solved(sums);
}
"""

# The edge is repeated.
_MEDIAN = """
fn motion(places: u32, row: i32, column: i32) -> vec2<f32> {
  let last = vec2<i32>(sizes.cells) - 1;
  let at = vec2<u32>(clamp(vec2<i32>(column, row), vec2<i32>(), last));
  return flows[sizes.between.x + places + at.y * sizes.cells.x + at.x];
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let cells = sizes.cells.x * sizes.cells.y;
  if (id.x >= cells) { return; }
  let row = i32(id.x / sizes.cells.x);
  let column = i32(id.x % sizes.cells.x);
  let places = place_of(id.z) * 2u * cells;
MIDDLE
  var kept = middle;
  if (sizes.settles.x == 1u) {
    let still = middle.x * middle.x + middle.y * middle.y < 0.2 * 0.2;
    kept = select(round(middle * 32.0) / 32.0, vec2<f32>(), still);
  }
  flows[sizes.between.y + places + id.x] = kept;
}
"""

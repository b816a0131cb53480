"""The shader that finds how far a motion is trusted at every cell, and whether a scene is one."""

from __future__ import annotations

from functools import cache

from kernels.frames.moving import CERTAIN, FULL_GAIN, LEAST_GAIN, TORN, UNKNOWN, WHOLE
from kernels.network.webgpu.moving.shared import GRAY, GRAYS, STATE, TRUSTS, state
from kernels.network.webgpu.texture.shared import REFLECTED, floats, shader
from kernels.network.webgpu.wgsl import Shader, constants

WIDE, HIGH = 16, 8  # cells of a workgroup's tile, a thread for each
REACH = 2  # cells of each mean's window on each side of its center
MEANS = 3  # one after another: of changes, and of trusts twice
ONE = 1 << 20  # fixed-point scale of the sums of certainty
WORD = 1 << 16  # of the second word of a sum


@cache
def trusting() -> Shader:
    """Return the shader that writes how certain each cell's motion is, and how much of it counts.

    A workgroup's third dimension is the painting. The motion is the settled one, the first of each
    place in `flows`. A workgroup also computes the cells around its tile that its means read: three
    shaders in its place would compute each cell once, but wait for one another.
    """
    sides = [(WIDE + 2 * k * REACH) * (HIGH + 2 * k * REACH) for k in range(1, MEANS + 1)]
    limits = ("certain", CERTAIN), ("unknown", UNKNOWN), ("least_gain", LEAST_GAIN)
    limits += ("full_gain", FULL_GAIN), ("whole", WHOLE), ("torn", TORN)
    return shader(
        ("cells", "at"),
        (
            GRAYS,
            floats("flows", kind="vec2<f32>"),
            TRUSTS,
            STATE._replace(access="write"),
        ),
        constants(wide=WIDE, high=HIGH, word=WORD),
        "".join(f"const {name.upper()} = {value};\n" for name, value in limits),
        f"const ONE = {ONE}.0;",
        state(adds=True),
        REFLECTED,
        GRAY,
        _CHANGES,
        _AGREEMENT,
        _mean("around", "changes", MEANS),
        _mean("softened", "trusts_here", MEANS - 1),
        _mean("twice", "soft", MEANS - 2),
        _TRUSTING,
        threads=WIDE * HIGH,
        vectors=-(-sum(sides) // 2),
    )


def _mean(name: str, source: str, rings: int) -> str:
    """Return a function with the mean around a cell of a plane that reaches `rings` * REACH out.

    Its first argument counts the cells of the result, a plane that reaches REACH less. Sums run
    along columns first.
    """
    across = WIDE + 2 * rings * REACH
    columns, side = across - 2 * REACH, 2 * REACH + 1
    return f"""
fn {name}(i: u32) -> vec2<f32> {{
  let begin = i / {columns}u * {across}u + i % {columns}u;
  var sum = vec2<f32>();
  for (var j = 0u; j < {side}u; j++) {{
    var down = vec2<f32>();
    for (var k = 0u; k < {side}u; k++) {{ down += {source}[begin + k * {across}u + j]; }}
    sum += down;
  }}
  return sum / {side * side}.0;
}}
"""


# Changes of a cell in levels, with its motion and without.
_CHANGES = """
fn flow_at(place: u32, row: i32, column: i32) -> vec2<f32> {
  let size = vec2<i32>(sizes.cells);
  let at = clamp(vec2<i32>(column, row), vec2<i32>(), size - 1);
  return flows[i32(place) * 2 * size.x * size.y + at.y * size.x + at.x];
}
fn changes_at(place: u32, row: i32, column: i32) -> vec2<f32> {
  let slope = slopes_at(row, column);
  let here = here_at(row, column);
  let moved = sampled(place, vec2<f32>(vec2<i32>(column, row)) + flow_at(place, row, column));
  let apart = abs(here - vec2<f32>(moved, known_at(place, u32(row), u32(column))));
  return apart / (1.0 + 0.05 * sqrt(slope.x * slope.x + slope.y * slope.y));
}
"""

# How far a cell's motion agrees with the motion of its neighbors.
_AGREEMENT = """
fn agreement_of(place: u32, row: i32, column: i32) -> f32 {
  let across = flow_at(place, row, column + 1) - flow_at(place, row, column - 1);
  let down = flow_at(place, row + 1, column) - flow_at(place, row - 1, column);
  let each = max(abs(across) / 2.0, abs(down) / 2.0);
  return clamp((TORN - max(each.x, each.y)) / (TORN - WHOLE), 0.0, 1.0);
}
"""

# Planes reach beyond the tile, mirrored at the edges of the picture. Sums are integers, so their
# order does not matter.
_TRUSTING = """
var<workgroup> changes: array<vec2<f32>, (WIDE + 12u) * (HIGH + 12u)>;
var<workgroup> trusts_here: array<vec2<f32>, (WIDE + 8u) * (HIGH + 8u)>;
var<workgroup> soft: array<vec2<f32>, (WIDE + 4u) * (HIGH + 4u)>;
var<workgroup> total: atomic<u32>;

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32
) {
  let place = place_of(group.z);
  let corner = vec2<i32>(group.xy * vec2<u32>(WIDE, HIGH));
  let size = vec2<i32>(sizes.cells);
  if (thread == 0u) { atomicStore(&total, 0u); }
  for (var i = thread; i < (WIDE + 12u) * (HIGH + 12u); i += THREADS) {
    let row = reflected(corner.y + i32(i / (WIDE + 12u)) - 6, size.y);
    let column = reflected(corner.x + i32(i % (WIDE + 12u)) - 6, size.x);
    changes[i] = changes_at(place, row, column);
  }
  workgroupBarrier();
  for (var i = thread; i < (WIDE + 8u) * (HIGH + 8u); i += THREADS) {
    let row = reflected(corner.y + i32(i / (WIDE + 8u)) - 4, size.y);
    let column = reflected(corner.x + i32(i % (WIDE + 8u)) - 4, size.x);
    let change = around(i);
    let certain = clamp((UNKNOWN - change.x) / (UNKNOWN - CERTAIN), 0.0, 1.0);
    let gain = (change.y - change.x - LEAST_GAIN) / (FULL_GAIN - LEAST_GAIN);
    trusts_here[i] = vec2<f32>(
      certain * agreement_of(place, row, column), clamp(gain, 0.0, 1.0),
    );
  }
  workgroupBarrier();
  for (var i = thread; i < (WIDE + 4u) * (HIGH + 4u); i += THREADS) { soft[i] = softened(i); }
  workgroupBarrier();
  let at = group.xy * vec2<u32>(WIDE, HIGH) + vec2<u32>(thread % WIDE, thread / WIDE);
  if (all(at < sizes.cells)) {
    let trust = twice(thread);
    trusts[(place * sizes.cells.y + at.y) * sizes.cells.x + at.x] = trust;
    atomicAdd(&total, u32(round(trust.x * ONE)));
  }
  workgroupBarrier();
  if (thread == 0u) {
    let sum = atomicLoad(&total);
    atomicAdd(&state.sums[2u * group.z], sum % WORD);
    atomicAdd(&state.sums[2u * group.z + 1u], sum / WORD);
  }
}
"""

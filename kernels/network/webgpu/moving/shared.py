"""Buffers and WGSL that the shaders of moving share.

All sizes of the gray pictures lie in one buffer, and so do their motions. A size has three
pictures: the newest frame, and the sources of two paintings, each in its place, 0 or 1. For each
place, it has two motions, which steps write by turns.
"""

from __future__ import annotations

from kernels.network.webgpu.texture.shared import floats
from kernels.network.webgpu.wgsl import Binding

PICTURES = 3  # of a size
PLACES = 2  # of paintings that mix
MOTIONS = 2  # of a size and place

# The processor writes the state before each move. `newest` is the place of the newest painting, and
# `share` the weight of the other one where its motion is certain, 0 if there is none. `sums` counts
# the certainty of the newest painting's cells and of the other's, each in two words. The newest
# painting has the number 0.
_STATE = """
struct Moving { newest: u32, share: f32, sums: array<KIND, 4> }
fn place_of(number: u32) -> u32 { return (state.newest + number) & 1u; }
"""
STATE_WORDS = 6

GRAYS = floats("grays")
FLOWS = floats("flows", "write", "vec2<f32>")  # cells to the right and down
TRUSTS = floats("trusts", "write", "vec2<f32>")  # how certain a motion is, and how much counts
STATE = Binding("state", "read", "Moving")


def state(*, adds: bool = False) -> str:
    """Return the declaration of the state; with `adds`, a shader adds to its sums."""
    return _STATE.replace("KIND", "atomic<u32>" if adds else "u32")


# Slopes of the newest picture by Scharr, in levels per pixel, and samples of a painting's source.
GRAY = """
fn here_at(row: i32, column: i32) -> f32 {
  return grays[i32(sizes.at.x) + row * i32(sizes.cells.x) + column];
}
fn scharr(a: f32, to_a: f32, b: f32, to_b: f32, c: f32, to_c: f32) -> f32 {
  return (3.0 * (to_a - a) + 10.0 * (to_b - b) + 3.0 * (to_c - c)) / 32.0;
}
fn slopes_at(row: i32, column: i32) -> vec2<f32> {
  let size = vec2<i32>(sizes.cells);
  let above = reflected(row - 1, size.y);
  let below = reflected(row + 1, size.y);
  let left = reflected(column - 1, size.x);
  let right = reflected(column + 1, size.x);
  let above_left = here_at(above, left);
  let above_right = here_at(above, right);
  let below_left = here_at(below, left);
  let below_right = here_at(below, right);
  return vec2<f32>(
    scharr(above_left, above_right, here_at(row, left), here_at(row, right),
      below_left, below_right),
    scharr(above_left, below_left, here_at(above, column), here_at(below, column),
      above_right, below_right),
  );
}
fn known_at(place: u32, row: u32, column: u32) -> f32 {
  let cells = sizes.cells.x * sizes.cells.y;
  return grays[sizes.at.x + (1u + place) * cells + row * sizes.cells.x + column];
}
fn sampled(place: u32, at: vec2<f32>) -> f32 {
  let within = clamp(at, vec2<f32>(), vec2<f32>(sizes.cells - 1u));
  let first = vec2<u32>(within);
  let second = min(first + 1u, sizes.cells - 1u);
  let share = within - vec2<f32>(first);
  let a = known_at(place, first.y, first.x);
  let c = known_at(place, second.y, first.x);
  let above = a + (known_at(place, first.y, second.x) - a) * share.x;
  let below = c + (known_at(place, second.y, second.x) - c) * share.x;
  return above + (below - above) * share.y;
}
"""

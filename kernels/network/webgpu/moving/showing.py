"""The last shader of moving: the paintings of a stream where the scene has moved to, in bytes."""

from __future__ import annotations

from functools import cache

from kernels.frames.moving import SAME_SCENE
from kernels.network.webgpu.moving.shared import STATE, state
from kernels.network.webgpu.moving.trusting import ONE, WORD
from kernels.network.webgpu.texture.shared import CUBIC, TAPS, floats, shader
from kernels.network.webgpu.wgsl import PICTURE_BITS, Binding, Shader

PIXELS = 4  # of a thread: three words, which no other thread writes


@cache
def showing() -> Shader:
    """Return the shader that moves the newest painting, and mixes it with the one before.

    The paintings `newest` and `before` and the result are [H, W, 3] in bytes.
    """
    bytes_of_colors = "array<u32>"
    return shader(
        ("size", "cells"),
        (
            Binding("newest", "read", bytes_of_colors),
            Binding("before", "read", bytes_of_colors),
            floats("flows", kind="vec2<f32>"),
            floats("trusts", kind="vec2<f32>"),
            STATE,
            Binding("shown", "write", bytes_of_colors),
        ),
        state(),
        TAPS,
        CUBIC,
        f"const SAME = {SAME_SCENE};\nconst ONE = {ONE}.0;\nconst WORD = {WORD}.0;",
        _PLACE,
        *(_moved(name) for name in ("newest", "before")),
        _SHOWING,
    )


def _moved(painting: str) -> str:
    bits = PICTURE_BITS.replace("source", painting).replace("color_bits", f"{painting}_bits")
    return bits + _MOVED.replace("PAINTING", painting)


# Where a pixel of a painting comes from, in whole steps of the motion, and how far that is certain.
# Nothing moves where the frame shows another scene than the painting's source.
_PLACE = """
const STEPS = 32.0;  // of a pixel
struct Moved { steps: vec2<i32>, certain: f32 }
fn same_scene(number: u32) -> f32 {
  let cells = f32(sizes.cells.x * sizes.cells.y);
  let sum = f32(state.sums[2u * number]) / ONE + f32(state.sums[2u * number + 1u]) * (WORD / ONE);
  return select(1.0, 0.0, sum < SAME * cells);
}
fn trusted(place: u32, same: f32, row: u32, column: u32) -> vec3<f32> {
  let cells = sizes.cells.x * sizes.cells.y;
  let at = row * sizes.cells.x + column;
  let trust = trusts[place * cells + at];
  let certain = trust.x * same;
  return vec3<f32>(flows[place * 2u * cells + at] * (certain * trust.y), certain);
}
fn moved_to(number: u32, row: u32, column: u32) -> Moved {
  let place = place_of(number);
  let same = same_scene(number);
  let down = taps_at(source_of(f32(row), sizes.size.y, sizes.cells.y), sizes.cells.y);
  let across = taps_at(source_of(f32(column), sizes.size.x, sizes.cells.x), sizes.cells.x);
  let a = trusted(place, same, down.first, across.first);
  let c = trusted(place, same, down.second, across.first);
  let above = a + (trusted(place, same, down.first, across.second) - a) * across.share;
  let below = c + (trusted(place, same, down.second, across.second) - c) * across.share;
  let between = above + (below - above) * down.share;
  let pixels = between.xy * (vec2<f32>(sizes.size) / vec2<f32>(sizes.cells));
  let far = vec2<f32>(1e6);  // outside every picture
  return Moved(vec2<i32>(clamp(round(pixels * STEPS), -far, far)), between.z);
}
"""

# A painting at a moved place with cubic interpolation, in 64ths of a level. Farther outside, all
# taps read the edge.
_MOVED = """
fn PAINTING_at(row: i32, column: i32) -> vec3<f32> {
  let at = clamp(vec2<i32>(column, row), vec2<i32>(), vec2<i32>(sizes.size) - 1);
  let bits = PAINTING_bits(u32(at.y) * sizes.size.x + u32(at.x));
  return 64.0 * vec3<f32>(vec3<u32>(bits, bits >> 8u, bits >> 16u) & vec3<u32>(255u));
}
fn PAINTING_down(taps: vec4<f32>, row: i32, column: i32) -> vec3<f32> {
  return taps.x * PAINTING_at(row, column) + taps.y * PAINTING_at(row + 1, column)
    + taps.z * PAINTING_at(row + 2, column) + taps.w * PAINTING_at(row + 3, column);
}
fn PAINTING_moved(steps: vec2<i32>, row: u32, column: u32) -> vec3<f32> {
  let here = vec2<i32>(vec2<u32>(column, row));
  if (all(steps == vec2<i32>())) { return PAINTING_at(here.y, here.x); }
  let there = vec2<f32>(here) + vec2<f32>(steps) / STEPS;
  let held = clamp(there, vec2<f32>(-4.0), vec2<f32>(sizes.size) + 4.0);
  let whole = floor(held);
  let first = vec2<i32>(whole) - 1;
  let down = cubic(held.y - whole.y);
  let across = cubic(held.x - whole.x);
  return round(
    across.x * PAINTING_down(down, first.y, first.x)
    + across.y * PAINTING_down(down, first.y, first.x + 1)
    + across.z * PAINTING_down(down, first.y, first.x + 2)
    + across.w * PAINTING_down(down, first.y, first.x + 3)
  );
}
"""

_SHOWING = """
fn color(at: u32) -> vec3<u32> {
  if (at >= sizes.size.x * sizes.size.y) { return vec3<u32>(); }
  let row = at / sizes.size.x;
  let column = at % sizes.size.x;
  var made = newest_moved(moved_to(0u, row, column).steps, row, column);
  if (state.share > 0.0) {
    let other = moved_to(1u, row, column);
    let earlier = before_moved(other.steps, row, column);
    made += (earlier - made) * (other.certain * state.share);
  }
  return vec3<u32>(clamp(round(made / 64.0), vec3<f32>(), vec3<f32>(255.0)));
}
fn put(at: u32, word: u32) {
  if (at < (3u * sizes.size.x * sizes.size.y + 3u) / 4u) { shown[at] = word; }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let first = id.x * 4u;
  if (first >= sizes.size.x * sizes.size.y) { return; }
  let a = color(first);
  let b = color(first + 1u);
  let c = color(first + 2u);
  let d = color(first + 3u);
  put(id.x * 3u, a.x | (a.y << 8u) | (a.z << 16u) | (b.x << 24u));
  put(id.x * 3u + 1u, b.y | (b.z << 8u) | (c.x << 16u) | (c.y << 24u));
  put(id.x * 3u + 2u, c.z | (d.x << 8u) | (d.y << 16u) | (d.z << 24u));
}
"""

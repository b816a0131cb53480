"""The last shaders of texture: add noise to a frame in bytes, and to a larger copy, in place."""

from __future__ import annotations

from functools import cache

from kernels.network.webgpu.texture.combing import noise_code
from kernels.network.webgpu.texture.shared import CUBIC, FRAME, STATE, TAPS, floats, shader
from kernels.network.webgpu.wgsl import Binding, Shader

DEVIATION = 20.0  # levels: noise in flat parts at full texture
PIXELS = 4  # of a thread: three words, which no other thread writes


@cache
def adding(*, combs: bool, keeps: bool) -> Shader:
    """Return the shader that adds noise where a frame is flat.

    Args:
        combs: Whether strokes have a direction.
        keeps: Whether the added levels are written to `field`, [H, W], before they are rounded.
    """
    noise = (floats("combed"),) if combs else (floats("fine"), floats("coarse"))
    return shader(
        ("size", "cells"),
        (
            Binding("picture", "write", "array<u32>"),
            floats("flat"),
            STATE,
            FRAME,
            *noise,
            *([floats("field", "write")] if keeps else []),
        ),
        TAPS,
        _COMBED if combs else noise_code() + _PLAIN,
        _FLATNESS.replace("DEVIATION", f"{DEVIATION}"),
        _BODY.replace("KEEP", "field[at] = by;" if keeps else ""),
    )


@cache
def enlarging() -> Shader:
    """Return the shader that adds the `field` of a smaller copy, enlarged by cubic taps."""
    return shader(
        ("size", "small"),
        (Binding("picture", "write", "array<u32>"), floats("field")),
        TAPS,
        CUBIC,
        _ENLARGED,
        _BODY.replace("KEEP", ""),
    )


_COMBED = """
fn pattern(row: u32, column: u32) -> f32 {
  let size = (sizes.size + 1u) / 2u;
  let down = taps_at(source_of(f32(row), sizes.size.y, size.y), size.y);
  let across = taps_at(source_of(f32(column), sizes.size.x, size.x), size.x);
  let upper = down.first * size.x;
  let lower = down.second * size.x;
  let above = mix(combed[upper + across.first], combed[upper + across.second], across.share);
  let below = mix(combed[lower + across.first], combed[lower + across.second], across.share);
  return mix(above, below, down.share);
}
"""

_PLAIN = """
fn pattern(row: u32, column: u32) -> f32 {
  return 0.70710678 * noise_at(vec2<f32>(vec2<u32>(column, row)));
}
"""

_FLATNESS = """
fn flatness(row: u32, column: u32) -> f32 {
  let down = taps_at(source_of(f32(row), sizes.size.y, sizes.cells.y), sizes.cells.y);
  let across = taps_at(source_of(f32(column), sizes.size.x, sizes.cells.x), sizes.cells.x);
  let upper = down.first * sizes.cells.x;
  let lower = down.second * sizes.cells.x;
  let above = mix(flat[upper + across.first], flat[upper + across.second], across.share);
  let below = mix(flat[lower + across.first], flat[lower + across.second], across.share);
  return mix(above, below, down.share);
}
fn texture(row: u32, column: u32) -> f32 {
  return pattern(row, column) * flatness(row, column) * frame.amount * DEVIATION * state.presence;
}
"""

_ENLARGED = """
fn four(row: i32, column: i32) -> vec4<f32> {
  let last = vec2<i32>(sizes.small) - 1;
  let start = clamp(row, 0, last.y) * (last.x + 1);
  let at = clamp(vec4<i32>(column) + vec4<i32>(0, 1, 2, 3), vec4<i32>(), vec4<i32>(last.x));
  return vec4<f32>(
    field[start + at.x], field[start + at.y], field[start + at.z], field[start + at.w],
  );
}
fn texture(row: u32, column: u32) -> f32 {
  let y = source_of(f32(row), sizes.size.y, sizes.small.y);
  let x = source_of(f32(column), sizes.size.x, sizes.small.x);
  let across = cubic(x - floor(x));
  let top = i32(floor(y)) - 1;
  let left = i32(floor(x)) - 1;
  let lines = vec4<f32>(
    dot(across, four(top, left)), dot(across, four(top + 1, left)),
    dot(across, four(top + 2, left)), dot(across, four(top + 3, left)),
  );
  return dot(cubic(y - floor(y)), lines);
}
"""

# Vectors are written as a whole: not every compiler takes an index there.
_BODY = """
fn level(at: u32) -> f32 {
  if (at >= sizes.size.x * sizes.size.y) { return 0.0; }
  let by = texture(at / sizes.size.x, at % sizes.size.x);
  KEEP
  return round(by);
}

fn add(at: u32, levels: vec4<f32>) {
  if (at >= (3u * sizes.size.x * sizes.size.y + 3u) / 4u) { return; }
  let word = picture[at];
  let color = vec4<f32>((vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u));
  let added = vec4<u32>(clamp(color + levels, vec4<f32>(), vec4<f32>(255.0)));
  picture[at] = added.x | (added.y << 8u) | (added.z << 16u) | (added.w << 24u);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let first = id.x * 4u;
  if (first >= sizes.size.x * sizes.size.y) { return; }
  let levels = vec4<f32>(level(first), level(first + 1u), level(first + 2u), level(first + 3u));
  add(id.x * 3u, levels.xxxy);
  add(id.x * 3u + 1u, levels.yyzz);
  add(id.x * 3u + 2u, levels.zwww);
}
"""

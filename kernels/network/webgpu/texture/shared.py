"""Buffers and WGSL that the shaders of texture share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.frames.combing import Comb
from kernels.network.webgpu.wgsl import Binding, Shader, lines
from utils.stroke_directions import MOST_HANDLES

THREADS = 128  # of the shaders with a thread for each pixel or cell

# A place is whole pixels and the fraction beyond them, to the right and down: WebGPU has no FP64.
_STATE = """
struct Place { whole: vec2<i32>, part: vec2<f32> }
struct State {
  offset: Place,  // of the pattern, which ignores the noise of measurements
  moved: Place,  // of the scene
  anchor: Place,  // of the scene at the reference
  shift: vec2<f32>,  // of the pattern since the frame before
  rest: vec2<f32>,  // of the picture's first pixel in the tiles of noise, beyond whole pixels
  fine: vec2<u32>,
  coarse: vec2<u32>,
  presence: f32,
  followed: u32,  // whether the motion since the frame before is known
}
"""
STATE_BYTES = 96

# `begins` forgets earlier frames; `averages` tells that the axes of the frame before are there.
_FRAME = f"""
struct Frame {{
  amount: f32, begins: u32, continues: u32, averages: u32,
  newest: u32, mode: u32, steps: u32, count: u32,
  gain: f32, between: vec2<f32>,
  handles: array<vec4<f32>, {MOST_HANDLES}>,
}}
"""
_FRAME_WORDS = 12 + 4 * MOST_HANDLES
FRAME_BYTES = 4 * _FRAME_WORDS

STATE = Binding("state", "read", "State")
FRAME = Binding("frame", "read", "Frame")


def frame_words(
    amount: float,
    *,
    begins: bool,
    continues: bool,
    averages: bool,
    newest: int,
    comb: Comb | None,
) -> NDArray[np.uint32]:
    """Return the struct Frame.

    Args:
        newest: Which half of the buffer of axes is the frame's, 0 or 1.
    """
    words = np.zeros(_FRAME_WORDS, np.uint32)
    floats = words.view(np.float32)
    floats[0] = amount
    words[1:5] = begins, continues, averages, newest
    if comb is not None:
        words[5:8] = comb.mode, comb.steps, len(comb.handles)
        floats[8] = comb.gain
        floats[10:12] = comb.axis
        for number, (each, axis) in enumerate(zip(comb.handles, comb.handle_axes, strict=True)):
            floats[12 + 4 * number : 16 + 4 * number] = each.x, each.y, *axis
    return words


def shader(
    sizes: Sequence[str],
    buffers: Sequence[Binding],
    *body: str,
    threads: int = THREADS,
    vectors: int = 0,
) -> Shader:
    """Return a shader without weights; see Shader. Its buffers may be of State and Frame."""
    types = {each.type for each in buffers}
    declared = [text for name, text in (("State", _STATE), ("Frame", _FRAME)) if name in types]
    return Shader(
        sizes=tuple(sizes),
        buffers=tuple(buffers),
        weights=None,
        threads=threads,
        vectors=vectors,
        body=lines([f"const THREADS = {threads}u;", *declared, *body]),
    )


def groups(items: int) -> tuple[int, int, int]:
    """Return the workgroups for a number of items."""
    return -(-items // THREADS), 1, 1


def floats(name: str, access: str = "read", kind: str = "f32") -> Binding:
    """Return an array of FP32 numbers or vectors."""
    assert access in ("read", "write")
    return Binding(name, access, f"array<{kind}>")


# The pixels that stand for pixels beyond an edge, however far.
REFLECTED = """
fn reflected(at: i32, size: i32) -> i32 {
  if (size == 1) { return 0; }
  let period = 2 * size - 2;
  let beyond = abs(at) % period;
  return min(beyond, period - beyond);
}
"""

# Two taps of the linear interpolation, clamped at the edge, as in guided.h.
TAPS = """
struct Taps { first: u32, second: u32, share: f32 }
fn taps_at(position: f32, size: u32) -> Taps {
  let whole = floor(position);
  let first = i32(whole);
  let last = i32(size) - 1;
  if (first < 0) { return Taps(0u, 0u, 0.0); }
  if (first >= last) { return Taps(u32(last), u32(last), 0.0); }
  return Taps(u32(first), u32(first) + 1u, position - whole);
}
fn source_of(at: f32, many: u32, few: u32) -> f32 {
  return (at + 0.5) * (f32(few) / f32(many)) - 0.5;
}
"""

# Four taps of the interpolation of Keys with OpenCV's a = -0.75, as in sampling.h.
CUBIC = """
fn cubic(x: f32) -> vec4<f32> {
  let a = -0.75;
  let y = 1.0 - x;
  let first = ((a * (x + 1.0) - 5.0 * a) * (x + 1.0) + 8.0 * a) * (x + 1.0) - 4.0 * a;
  let second = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  let third = ((a + 2.0) * y - (a + 3.0)) * y * y + 1.0;
  return vec4<f32>(first, second, third, 1.0 - first - second - third);
}
"""

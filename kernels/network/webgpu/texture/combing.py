"""The shaders that comb the noise of strokes along their axes, at half the picture's size."""

from __future__ import annotations

from functools import cache

from kernels.frames.combing import MARGIN
from kernels.frames.noise import BANDS
from kernels.network.webgpu.texture.shared import FRAME, STATE, TAPS, floats, shader
from kernels.network.webgpu.wgsl import Shader


def half_of(size: tuple[int, int]) -> tuple[int, int]:
    wide, high = size
    return (wide + 1) // 2, (high + 1) // 2


def noise_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return the width and height of the noise for pictures of a size."""
    wide, high = half_of(size)
    return wide + 2 * MARGIN, high + 2 * MARGIN


def noise_code() -> str:
    """Return the function `noise_at`, of a pixel of a picture, which reads `fine` and `coarse`."""
    bands = [
        _BAND.replace("BAND", name).replace("SIDE", str(side))
        for name, (_, side) in zip(("fine", "coarse"), BANDS, strict=True)
    ]
    return "".join([*bands, _NOISE])


@cache
def noise() -> Shader:
    """Return the shader that sums both bands of noise at half size, with a margin around it."""
    return shader(
        ("size", "wide"),
        (floats("fine"), floats("coarse"), floats("noise", "write"), STATE),
        noise_code(),
        _SUMMED.replace("MARGIN", f"{MARGIN}"),
    )


@cache
def combed() -> Shader:
    """Return the shader that sums the noise along each pixel's line, of unit deviation."""
    return shader(
        ("half_size", "small"),
        (
            floats("axes", kind="vec2<f32>"),
            floats("noise"),
            floats("result", "write"),
            FRAME,
        ),
        TAPS,
        _COMBED.replace("MARGIN", f"{MARGIN}"),
    )


# A band between its pixels.
_BAND = """
fn BAND_at(corner: vec2<i32>, rest: vec2<f32>) -> f32 {
  let at = (corner + vec2<i32>(state.BAND) + SIDE) % SIDE;
  let next = select(at + 1, vec2<i32>(), at + 1 == vec2<i32>(SIDE));
  let above = mix(BAND[at.y * SIDE + at.x], BAND[at.y * SIDE + next.x], rest.x);
  let below = mix(BAND[next.y * SIDE + at.x], BAND[next.y * SIDE + next.x], rest.x);
  return mix(above, below, rest.y);
}
"""

# The sum of both bands at a place, in pixels of the picture.
_NOISE = """
fn noise_at(place: vec2<f32>) -> f32 {
  let moved = place + state.rest;
  let whole = floor(moved);
  let corner = vec2<i32>(whole);
  return fine_at(corner, moved - whole) + coarse_at(corner, moved - whole);
}
"""

_SUMMED = """
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= sizes.wide.x * sizes.wide.y) { return; }
  let at = vec2<f32>(vec2<i32>(vec2<u32>(id.x % sizes.wide.x, id.x / sizes.wide.x)) - MARGIN);
  let half = vec2<f32>((sizes.size + 1u) / 2u);
  noise[id.x] = noise_at((at + 0.5) * (vec2<f32>(sizes.size) / half) - 0.5);
}
"""

# A line bends towards the direction halfway to each end.
_COMBED = """
fn axis(row: u32, column: u32) -> vec2<f32> {
  let half = frame.newest * sizes.small.x * sizes.small.y;
  return axes[half + row * sizes.small.x + column];
}

// A unit vector along the axis at a place; one of its two.
fn tangent(place: vec2<f32>) -> vec2<f32> {
  let scale = vec2<f32>(sizes.small) / vec2<f32>(sizes.half_size);
  let there = (place + 0.5) * scale - 0.5;
  let down = taps_at(there.y, sizes.small.y);
  let across = taps_at(there.x, sizes.small.x);
  let above = mix(axis(down.first, across.first), axis(down.first, across.second), across.share);
  let below = mix(axis(down.second, across.first), axis(down.second, across.second),
    across.share);
  let twice = mix(above, below, down.share);
  let far = sqrt(dot(twice, twice));
  if (!(far > 1e-12)) { return vec2<f32>(1.0, 0.0); }
  var along = vec2<f32>(twice.y, far - twice.x);
  if (twice.x > -0.5 * far) { along = vec2<f32>(far + twice.x, twice.y); }
  return along / sqrt(dot(along, along));
}

fn noise_between(place: vec2<f32>) -> f32 {
  let at = place + f32(MARGIN);
  let corner = vec2<u32>(at);
  let rest = at - vec2<f32>(corner);
  let pitch = sizes.half_size.x + 2u * u32(MARGIN);
  let first = corner.y * pitch + corner.x;
  let above = mix(noise[first], noise[first + 1u], rest.x);
  let below = mix(noise[first + pitch], noise[first + pitch + 1u], rest.x);
  return mix(above, below, rest.y);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= sizes.half_size.x * sizes.half_size.y) { return; }
  let place = vec2<f32>(vec2<u32>(id.x % sizes.half_size.x, id.x / sizes.half_size.x));
  let along = tangent(place);
  let steps = f32(frame.steps);
  var sum = noise_between(place);
  for (var side = -1.0; side <= 1.0; side += 2.0) {
    let ahead = side * along;
    var then = tangent(place + ahead * steps / 2.0);
    if (dot(then, ahead) < 0.0) { then = -then; }
    let bend = (then - ahead) / steps;
    for (var k = 1u; k <= frame.steps; k++) {
      let step = f32(k);
      let away = step / (steps + 1.0);
      sum += (1.0 - away * away) * noise_between(place + step * (ahead + step * bend));
    }
  }
  result[id.x] = sum * frame.gain;
}
"""

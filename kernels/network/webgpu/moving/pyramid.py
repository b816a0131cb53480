"""The first shaders of moving: gray cells of a frame, and halves of a gray picture."""

from __future__ import annotations

from functools import cache

from kernels.network.webgpu.areas import AREA_SIZES, area_mean
from kernels.network.webgpu.texture.shared import REFLECTED, floats, shader
from kernels.network.webgpu.wgsl import PICTURE_BITS, Binding, Shader


@cache
def cells() -> Shader:
    """Return the shader that writes the gray means of a frame's cells, a thread for each.

    The frame is [H, W, 3] in bytes. `at` has the first number of the result in `grays`.
    """
    return shader(
        (*AREA_SIZES, "at"),
        (Binding("picture", "read", "array<u32>"), floats("grays", "write")),
        PICTURE_BITS.replace("source", "picture"),
        _CELLS.replace("AREA_MEAN", area_mean("vec3<f32>")),
    )


@cache
def halving() -> Shader:
    """Return the shader that halves a gray picture, a thread for each pixel of the result.

    `at` has the first numbers of the picture and of the result in `grays`.
    """
    return shader(
        ("large", "small", "at"),
        (floats("grays", "write"),),
        REFLECTED,
        _HALVING,
    )


# Colors are rounded like OpenCV's: means of 2x2 pixels half up, others half to even.
_CELLS = """
fn values(pixel: u32) -> vec3<f32> {
  let bits = color_bits(pixel);
  return vec3<f32>(vec3<u32>(bits, bits >> 8u, bits >> 16u) & vec3<u32>(255u));
}
AREA_MEAN
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= sizes.areas.x * sizes.areas.y) { return; }
  let mean = area_mean(id.x);
  let halved = all(sizes.size == 2u * sizes.areas);
  let color = select(clamp(round(mean), vec3<f32>(), vec3<f32>(255.0)), floor(mean + 0.5), halved);
  grays[sizes.at.x + id.x] = 0.299 * color.x + 0.587 * color.y + 0.114 * color.z;
}
"""

# A Gaussian of five pixels, down first.
_HALVING = """
fn gauss(a: f32, b: f32, c: f32, d: f32, e: f32) -> f32 {
  return (a + e) + 4.0 * (b + d) + 6.0 * c;
}
fn level(row: i32, column: i32) -> f32 {
  let size = vec2<i32>(sizes.large);
  return grays[i32(sizes.at.x) + reflected(row, size.y) * size.x + column];
}
fn down(row: i32, far: i32) -> f32 {
  let column = reflected(far, i32(sizes.large.x));
  return gauss(
    level(row - 2, column), level(row - 1, column), level(row, column), level(row + 1, column),
    level(row + 2, column),
  );
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= sizes.small.x * sizes.small.y) { return; }
  let row = 2 * i32(id.x / sizes.small.x);
  let column = 2 * i32(id.x % sizes.small.x);
  let sum = gauss(
    down(row, column - 2), down(row, column - 1), down(row, column), down(row, column + 1),
    down(row, column + 2),
  );
  grays[sizes.at.y + id.x] = sum / 256.0;
}
"""

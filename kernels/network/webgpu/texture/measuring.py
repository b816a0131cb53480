"""The first shaders of texture: means of areas of a frame, as cells and as a small gray copy."""

from __future__ import annotations

from functools import cache

from kernels.network.webgpu.areas import AREA_SIZES, area_mean
from kernels.network.webgpu.texture.shared import floats, shader
from kernels.network.webgpu.wgsl import PICTURE_BITS, Binding, Shader


@cache
def measuring(*, squares: bool) -> Shader:
    """Return the shader that measures the areas of a frame, a thread for each.

    The frame is [H, W, 3] in bytes. With `squares`, the result is [areas] of the mean gray and the
    mean of its squares; otherwise the mean, rounded.
    """
    kind = "vec2<f32>" if squares else "f32"
    kept = "mean" if squares else "clamp(round(mean.x), 0.0, 255.0)"
    return shader(
        AREA_SIZES,
        (Binding("picture", "read", "array<u32>"), floats("result", "write", kind)),
        PICTURE_BITS.replace("source", "picture"),
        _BODY.replace("AREA_MEAN", area_mean("vec2<f32>")).replace("KEPT", kept),
    )


# The gray of OpenCV, with 15 fractional bits.
_BODY = """
fn gray(pixel: u32) -> f32 {
  let bits = color_bits(pixel);
  let color = vec3<u32>(bits, bits >> 8u, bits >> 16u) & vec3<u32>(255u);
  let sum = color.x * 9798u + color.y * 19235u + color.z * 3735u;
  return f32((sum + 16384u) >> 15u);
}

fn values(pixel: u32) -> vec2<f32> {
  let value = gray(pixel);
  return vec2<f32>(value, value * value);
}
AREA_MEAN
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= sizes.areas.x * sizes.areas.y) { return; }
  let mean = area_mean(id.x);
  result[id.x] = KEPT;
}
"""

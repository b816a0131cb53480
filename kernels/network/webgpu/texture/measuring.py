"""The first shaders of texture: means of areas of a frame, as cells and as a small gray copy."""

from __future__ import annotations

from functools import cache

from kernels.network.webgpu.texture.shared import floats, shader
from kernels.network.webgpu.wgsl import PICTURE_BITS, Binding, Shader


@cache
def measuring(*, squares: bool) -> Shader:
    """Return the shader that measures the areas of a frame, a thread for each.

    The frame is [H, W, 3] in bytes. With `squares`, the result is [areas] of the mean gray and the
    mean of its squares; otherwise the mean, rounded.
    """
    kind = "vec2<f32>" if squares else "f32"
    kept = "(sum / weights)" if squares else "clamp(round(sum.x / weights), 0.0, 255.0)"
    return shader(
        ("size", "areas"),
        (Binding("picture", "read", "array<u32>"), floats("result", "write", kind)),
        PICTURE_BITS.replace("source", "picture"),
        _BODY.replace("KEPT", kept),
    )


# The gray of OpenCV, with 15 fractional bits.
_BODY = """
fn gray(pixel: u32) -> f32 {
  let bits = color_bits(pixel);
  let color = vec3<u32>(bits, bits >> 8u, bits >> 16u) & vec3<u32>(255u);
  let sum = color.x * 9798u + color.y * 19235u + color.z * 3735u;
  return f32((sum + 16384u) >> 15u);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= sizes.areas.x * sizes.areas.y) { return; }
  let extent = vec2<f32>(sizes.size) / vec2<f32>(sizes.areas);
  let begin = vec2<f32>(vec2<u32>(id.x % sizes.areas.x, id.x / sizes.areas.x)) * extent;
  let end = begin + extent;
  var sum = vec2<f32>();
  var weights = 0.0;
  for (var y = u32(begin.y); y < sizes.size.y && f32(y) < end.y; y++) {
    let tall = min(end.y, f32(y) + 1.0) - max(begin.y, f32(y));
    if (tall < 1e-3) { continue; }
    for (var x = u32(begin.x); x < sizes.size.x && f32(x) < end.x; x++) {
      let wide = min(end.x, f32(x) + 1.0) - max(begin.x, f32(x));
      if (wide < 1e-3) { continue; }
      let value = gray(y * sizes.size.x + x);
      let weight = tall * wide;
      sum += weight * vec2<f32>(value, value * value);
      weights += weight;
    }
  }
  result[id.x] = KEPT;
}
"""

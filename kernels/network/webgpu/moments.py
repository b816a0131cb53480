"""The norm after a layer: moments in each workgroup, and the shader that merges them.

A workgroup computes the mean and the sum of squared deviations of its part of a result, in two
passes over registers. The second shader merges all parts (Chan et al., 1979).
"""

from __future__ import annotations

from functools import cache

from kernels.network.webgpu.wgsl import BROKEN, RELU, Binding, Reading, Shader, floats, lines

EPS = 1e-5  # the eps of every norm
_THREADS = 128

# The moments of four channels in one part of a result.
MOMENTS = "struct Moments { mean: vec4<f32>, squares: vec4<f32>, count: f32 }"
PARTS = Binding("parts", "write", "array<Moments>")
MOMENTS_BYTES = 48


def summed(memory: str, threads: int, lanes: int) -> str:
    """Return the function `summed`, which adds a value over the threads of a lane.

    A thread's lane is `thread % lanes`. All threads must call `summed`, which overwrites the first
    `threads` vectors of `memory`. `threads / lanes` is a power of two.
    """
    return f"""
fn summed(value: vec4<f32>, thread: u32) -> vec4<f32> {{
  workgroupBarrier();
  {memory}[thread] = value;
  workgroupBarrier();
  for (var step = {threads // 2}u; step >= {lanes}u; step /= 2u) {{
    if (thread < step) {{ {memory}[thread] += {memory}[thread + step]; }}
    workgroupBarrier();
  }}
  return {memory}[thread % {lanes}u];
}}
"""


_BODY = """
var<workgroup> sums: array<vec4<f32>, {threads}>;

@compute @workgroup_size({threads})
fn main(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32
) {{
  let c = group.x;
  let count = f32(sizes.counts.y);
  var sum = vec4<f32>();
  for (var i = thread; i < sizes.counts.x; i += {threads}u) {{
    let part = parts[i * {quads}u + c];
    sum = fma(part.mean, vec4<f32>(part.count), sum);
  }}
  let mean = summed(sum, thread) / count;
  sum = vec4<f32>();
  for (var i = thread; i < sizes.counts.x; i += {threads}u) {{
    let part = parts[i * {quads}u + c];
    let apart = part.mean - mean;
    sum += fma(apart * apart, vec4<f32>(part.count), part.squares);
  }}
  let variance = summed(sum, thread) / count;
  if (thread > 0u) {{ return; }}
  let scale = affine[2u * c] / sqrt(variance + vec4<f32>({eps}));
  let shift = fma(-mean, scale, affine[2u * c + 1u]);
  let first = fma(vec4<f32>(source[c]), scale, shift);
  norm[3u * c] = scale;
  norm[3u * c + 1u] = shift;
  norm[3u * c + 2u] = select({center}, shift, broken(shift));
}}
"""


@cache
def merging(channels: int, following: Reading, half: bool) -> Shader:
    """Return the shader that computes a norm from the moments of all parts of a layer's result.

    It writes three vectors for each four channels: scale, shift, and the first pixel of the next
    layer's input, which that layer subtracts (see reader). If the result has a pixel that is not
    finite, so is the shift, and it takes the place of the first pixel: subtracting it spoils the
    whole channel. `affine`, the style's, has the weight and the bias of the norm. `counts` are the
    parts and the pixels.
    """
    of_floats = f"array<{floats(half)}>"
    added = following is Reading.RESIDUAL
    buffers = (
        Binding("parts", "read", "array<Moments>"),
        Binding("source", "read", of_floats),
        *([Binding("trunk", "read", of_floats)] if added else []),
        Binding("norm", "write", "array<vec4<f32>>"),
    )
    center = "first + vec4<f32>(trunk[c])" if added else "relu(first)"
    body = _BODY.format(threads=_THREADS, quads=channels // 4, eps=EPS, center=center)
    return Shader(
        sizes=("counts",),
        buffers=buffers,
        weights=Binding("affine", "read", "array<vec4<f32>>"),
        threads=_THREADS,
        vectors=_THREADS,
        body=lines([MOMENTS, BROKEN, RELU, summed("sums", _THREADS, 1), body]),
        half=half,
    )

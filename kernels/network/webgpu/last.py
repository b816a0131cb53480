"""The last layer: a large filter to three colors, as bytes or numbers.

A thread computes pixels of one column. Each input row of its column meets all filters of its pixels
at once, and the filters of a column of taps stay in registers.
"""

from __future__ import annotations

from functools import cache
from string import Template

from kernels.network.webgpu.wgsl import (
    BROKEN,
    EDGES,
    MAX_MEMORY,
    Binding,
    Reading,
    Shader,
    constants,
    lines,
    reader,
    sources,
    unrolled,
)

_WIDTH, _ROWS = 16, 4  # threads of a workgroup, across and down
_UNIFORM_BYTES = 65536  # of a uniform buffer, which WebGPU promises everywhere


def groups(side: int, size: tuple[int, int]) -> tuple[int, int, int]:
    """Return the workgroups for a picture of a width and height."""
    wide, high = size
    return -(-wide // _WIDTH), -(-high // (_ROWS * _pixels(side))), 1


def limits_bytes(side: int, size: tuple[int, int]) -> int:
    """Return the bytes behind a picture of bytes: two numbers for each workgroup."""
    across, down, _ = groups(side, size)
    return 8 * across * down


def filters_are_uniform(inputs: int, side: int) -> bool:
    """Return whether the filters fit into a uniform buffer, which GPUs read faster."""
    return 16 * (side * side * inputs // 4 * 3 + 1) <= _UNIFORM_BYTES


@cache
def last(inputs: int, side: int, in_bytes: bool, half: bool) -> Shader:
    """Return the shader of the last layer.

    Its workgroups are the tiles of a picture; `share` has the first row of them in a run, and all
    rows. Filters, in FP32, are [inputs / 4, columns, rows, 3]
    vectors of four inputs, and one vector with the bias. The result has rows of `pitch` pixels, a
    multiple of four: three bytes for each pixel, or three FP32 numbers. Bytes are followed by the
    least and the greatest number of each workgroup before rounding, as FP32; both are NaN if one of
    its numbers is not finite.
    """
    pixels = _pixels(side)
    wide, high = _halo(side, pixels)
    uniform = filters_are_uniform(inputs, side)
    vectors = side * side * inputs // 4 * 3 + 1
    values = constants(
        side=side, width=_WIDTH, rows=pixels, threads=_WIDTH * _ROWS, halo_width=wide,
        bias=vectors - 1, height=_ROWS * pixels,
    )  # fmt: skip
    body = Template(_BODY).substitute(
        halo=wide * high,
        sums=lines(f"  var sum{pixel} = vec3<f32>();" for pixel in range(pixels)),
        load=unrolled(wide * high, _WIDTH * _ROWS, _LOAD),
        filters=lines(
            f"      let w{y}_{color} = filters[row + {3 * y + color}u];"
            for y in range(side)
            for color in range(3)
        ),
        multiply=lines(_row(row, side, pixels) for row in range(pixels + side - 1)),
        keep=lines(
            f"  halo[first + {pixel}u * WIDTH] = bias + vec4<f32>(sum{pixel}, 0.0);"
            for pixel in range(pixels)
        ),
        write=_BYTES if in_bytes else _NUMBERS,
    )
    count = f"array<vec4<f32>, {vectors}>" if uniform else "array<vec4<f32>>"
    return Shader(
        sizes=("size", "real", "share"),
        buffers=(
            *sources(Reading.RELU, half),
            Binding("result", "write", "array<u32>" if in_bytes else "array<f32>"),
        ),
        weights=Binding("filters", "uniform" if uniform else "read", count),
        threads=_WIDTH * _ROWS,
        vectors=wide * high,
        body=lines([values, EDGES, reader(Reading.RELU, inputs), BROKEN, _ROUNDED, _LIMITS, body]),
        half=half,
    )


def _pixels(side: int) -> int:
    """Return the pixels of a thread: eight, or as many as a workgroup's memory holds."""
    pixels = 8
    while True:
        wide, high = _halo(side, pixels)
        if 16 * wide * high <= MAX_MEMORY:
            return pixels
        pixels //= 2


def _halo(side: int, pixels: int) -> tuple[int, int]:
    return _WIDTH + side - 1, _ROWS * pixels + side - 1


def _row(row: int, side: int, pixels: int) -> str:
    """Add the products of one input row to all pixels of the thread that it belongs to."""
    code = [f"      let x{row} = halo[at + {row}u * HALO_WIDTH];"]
    for pixel in range(max(0, row - side + 1), min(pixels, row + 1)):
        for color in range(3):
            product = f"sum{pixel}.{'xyz'[color]}"
            weight = f"w{row - pixel}_{color}"
            for lane in "wzyx":
                product = f"fma(x{row}.{lane}, {weight}.{lane}, {product})"
            code.append(f"      sum{pixel}.{'xyz'[color]} = {product};")
    return lines(code)


_BODY = """
var<workgroup> halo: array<vec4<f32>, $halo>;

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32
) {
  let across = thread % WIDTH;
  let down = thread / WIDTH * ROWS;
  let tile = group.xy + vec2<u32>(0u, sizes.share.x);
  let corner = tile * vec2<u32>(WIDTH, HEIGHT);
  let begin = vec2<i32>(corner) - i32(SIDE / 2u);
$sums
  var spoiled = vec4<f32>();  // not finite if a channel is not
  for (var c = 0u; c < SOURCE_QUADS; c++) {
    spoiled += select(vec4<f32>(), norm[3u * c + 1u], broken(norm[3u * c + 1u]));
    workgroupBarrier();
$load
    workgroupBarrier();
    for (var column = 0u; column < SIDE; column++) {
      let at = down * HALO_WIDTH + across + column;
      let row = (c * SIDE + column) * 3u * SIDE;
$filters
$multiply
    }
  }
  workgroupBarrier();
  let first = down * WIDTH + across;
  let bias = filters[BIAS] + dot(spoiled, vec4<f32>(1.0));
$keep
  workgroupBarrier();
$write
}
"""

_LOAD = """
      let near = vec2<u32>(i % HALO_WIDTH, i / HALO_WIDTH);
      let at = vec2<u32>(reflected(begin + vec2<i32>(near), sizes.size));
      halo[i] = load(at.y * sizes.size.x + at.x, c);
"""

# A NaN becomes 0.
_ROUNDED = """
fn rounded(color: vec4<f32>) -> u32 {
  let value = min(round(color.xyz), vec3<f32>(255.0));
  let byte = vec3<u32>(select(vec3<f32>(), value, color.xyz > vec3<f32>()));
  return byte.x | (byte.y << 8u) | (byte.z << 16u);
}
"""

# The least and the greatest number of some colors. `spoiled` is 1 if one is not finite.
_LIMITS = """
struct Limits { least: f32, most: f32, spoiled: f32 }
fn wider(limits: Limits, color: vec4<f32>) -> Limits {
  let c = color.xyz;
  return Limits(
    min(limits.least, min(c.x, min(c.y, c.z))), max(limits.most, max(c.x, max(c.y, c.z))),
    select(limits.spoiled, 1.0, any(broken(color).xyz)),
  );
}
"""

# A thread packs four pixels into three words, so that threads share no word. The first pixel of
# them is always in the picture.
_BYTES = """
  let pitch = (sizes.real.x + 3u) / 4u;
  var limits = Limits(3.4028234e38, -3.4028234e38, 0.0);
  for (var i = thread; i < WIDTH / 4u * HEIGHT; i += THREADS) {
    let inner = vec2<u32>(i % (WIDTH / 4u) * 4u, i / (WIDTH / 4u));
    let place = corner + inner;
    if (any(place >= sizes.real)) { continue; }
    let at = inner.y * WIDTH + inner.x;
    for (var n = 0u; n < min(4u, sizes.real.x - place.x); n++) {
      limits = wider(limits, halo[at + n]);
    }
    let first = rounded(halo[at]);
    let second = rounded(halo[at + 1u]);
    let third = rounded(halo[at + 2u]);
    let fourth = rounded(halo[at + 3u]);
    let to = (place.y * pitch + place.x / 4u) * 3u;
    result[to] = first | (second << 24u);
    result[to + 1u] = (second >> 8u) | (third << 16u);
    result[to + 2u] = (third >> 16u) | (fourth << 8u);
  }
  workgroupBarrier();
  halo[thread] = vec4<f32>(limits.least, limits.most, limits.spoiled, 0.0);
  workgroupBarrier();
  for (var step = THREADS / 2u; step > 0u; step /= 2u) {
    if (thread < step) {
      let own = halo[thread];
      let other = halo[thread + step];
      halo[thread] = vec4<f32>(min(own.x, other.x), max(own.yz, other.yz), 0.0);
    }
    workgroupBarrier();
  }
  if (thread == 0u) {
    let bits = select(bitcast<vec2<u32>>(halo[0].xy), vec2<u32>(0x7fc00000u), halo[0].z > 0.0);
    let to = (sizes.real.y * pitch * 3u) + 2u * (tile.y * groups.x + tile.x);
    result[to] = bits.x;
    result[to + 1u] = bits.y;
  }
"""

_NUMBERS = """
  let pitch = (sizes.real.x + 3u) / 4u * 4u;
  for (var i = thread; i < WIDTH * HEIGHT; i += THREADS) {
    let place = corner + vec2<u32>(i % WIDTH, i / WIDTH);
    if (any(place >= sizes.real)) { continue; }
    let to = (place.y * pitch + place.x) * 3u;
    result[to] = halo[i].x;
    result[to + 1u] = halo[i].y;
    result[to + 2u] = halo[i].z;
  }
"""

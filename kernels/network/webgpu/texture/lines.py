"""The shaders that find the axes of strokes, vectors of twice the angle of a line.

They are as in kernels/frames/native/combing.h, and blur along rows and then along columns.
"""

from __future__ import annotations

from functools import cache

from kernels.frames.combing import BLURS, LEAN, MODES, ONE_WAY, tensor_taps
from kernels.network.webgpu.texture.shared import (
    FRAME,
    REFLECTED,
    STATE,
    TAPS,
    floats,
    shader,
)
from kernels.network.webgpu.wgsl import Shader, lines
from utils.stroke_directions import FOLLOW, HAND, SWIRL


@cache
def line_blur() -> Shader:
    """Return the shader that blurs the axes of the small copy's lines along rows.

    It writes both blurs of an axis as a vector.
    """
    return shader(
        ("small",),
        (floats("gray"), floats("result", "write", "vec4<f32>")),
        REFLECTED,
        """
fn level(row: i32, column: i32) -> f32 {
  let size = vec2<i32>(sizes.small);
  let at = clamp(vec2<i32>(column, row), vec2<i32>(), size - 1);
  return gray[at.y * size.x + at.x];
}
fn line(row: i32, far: i32) -> vec4<f32> {
  let column = reflected(far, i32(sizes.small.x));
  let right = (level(row, column + 1) - level(row, column - 1)) * 0.5;
  let down = (level(row + 1, column) - level(row - 1, column)) * 0.5;
  return vec2<f32>(down * down - right * right, -2.0 * right * down).xyxy;
}
""",
        _begin("small"),
        _blur("(line(row, column - {k}) + line(row, column + {k}))"),
        "  result[id.x] = sum;\n}\n",
    )


@cache
def axes() -> Shader:
    """Return the shader that writes the axes of a frame's strokes, [small height, small width].

    The buffer has the axes of two frames by turns. Axes that follow the picture are averaged with
    the axes of the frame before, moved with the scene.
    """
    modes = "\n".join(
        f"const {name} = {mode}u;"
        for name, mode in (
            *(("FOLLOW", MODES[FOLLOW]), ("SWIRL", MODES[SWIRL])),
            *(("HAND", MODES[HAND]), ("ONE_WAY", ONE_WAY)),
        )
    )
    return shader(
        ("size", "small"),
        (
            floats("lines", kind="vec4<f32>"),
            floats("axes", "write", "vec2<f32>"),
            STATE,
            FRAME,
        ),
        modes,
        f"const LEAN = vec2<f32>({LEAN[0]}, {LEAN[1]});",
        REFLECTED,
        TAPS,
        _FOLLOWED,
        "fn followed(row: i32, column: i32) -> vec2<f32> {\n",
        _blur("(line(row - {k}, column) + line(row + {k}, column))"),
        "  return averaged(row, column, sum.xy + 0.05 * sum.zw + 0.02 * LEAN);\n}",
        _SWIRL,
        _HANDLED,
        _begin("small"),
        _AXES,
    )


def _begin(size: str) -> str:
    return f"""
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  if (id.x >= sizes.{size}.x * sizes.{size}.y) {{ return; }}
  let row = i32(id.x / sizes.{size}.x);
  let column = i32(id.x % sizes.{size}.x);"""


def _blur(pair: str) -> str:
    """Add each pair of axes at a distance of the middle; the blurs differ in their reach."""
    reach = BLURS[0][1]
    taps = [float(tap) for tap in tensor_taps()]
    narrow, wide = taps[: reach + 1], taps[reach + 1 :]

    def weight(k: int) -> str:
        close, far = narrow[k] if k <= reach else 0.0, wide[k]
        return f"vec4<f32>({close!r}, {close!r}, {far!r}, {far!r})"

    code = [f"  var sum = {weight(0)} * line(row, column);"]
    code += [f"  sum += {weight(k)} * {pair.format(k=k)};" for k in range(1, len(wide))]
    return lines(code)


_FOLLOWED = """
fn line(far: i32, column: i32) -> vec4<f32> {
  let size = vec2<i32>(sizes.small);
  return lines[reflected(far, size.y) * size.x + column];
}
fn before(row: u32, column: u32) -> vec2<f32> {
  let half = (1u - frame.newest) * sizes.small.x * sizes.small.y;
  return axes[half + row * sizes.small.x + column];
}
fn averaged(row: i32, column: i32, axis: vec2<f32>) -> vec2<f32> {
  if (frame.averages == 0u || state.followed == 0u) { return axis; }
  let by = state.shift * vec2<f32>(sizes.small) / vec2<f32>(sizes.size);
  let down = taps_at(f32(row) - by.y, sizes.small.y);
  let across = taps_at(f32(column) - by.x, sizes.small.x);
  let above = mix(before(down.first, across.first), before(down.first, across.second),
    across.share);
  let below = mix(before(down.second, across.first), before(down.second, across.second),
    across.share);
  return 0.85 * mix(above, below, down.share) + (1.0 - 0.85) * axis;
}
"""

# Eddies around centers that move with the scene: the contour lines of three waves.
_SWIRL = """
fn swirl(row: i32, column: i32) -> vec2<f32> {
  let unit = 6.2831853 / f32(max(sizes.size.x, sizes.size.y));
  let there = vec2<f32>(vec2<i32>(column, row)) + 0.5;
  let scale = vec2<f32>(sizes.size) / vec2<f32>(sizes.small);
  let at = unit * (there * scale - state.offset.part - vec2<f32>(state.offset.whole));
  let a = cos(1.3 * at.x + 0.9 * at.y);
  let b = cos(-1.1 * at.x + 1.7 * at.y + 1.0);
  let c = cos(2.3 * at.x - 0.4 * at.y + 2.0);
  let right = 1.3 * a - 1.1 * b + 1.6 * c;
  let down = 0.9 * a + 1.7 * b - 0.3 * c;
  return vec2<f32>(down * down - right * right + 0.02, -2.0 * right * down);
}
"""

# The mean axis of the handles, of which nearer ones weigh more. Where they cancel each other out,
# the axis turns by way of another one.
_HANDLED = """
fn handled(row: i32, column: i32) -> vec2<f32> {
  let there = (vec2<f32>(vec2<i32>(column, row)) + 0.5) / vec2<f32>(sizes.small);
  let size = vec2<f32>(sizes.size);
  var sum = vec2<f32>();
  var weights = 0.0;
  for (var i = 0u; i < frame.count; i++) {
    let handle = frame.handles[i];
    let by = (there - handle.xy) * (size / max(size.x, size.y));
    let away = dot(by, by) + 0.08 * 0.08;
    let weight = 1.0 / (away * away);
    sum += weight * handle.zw;
    weights += weight;
  }
  sum /= weights;
  return sum + 0.5 * (1.0 - dot(sum, sum)) * frame.between;
}
"""

_AXES = """
  var axis = frame.between;
  if (frame.mode == FOLLOW) {
    axis = followed(row, column);
  } else if (frame.mode == SWIRL) {
    axis = swirl(row, column);
  } else if (frame.mode == HAND) {
    axis = handled(row, column);
  }
  axes[frame.newest * sizes.small.x * sizes.small.y + id.x] = axis;
}
"""

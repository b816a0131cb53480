"""The shaders that find the flat parts of a frame from its cells, by blurs along rows and down."""

from __future__ import annotations

from functools import cache

from kernels.frames.noise import WINDOWS, taps
from kernels.network.webgpu.texture.shared import REFLECTED, floats, shader
from kernels.network.webgpu.wgsl import Shader, lines

REACHES = 5, 14  # of both blurs, in cells
FLAT = 18.0  # levels: parts that deviate this much get no texture


@cache
def across() -> Shader:
    """Return the shader that blurs cells [rows, columns] along rows.

    Both blurs of the mean and of the mean square are a vector.
    """
    return shader(
        ("cells",),
        (floats("source", kind="vec2<f32>"), floats("result", "write", "vec4<f32>")),
        REFLECTED,
        """
fn cell(row: i32, column: i32) -> vec4<f32> {
  let size = vec2<i32>(sizes.cells);
  return source[row * size.x + reflected(column, size.x)].xyxy;
}
""",
        _BODY.replace("BLUR", _blur("(cell(row, column - {k}) + cell(row, column + {k}))")),
        "  result[id.x] = sum;\n}\n",
    )


@cache
def down() -> Shader:
    """Return the shader that blurs along columns, and writes 1 for cells that are flat."""
    return shader(
        ("cells",),
        (floats("source", kind="vec4<f32>"), floats("result", "write")),
        REFLECTED,
        """
fn cell(row: i32, column: i32) -> vec4<f32> {
  let size = vec2<i32>(sizes.cells);
  return source[reflected(row, size.y) * size.x + column];
}
""",
        _BODY.replace("BLUR", _blur("(cell(row - {k}, column) + cell(row + {k}, column))")),
        f"""
  let variance = max(sum.yw - sum.xz * sum.xz, vec2<f32>());
  let deviation = sqrt(max(variance.x, variance.y));
  result[id.x] = clamp(1.0 - deviation / {FLAT}, 0.0, 1.0);
}}
""",
    )


def _blur(pair: str) -> str:
    """Add each pair of cells at a distance of the middle; the blurs differ in their reach."""
    close, wide = (taps(*each) for each in zip(WINDOWS, REACHES, strict=True))
    code = [f"  var sum = {_weight(close[0], wide[0])} * cell(row, column);"]
    for k in range(1, max(REACHES) + 1):
        weight = _weight(close[k] if k <= REACHES[0] else 0.0, wide[k])
        code.append(f"  sum += {weight} * {pair.format(k=k)};")
    return lines(code)


def _weight(close: float, wide: float) -> str:
    each = float(close), float(close), float(wide), float(wide)
    return f"vec4<f32>{each!r}"


_BODY = """
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= sizes.cells.x * sizes.cells.y) { return; }
  let row = i32(id.x / sizes.cells.x);
  let column = i32(id.x % sizes.cells.x);
BLUR
"""

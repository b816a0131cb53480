"""Describes a compute shader, and writes the WGSL that all shaders share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

Access = Literal["uniform", "read", "write"]

MAX_THREADS = 256  # of a workgroup, and its bytes of memory: WebGPU promises both everywhere
MAX_MEMORY = 16384
MAX_GROUPS = 65535  # workgroups in one dimension; WebGPU promises them too


class Binding(NamedTuple):
    """A buffer of a shader: its name and type in WGSL, and the shader's access to it."""

    name: str
    access: Access
    type: str


@dataclass(frozen=True, slots=True)
class Shader:
    """A compute shader with the entry point `main`.

    Attributes:
        sizes: Names of the fields of its uniform `sizes`, which is binding 0 of group 0. A field
            is a pair of u32, such as a width and a height.
        buffers: The next bindings of group 0, which belong to a plan.
        weights: The only binding of group 1, which belongs to a style; None without weights.
        threads: Threads of a workgroup.
        vectors: Vectors of four FP32 numbers in a workgroup's memory.
        body: WGSL after the declarations.
        half: Whether the code uses f16.
    """

    sizes: tuple[str, ...]
    buffers: tuple[Binding, ...]
    weights: Binding | None
    threads: int
    vectors: int
    body: str
    half: bool = False

    def __post_init__(self) -> None:
        assert self.threads <= MAX_THREADS, self.threads
        assert 16 * self.vectors <= MAX_MEMORY, self.vectors

    @property
    def code(self) -> str:
        fields = ", ".join(f"{name}: vec2<u32>" for name in self.sizes)
        declared = [
            *(["enable f16;"] if self.half else []),
            f"struct Sizes {{ {fields} }}",
            _declaration(0, 0, Binding("sizes", "uniform", "Sizes")),
            *(_declaration(0, number, each) for number, each in enumerate(self.buffers, 1)),
            *([] if self.weights is None else [_declaration(1, 0, self.weights)]),
        ]
        return "\n".join([*declared, self.body])


class Reading(Enum):
    """How a layer computes its input from the raw result of the layer before.

    PICTURE and NUMBERS read three colors, as bytes or as FP32. RELU applies a norm and a ReLU,
    RESIDUAL a norm, and adds the trunk of the residual blocks.
    """

    PICTURE = "picture"
    NUMBERS = "numbers"
    RELU = "relu"
    RESIDUAL = "residual"

    @property
    def is_picture(self) -> bool:
        return self in (Reading.PICTURE, Reading.NUMBERS)


def floats(half: bool) -> str:
    """Return the type of four channels in a buffer."""
    return "vec4<f16>" if half else "vec4<f32>"


def constants(**values: int) -> str:
    """Return declarations of u32 constants."""
    return "\n".join(f"const {name.upper()} = {value}u;" for name, value in values.items())


def unrolled(count: int, threads: int, body: str) -> str:
    """Return code that runs `body` for `i` from 0 to `count` on a workgroup's threads.

    The steps are unrolled, so that a GPU overlaps the loads of all of them.
    """
    steps: list[str] = []
    for start in range(0, count, threads):
        whole = start + threads <= count
        guarded = body if whole else f"if (i < {count}u) {{ {body} }}"
        steps.append(f"{{ let i = thread + {start}u; {guarded} }}")
    return "\n".join(steps)


def lines(code: Iterable[str]) -> str:
    """Return lines of unrolled code."""
    return "\n".join(code)


# The pixels that stand for pixels beyond an edge. The clamp bounds the indexes of pixels that no
# result needs.
EDGES = """
fn reflected(at: vec2<i32>, size: vec2<u32>) -> vec2<i32> {
  let last = vec2<i32>(size) - 1;
  return clamp(last - abs(last - abs(at)), vec2<i32>(), last);
}
fn replicated(at: vec2<i32>, size: vec2<u32>) -> vec2<i32> {
  return clamp(at, vec2<i32>(), vec2<i32>(size) - 1);
}
"""

# Compilers may assume that every number is finite, drop comparisons with NaN, and compute a ReLU by
# max(), which makes a NaN 0. They keep tests of bits.
BROKEN = """
fn broken(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u);
}
"""

# A NaN may become 0; the norm's center then keeps it, see moments.
RELU = """
fn relu(x: vec4<f32>) -> vec4<f32> {
  return select(x, vec4<f32>(), x < vec4<f32>());
}
"""

# The bits of a pixel of bytes: red is in the lowest ones.
PICTURE_BITS = """
fn color_bits(pixel: u32) -> u32 {
  let byte = pixel * 3u;
  let shift = 8u * (byte & 3u);
  var bits = source[byte >> 2u] >> shift;
  if (shift > 8u) { bits |= source[(byte >> 2u) + 1u] << (32u - shift); }
  return bits;
}
"""

_PICTURE = (
    PICTURE_BITS
    + """
fn load(pixel: u32, c: u32) -> vec4<f32> {
  let bits = color_bits(pixel);
  let color = vec3<u32>(bits, bits >> 8u, bits >> 16u) & vec3<u32>(255u);
  return vec4<f32>(vec3<f32>(color), 0.0);
}
fn center(c: u32) -> vec4<f32> { return load(0u, 0u); }
"""
)

_NUMBERS = """
fn load(pixel: u32, c: u32) -> vec4<f32> {
  let at = pixel * 3u;
  return vec4<f32>(source[at], source[at + 1u], source[at + 2u], 0.0);
}
fn center(c: u32) -> vec4<f32> { return load(0u, 0u); }
"""

_NORMED = """
fn normed(pixel: u32, c: u32) -> vec4<f32> {
  return fma(vec4<f32>(source[pixel * SOURCE_QUADS + c]), norm[3u * c], norm[3u * c + 1u]);
}
fn center(c: u32) -> vec4<f32> { return norm[3u * c + 2u]; }
"""

_ADDED = """
fn load(pixel: u32, c: u32) -> vec4<f32> {
  return normed(pixel, c) + vec4<f32>(trunk[pixel * SOURCE_QUADS + c]);
}
"""

_ACTIVATED = """
fn load(pixel: u32, c: u32) -> vec4<f32> {
  return relu(normed(pixel, c));
}
"""


def reader(reading: Reading, inputs: int) -> str:
    """Return the functions `load` and `center`, of four input channels.

    `load(pixel, c)` returns the layer's input, and `center(c)` its first pixel.
    """
    if reading.is_picture:
        return _PICTURE if reading is Reading.PICTURE else _NUMBERS
    normed = constants(source_quads=inputs // 4) + _NORMED
    return normed + (_ADDED if reading is Reading.RESIDUAL else RELU + _ACTIVATED)


def sources(reading: Reading, half: bool) -> tuple[Binding, ...]:
    """Return the buffers that `reader` reads."""
    if reading.is_picture:
        element = "u32" if reading is Reading.PICTURE else "f32"
        return (Binding("source", "read", f"array<{element}>"),)
    of_floats = f"array<{floats(half)}>"
    trunk = [Binding("trunk", "read", of_floats)] if reading is Reading.RESIDUAL else []
    norm = Binding("norm", "read", "array<vec4<f32>>")
    return Binding("source", "read", of_floats), norm, *trunk


def _declaration(group: int, number: int, binding: Binding) -> str:
    kinds = {"uniform": "uniform", "read": "storage, read", "write": "storage, read_write"}
    where = f"@group({group}) @binding({number})"
    return f"{where} var<{kinds[binding.access]}> {binding.name}: {binding.type};"

"""Winograd's F(4x4, 3x3), by which three shaders compute the 3x3 convolution of residual blocks.

transform_in transforms tiles of the input, product multiplies each of their 36 positions by its
filters, and transform_out transforms the products to tiles of the result (Lavin and Gray, 2016,
arXiv:1509.09308). The points are 0, +-A, +-B and infinity, as in kernels/network/cpu/transforms.h.
"""

from __future__ import annotations

from collections.abc import Sequence

OUTPUTS, SIDE = 4, 6  # pixels of a tile's result and of its input, across and down
POSITIONS = SIDE * SIDE

POINTS = """
const A = 0.70710678118654752;
const B = 1.41421356237309505;
const A2 = 0.5;
const B2 = 2.0;
"""


def input_transform(x: Sequence[str], to: Sequence[str]) -> str:
    """Return code that transforms six variables `x` to six new ones."""
    even_a, odd_a, even_b, odd_b = (f"{to[0]}_{name}" for name in ("ea", "oa", "eb", "ob"))
    return f"""
  let {even_a} = {x[4]} - B2 * {x[2]}; let {odd_a} = {x[3]} - B2 * {x[1]};
  let {even_b} = {x[4]} - A2 * {x[2]}; let {odd_b} = {x[3]} - A2 * {x[1]};
  let {to[0]} = {x[0]} + {x[4]} - (A2 + B2) * {x[2]};
  let {to[1]} = {even_a} + A * {odd_a}; let {to[2]} = {even_a} - A * {odd_a};
  let {to[3]} = {even_b} + B * {odd_b}; let {to[4]} = {even_b} - B * {odd_b};
  let {to[5]} = {x[1]} + {x[5]} - (A2 + B2) * {x[3]};"""


def output_transform(m: Sequence[str], to: Sequence[str]) -> str:
    """Return code that transforms six products `m` to four new variables."""
    sum_a, apart_a, sum_b, apart_b = (f"{to[0]}_{name}" for name in ("sa", "da", "sb", "db"))
    return f"""
  let {sum_a} = {m[1]} + {m[2]}; let {apart_a} = {m[1]} - {m[2]};
  let {sum_b} = {m[3]} + {m[4]}; let {apart_b} = {m[3]} - {m[4]};
  let {to[0]} = {m[0]} + {sum_a} + {sum_b};
  let {to[1]} = A * {apart_a} + B * {apart_b};
  let {to[2]} = A2 * {sum_a} + B2 * {sum_b};
  let {to[3]} = A * A2 * {apart_a} + B * B2 * {apart_b} + {m[5]};"""

"""Winograd's transforms, by which three shaders compute a convolution.

transform_in transforms tiles of the input, product multiplies each of their positions by its
filters, and transform_out transforms the products to tiles of the result (Lavin and Gray, 2016,
arXiv:1509.09308). The points are the same as in kernels/network/cpu/transforms.h.

The 3x3 convolution of residual blocks uses F(4x4, 3x3). An enlarging layer has a 2x2 filter for
each of four phases and uses F(4x4, 2x2). Pixel q of a phase reads pixels q - 1 and q of the input,
so that all phases share one transformed tile. Phase (a, b) of pixel (y, x) is at
(2y - a, 2x - b) of the result: a second phase begins one pixel before the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

OUTPUTS = 4  # pixels of a tile's result, across and down, in each phase

Code = Callable[[Sequence[str], Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform of tiles.

    Attributes:
        side: Pixels of a tile's input, across and down; it begins one pixel before the result.
        scale: 2 if the layer enlarges, otherwise 1.
        points: Constants in WGSL.
        input: Returns code that transforms `side` variables to as many new ones.
        output: Returns code that transforms `side` products to OUTPUTS new variables.
    """

    side: int
    scale: int
    points: str
    input: Code
    output: Code

    @property
    def positions(self) -> int:
        return self.side**2

    @property
    def phases(self) -> int:
        return self.scale**2

    def tiles(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return the tiles across and down for an input of a width and height."""
        wide, high = size
        if self.scale > 1:  # the phases need one pixel more
            return wide // OUTPUTS + 1, high // OUTPUTS + 1
        return -(-wide // OUTPUTS), -(-high // OUTPUTS)


def _plain_input(x: Sequence[str], to: Sequence[str]) -> str:
    even_a, odd_a, even_b, odd_b = (f"{to[0]}_{name}" for name in ("ea", "oa", "eb", "ob"))
    return f"""
  let {even_a} = {x[4]} - B2 * {x[2]}; let {odd_a} = {x[3]} - B2 * {x[1]};
  let {even_b} = {x[4]} - A2 * {x[2]}; let {odd_b} = {x[3]} - A2 * {x[1]};
  let {to[0]} = {x[0]} + {x[4]} - (A2 + B2) * {x[2]};
  let {to[1]} = {even_a} + A * {odd_a}; let {to[2]} = {even_a} - A * {odd_a};
  let {to[3]} = {even_b} + B * {odd_b}; let {to[4]} = {even_b} - B * {odd_b};
  let {to[5]} = {x[1]} + {x[5]} - (A2 + B2) * {x[3]};"""


def _plain_output(m: Sequence[str], to: Sequence[str]) -> str:
    sum_a, apart_a, sum_b, apart_b = (f"{to[0]}_{name}" for name in ("sa", "da", "sb", "db"))
    return f"""
  let {sum_a} = {m[1]} + {m[2]}; let {apart_a} = {m[1]} - {m[2]};
  let {sum_b} = {m[3]} + {m[4]}; let {apart_b} = {m[3]} - {m[4]};
  let {to[0]} = {m[0]} + {sum_a} + {sum_b};
  let {to[1]} = A * {apart_a} + B * {apart_b};
  let {to[2]} = A2 * {sum_a} + B2 * {sum_b};
  let {to[3]} = A * A2 * {apart_a} + B * B2 * {apart_b} + {m[5]};"""


def _enlarging_input(x: Sequence[str], to: Sequence[str]) -> str:
    even_a, odd_a, even_b, odd_b = (f"{to[0]}_{name}" for name in ("ea", "oa", "eb", "ob"))
    return f"""
  let {even_a} = {x[2]} - B2 * {x[0]}; let {odd_a} = {x[3]} - B2 * {x[1]};
  let {even_b} = {x[2]} - A2 * {x[0]}; let {odd_b} = {x[3]} - A2 * {x[1]};
  let {to[0]} = {odd_a} + A * {even_a}; let {to[1]} = {odd_a} - A * {even_a};
  let {to[2]} = {odd_b} + B * {even_b}; let {to[3]} = {odd_b} - B * {even_b};
  let {to[4]} = {x[4]} - (A2 + B2) * {x[2]} + A2 * B2 * {x[0]};"""


def _enlarging_output(m: Sequence[str], to: Sequence[str]) -> str:
    sum_a, apart_a, sum_b, apart_b = (f"{to[0]}_{name}" for name in ("sa", "da", "sb", "db"))
    return f"""
  let {sum_a} = {m[0]} + {m[1]}; let {apart_a} = {m[0]} - {m[1]};
  let {sum_b} = {m[2]} + {m[3]}; let {apart_b} = {m[2]} - {m[3]};
  let {to[0]} = {sum_a} + {sum_b};
  let {to[1]} = A * {apart_a} + B * {apart_b};
  let {to[2]} = A2 * {sum_a} + B2 * {sum_b};
  let {to[3]} = A * A2 * {apart_a} + B * B2 * {apart_b} + {m[4]};"""


PLAIN = Transform(  # at 0, +-A, +-B and infinity
    side=6,
    scale=1,
    points="""
const A = 0.70710678118654752;
const B = 1.41421356237309505;
const A2 = 0.5;
const B2 = 2.0;
""",
    input=_plain_input,
    output=_plain_output,
)

ENLARGING = Transform(  # at +-A, +-B and infinity
    side=5,
    scale=2,
    points="""
const A = 0.5;
const B = 1.25;
const A2 = 0.25;
const B2 = 1.5625;
""",
    input=_enlarging_input,
    output=_enlarging_output,
)


def transform_of(*, enlarges: bool) -> Transform:
    """Return the transform of a layer that enlarges, or of a 3x3 convolution."""
    return ENLARGING if enlarges else PLAIN

"""Whole numbers that a page computes from a picture's width and height."""

from __future__ import annotations


class Formula:
    """An expression of JavaScript, which arithmetic with whole numbers extends.

    Code that lays out buffers and workgroups for a size computes with formulas as with ints.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __neg__(self) -> Formula:
        return Formula(f"-({self.text})")

    def __add__(self, other: Formula | int) -> Formula:
        return Formula(f"({self.text} + {other})")

    def __mul__(self, other: Formula | int) -> Formula:
        return Formula(f"{_factor(self)} * {_factor(other)}")

    def __floordiv__(self, other: Formula | int) -> Formula:
        return Formula(f"Math.floor({self.text} / {_factor(other)})")

    __radd__ = __add__
    __rmul__ = __mul__


def _factor(value: Formula | int) -> str:
    text = str(value)
    return text if isinstance(value, int) or text.isidentifier() else f"({text})"

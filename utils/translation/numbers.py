"""Numbers as the chosen language writes them; in English until `use` was called."""

from __future__ import annotations

from collections.abc import Callable

Writer = Callable[[float, int], str]


def _english(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


class _Chosen:
    """What writes numbers."""

    write: Writer = staticmethod(_english)


def use(write: Writer | None) -> None:
    """Write all numbers by a function from now on.

    Args:
        write: Gets a number and how many decimals it has, on any thread; None for English.
    """
    _Chosen.write = staticmethod(write or _english)


def number(value: float, decimals: int = 0) -> str:
    """Return a number as it is written in the chosen language, rounded to `decimals`."""
    return _Chosen.write(float(value), decimals)


def significant(value: float, digits: int) -> str:
    """Return a number as it is written in the chosen language, rounded to so many digits; zeros
    behind the decimal sign are left out."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return number(float(f"{value:.{digits}g}"), max(0, decimals))

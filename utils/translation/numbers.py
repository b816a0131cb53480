"""Numbers in the notation of the chosen language; in English until `use` is called."""

from __future__ import annotations

from collections.abc import Callable

Writer = Callable[[float, int], str]


def _english(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


class _Chosen:
    write: Writer = staticmethod(_english)


def use(write: Writer | None) -> None:
    """Format numbers with a function of number and decimals, on any thread; None for English."""
    _Chosen.write = staticmethod(write or _english)


def number(value: float, decimals: int = 0) -> str:
    """Return a number in the notation of the chosen language, rounded to `decimals`."""
    return _Chosen.write(float(value), decimals)


def significant(value: float, digits: int) -> str:
    """Return a number in the chosen notation, rounded to `digits`, without trailing zeros."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return number(float(f"{value:.{digits}g}"), max(0, decimals))

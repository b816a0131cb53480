"""Fits the constants of the model of time to measured times, by relative error.

A pattern search: each constant goes up or down by a factor that shrinks. A backend has few
constants and some dozens of times, so nothing faster or from another package is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kernels.time_model.cards import Card
from kernels.time_model.prediction import Calibration, Constants, Prediction, predict

# NVIDIA's H200 copies at 4.3 of its 4.8 TB/s, see benchmarks/network/roofline.py. No part of the
# network is bound by bandwidth on that card, so its times cannot determine this constant.
BANDWIDTH_SHARE = 4.3 / 4.8

# The start of the search, and the constants to find, by backend. On Hopper a multiprocessor runs
# one block, which cannot hide latency behind another.
_GENERAL = Constants(3.0, 1000.0, 0.5, 100.0, 0.3, BANDWIDTH_SHARE)
_FREE = ("launch_us", "tile_clocks", "product_clocks", "element_clocks", "overlap")
STARTS = {
    "sm80": _GENERAL,
    "sm80-small": _GENERAL,
    "sm90": Constants(3.0, 0.0, 0.1, 50.0, 0.0, BANDWIDTH_SHARE),
}
FREE = {
    "sm80": _FREE,
    "sm80-small": _FREE,
    "sm90": ("launch_us", "product_clocks", "element_clocks"),
}
BOUNDS = {
    "launch_us": (0.1, 50.0),
    "tile_clocks": (1.0, 1e5),
    "product_clocks": (1e-3, 10.0),
    "element_clocks": (1e-1, 1e4),
    "overlap": (1e-3, 1.0),
}

FIRST_FACTOR, LAST_FACTOR = 2.0, 1.0005
ROUNDS = 5000


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured time of a network in FP16.

    Attributes:
        card: The GPU, with the multiprocessors and the shared memory that were in use.
        network: Its name in WITH_KERNELS.
        backend: The name of a row of BACKENDS.
        width: Width of the picture in pixels.
        height: Height of the picture in pixels.
        ms: Time of the network in milliseconds.
        layers_ms: Times of single layers, by name.
    """

    card: Card
    network: str
    backend: str
    width: int
    height: int
    ms: float
    layers_ms: Mapping[str, float]


def predicted(one: Measured, told: Calibration) -> Prediction:
    """Return the model's prediction for a measured time."""
    size = one.width, one.height
    return predict(one.card, *size, one.network, backend=one.backend, told=told)


def fit(measured: Sequence[Measured], told: Calibration) -> dict[str, Constants]:
    """Fit the constants of each measured backend; the others are unchanged.

    Args:
        told: The kernels that were measured, and the current constants.

    Returns:
        The constants by backend.
    """
    found = dict(told.constants)
    for backend in STARTS:
        if rows := [one for one in measured if one.backend == backend]:
            found[backend] = _fit_backend(backend, rows, told)
    return found


def squared_error(measured: Sequence[Measured], told: Calibration) -> float:
    """Compute the mean square of log(predicted / measured); a network counts as much as all its
    layers.
    """
    errors: list[float] = []
    weights: list[float] = []
    for one in measured:
        expected = predicted(one, told)
        errors.append(math.log(expected.ms / one.ms) ** 2)
        weights.append(1.0)
        for name, ms in one.layers_ms.items():
            errors.append(math.log(expected.layers_ms[name] / ms) ** 2)
            weights.append(1 / len(one.layers_ms))
    return math.fsum(map(math.prod, zip(errors, weights, strict=True))) / sum(weights)


def _fit_backend(backend: str, measured: Sequence[Measured], told: Calibration) -> Constants:
    def error(constants: Constants) -> float:
        tried = replace(told, constants={**told.constants, backend: constants})
        return squared_error(measured, tried)

    return _search(error, STARTS[backend], FREE[backend])


def _search(
    error: Callable[[Constants], float], start: Constants, names: Sequence[str]
) -> Constants:
    best, least, factor = start, error(start), FIRST_FACTOR
    for _ in range(ROUNDS):
        if factor < LAST_FACTOR:
            return best
        before = least
        for name in names:
            for step in (factor, 1 / factor):
                low, high = BOUNDS[name]
                value = min(high, max(low, getattr(best, name) * step))
                tried = replace(best, **{name: value})
                if (found := error(tried)) < least:
                    best, least = tried, found
        if least >= before:
            factor = math.sqrt(factor)
    return best

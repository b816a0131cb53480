"""Frame rates of the networks on a card: measured if possible, otherwise predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

import torch

from app.errors import StyleForgeError
from app.measured_rates import (
    SIZES,
    Machine,
    RatesError,
    find_rate,
    load_rates,
    rates_path,
    store_rates,
)
from kernels.jit.errors import BuildError
from kernels.table.registry import STYLE, prepare
from kernels.time_model.cards import Card, card_of
from kernels.time_model.prediction import predict
from models.network_config import CONFIGS
from models.transformer_net import TransformerNetFused
from utils.benchmark import interleave

MEASURED, PREDICTED = "measured", "predicted"
WARMUP, RUNS = 10, 50
Key = tuple[str, int, int]  # network, width and height
HOW = "`styleforge doctor --measure` measures it"


class CardRatesError(StyleForgeError):
    """Raised if the frame rates of a GPU cannot be measured."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The frame rate of a network alone, in FP16 if the GPU has it, at one size.

    Attributes:
        origin: "measured" or "predicted".
        note: The date of the measurement, or the backend and the basis of the prediction.
    """

    network: str
    width: int
    height: int
    fps: float
    origin: str
    note: str

    def __str__(self) -> str:
        return (
            f"{self.network}, {self.width}x{self.height}: {self.origin} "
            f"{self.fps:.{0 if self.fps >= 10 else 1}f} frames a second ({self.note})"
        )


def predicted_rates(card: Card) -> list[Rate]:
    """Predict the rates on a card for each network and size, by the time model.

    Raises:
        ValueError: If the model does not cover the backend that runs there; the message says why.
    """
    found = [(key, predict(card, *key[1:], key[0])) for key in all_keys()]
    return [
        Rate(*key, one.fps, PREDICTED, f"{one.backend}, from {card.origin}") for key, one in found
    ]


def rates_of(device: torch.device) -> Iterator[Rate | str]:
    """Yield a CUDA device's measured or predicted rate per network and size, and remarks."""
    return rates_on(Machine.of(device), lambda: predicted_rates(card_of(device)))


def rates_on(machine: Machine, predict: Callable[[], list[Rate]]) -> Iterator[Rate | str]:
    """Yield the measured or predicted rates of a machine, and remarks.

    Args:
        predict: Returns predictions for all networks and sizes. It is only called if a measured
            rate is missing. A ValueError or BuildError says why there is no prediction.
    """
    try:
        stored = load_rates(rates_path())
    except RatesError as exc:
        stored = exc.found
        yield f"{exc}; `styleforge doctor --measure` writes a new one"
    measured = {key: find_rate(stored, machine, key[0], key[1:]) for key in all_keys()}
    predicted: dict[Key, Rate] = {}
    if not all(measured.values()):
        try:
            predicted = {(rate.network, rate.width, rate.height): rate for rate in predict()}
            yield f"rates not measured here are predicted; {HOW}"
        except (ValueError, BuildError) as exc:
            yield f"no prediction for {machine.gpu}: {exc}; {HOW}"
    for key, rate in measured.items():
        if rate is not None:
            yield Rate(*key, rate.fps, MEASURED, f"on {rate.taken}, driver {machine.driver}")
        elif key in predicted:
            yield predicted[key]


def measure_rates(device: torch.device) -> None:
    """Measure each network, untrained as weights do not matter, in FP16, and store the times.

    Raises:
        CardRatesError: If the device is not a GPU, or the file cannot be written.
    """
    if device.type != "cuda":
        raise CardRatesError(
            "measuring frame rates needs an NVIDIA GPU, and PyTorch uses none here"
        )
    prepare(family=STYLE)
    for name, config in CONFIGS.items():
        untrained = TransformerNetFused(**asdict(config)).to(device, torch.float16)
        network = untrained.requires_grad_(False).eval()
        times: dict[tuple[int, int], float] = {}
        with torch.inference_mode():
            for size in SIZES:
                timed = interleave({name: _picture_call(network, size)}, WARMUP, RUNS, device)
                times[size] = timed[name].median_ms
        remember(Machine.of(device), name, times)


def remember(machine: Machine, network: str, times: dict[tuple[int, int], float]) -> None:
    """Store FP16 milliseconds by (width, height).

    Raises:
        CardRatesError: If writing fails.
    """
    path = rates_path()
    try:
        store_rates(path, machine, network, times)
    except OSError as exc:
        raise CardRatesError(f"cannot write the measured times to {path}: {exc.strerror}") from exc


def all_keys() -> list[Key]:
    """Return each network with each size of `doctor`'s report."""
    return [(network, *size) for network in CONFIGS for size in SIZES]


def _picture_call(network: TransformerNetFused, size: tuple[int, int]) -> Callable[[], object]:
    """Return a call that runs the network on a random picture, by its device-memory plan if any."""
    width, height = size
    device = next(network.parameters()).device
    x = torch.rand(1, 3, height, width, device=device) * 255
    plan = network.plan((1, height, width), device)
    if plan is None:
        return partial(network, x.half())
    plan.frames.copy_(x.permute(0, 2, 3, 1))
    return plan.replay

"""The network's frame rates on a card: measured where they were, predicted elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from app.errors import StyleForgeError
from app.measured_rates import (
    SIZES,
    Machine,
    find_rate,
    load_rates,
    rates_path,
    store_rates,
)
from kernels.jit.errors import BuildError
from kernels.ops.registry import prepare
from kernels.time_model.cards import Card, card_of
from kernels.time_model.prediction import predict
from models.transformer_net import TransformerNetFused
from utils.benchmark import interleave

MEASURED, PREDICTED = "measured", "predicted"
WARMUP, RUNS = 10, 50
HOW = "`styleforge doctor --measure` measures it"


class CardRatesError(StyleForgeError):
    """The frame rates of a GPU cannot be measured."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The frame rate of the network alone, in FP16, at one size.

    Attributes:
        width: Of the picture, in pixels.
        height: Of the picture, in pixels.
        fps: Pictures a second.
        origin: "measured" or "predicted".
        note: When it was measured, or of which backend and from what it is predicted.
    """

    width: int
    height: int
    fps: float
    origin: str
    note: str

    def __str__(self) -> str:
        return (
            f"{self.width}x{self.height}: {self.origin} {self.fps:.0f} frames a second"
            f" ({self.note})"
        )


def predicted_rates(card: Card) -> list[Rate]:
    """What the model of time says of a card.

    Raises:
        ValueError: The model does not cover what runs there; the message says why.
    """
    found = [(size, predict(card, *size)) for size in SIZES]
    return [
        Rate(*size, one.fps, PREDICTED, f"{one.backend}, from {card.origin}") for size, one in found
    ]


def rates_of(device: torch.device) -> Iterator[Rate | str]:
    """The rates of a GPU of this machine, and remarks about them.

    Args:
        device: A CUDA device.

    Yields:
        For each size the measured rate, or else the predicted one; and sentences.
    """
    stored = []
    try:
        stored = load_rates(rates_path())
    except ValueError as exc:
        yield f"{exc}; `styleforge doctor --measure` writes it anew"
    machine = Machine.of(device)
    measured = {size: find_rate(stored, machine, size) for size in SIZES}
    predicted: dict[tuple[int, int], Rate] = {}
    if not all(measured.values()):
        try:
            found = predicted_rates(card_of(device))
            predicted = {(rate.width, rate.height): rate for rate in found}
            yield f"predicted is what was not measured here; {HOW}"
        except (ValueError, BuildError) as exc:
            yield f"no prediction for {machine.gpu}: {exc}; {HOW}"
    for size, rate in measured.items():
        if rate is not None:
            yield Rate(*size, rate.fps, MEASURED, f"on {rate.taken}, driver {machine.driver}")
        elif size in predicted:
            yield predicted[size]


def measure_rates(device: torch.device) -> None:
    """Measure the network on a GPU in FP16, and store the times for `rates_of`.

    The times do not depend on the weights, which are those of an untrained network.

    Args:
        device: Where.

    Raises:
        CardRatesError: It is not a GPU, or the file cannot be written.
    """
    if device.type != "cuda":
        raise CardRatesError("frame rates are measured on an NVIDIA GPU, and none is used here")
    prepare()
    network = TransformerNetFused().to(device, torch.float16).requires_grad_(False).eval()
    times: dict[tuple[int, int], float] = {}
    with torch.inference_mode():
        for size in SIZES:
            timed = interleave({"network": _picture_call(network, size)}, WARMUP, RUNS, device)
            times[size] = timed["network"].median_ms
    remember(device, times)


def remember(device: torch.device, times: dict[tuple[int, int], float]) -> None:
    """Store times of the full network in FP16.

    Args:
        device: The GPU.
        times: Milliseconds by width and height.

    Raises:
        CardRatesError: The file cannot be written.
    """
    path = rates_path()
    try:
        store_rates(path, device, times)
    except OSError as exc:
        raise CardRatesError(
            f"the measured times could not be stored in {path}: {exc.strerror}"
        ) from exc


def _picture_call(network: TransformerNetFused, size: tuple[int, int]) -> Callable[[], object]:
    """What runs the network on a random picture: its plan on device memory, where it has one."""
    width, height = size
    device = next(network.parameters()).device
    x = torch.rand(1, 3, height, width, device=device) * 255
    plan = network.plan((1, height, width), device)
    if plan is None:
        return partial(network, x.half())
    plan.frames.copy_(x.permute(0, 2, 3, 1))
    return plan.replay

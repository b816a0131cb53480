"""Predicts the GPU's time of a network through WebGPU.

The time of a layer is

    dispatches x dispatch_us + moved / bandwidth + max(products / rate, bytes / bandwidth)

The rate is the card's FP32 rate times an efficiency, which each layer of each network has; the
bandwidth is the card's times `bandwidth_share`. `moved` are the bytes of Winograd's transforms,
which are shaders of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernels.network.shapes import WITH_KERNELS
from kernels.network.webgpu.layers import BAND_BYTES, LAST, MULTIPLE, Layer, Network
from kernels.network.webgpu.wgsl import Reading
from kernels.network.webgpu.winograd import transform_of
from kernels.time_model.webgpu_cards import GpuCard

FILE = Path(__file__).with_name("webgpu.json")


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants fitted to measured times.

    Attributes:
        dispatch_us: Microseconds of each shader, for its start and end.
        bandwidth_share: The part of the published bandwidth that shaders reach.
        efficiencies: The part of the published FP32 rate that a layer reaches, by network and by
            layer; all residual layers are "res".
    """

    dispatch_us: float
    bandwidth_share: float
    efficiencies: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants, and the measurement they were fitted to."""

    source: str
    constants: Constants

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Calibration:
        return cls(stored["source"], Constants(**stored["constants"]))

    def stored(self) -> dict[str, Any]:
        """Return the calibration as JSON's values."""
        return asdict(self)


@cache
def calibration() -> Calibration:
    """Return the stored calibration."""
    return Calibration.of(json.loads(FILE.read_text("utf-8")))


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a layer.

    Attributes:
        kind: The layer's key among the efficiencies.
        dispatches: Its shaders.
        products: Its multiply-adds.
        bytes: What the shader with the products reads and writes, each byte once.
        moved: What the shaders of Winograd's transforms read and write.
    """

    kind: str
    dispatches: int
    products: int
    bytes: int
    moved: int = 0


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted time in ms of the GPU for a picture, without upload and download.

    `layers_ms` are the layers' times by their names, in order.
    """

    ms: float
    layers_ms: Mapping[str, float]

    @property
    def fps(self) -> float:
        return 1e3 / self.ms


def predict(
    card: GpuCard,
    width: int,
    height: int,
    network: str = "full",
    *,
    half: bool = True,
    told: Calibration | None = None,
) -> Prediction:
    """Predict the time of a network on a card.

    Args:
        network: A key of WITH_KERNELS.
        half: Whether activations are stored in FP16, otherwise in FP32.
        told: The constants; None for the stored ones.
    """
    constants = (told or calibration()).constants
    layers = {
        name: layer_ms(each, card, constants, network)
        for name, each in work(network, width, height, half=half).items()
    }
    return Prediction(sum(layers.values()), layers)


def layer_ms(layer: Work, card: GpuCard, constants: Constants, network: str) -> float:
    """Return the predicted milliseconds of a layer."""
    bandwidth = card.bytes_per_ms * constants.bandwidth_share
    rate = card.products_per_ms * constants.efficiencies[network][layer.kind]
    longer = max(layer.products / rate, layer.bytes / bandwidth)
    return layer.dispatches * constants.dispatch_us / 1e3 + layer.moved / bandwidth + longer


@cache
def work(network: str, width: int, height: int, *, half: bool = True) -> dict[str, Work]:
    """Return the work of each layer in order, for a picture of a size, by names as in plans."""
    layers = Network.of(WITH_KERNELS[network], half=half)
    wide, high = (-(-side // MULTIPLE) * MULTIPLE for side in (width, height))
    element = 2 if half else 4
    found: dict[str, Work] = {}
    for layer in layers.normed:
        if layer.winograd:
            found[layer.name] = _transformed(layers, layer, wide, high, element)
        else:
            found[layer.name] = _direct(layer, wide, high, element)
        form = layer.form
        if form.enlarges:
            wide, high = 2 * wide, 2 * high
        wide, high = wide // form.stride, high // form.stride
    outer, pixels = layers.widths[0], wide * high
    products = 3 * pixels * outer * layers.end_kernel**2
    found[LAST] = Work("deconv3", 1, products, pixels * (outer * element + 3))
    return found


def _direct(layer: Layer, wide: int, high: int, element: int) -> Work:
    form, pixels = layer.form, wide * high
    results = 4 * pixels if form.enlarges else pixels // form.stride**2
    products = results * form.inputs * form.outputs * form.side**2
    moved = _read(layer, pixels, element) + results * form.outputs * element
    return Work(layer.convolution, 2, products, moved)


def _transformed(layers: Network, layer: Layer, wide: int, high: int, element: int) -> Work:
    """Return a layer's work: to tiles, products, back, and the merge of moments."""
    form, pixels = layer.form, wide * high
    transform = transform_of(enlarges=form.enlarges)
    across, down = transform.tiles((wide, high))
    positions, outputs = transform.positions * across * down, form.phases * form.outputs
    inside = positions * (form.inputs + outputs) * element
    kept = pixels * form.inputs * element if form.keeps else 0
    results = transform.phases * pixels * form.outputs * element
    moved = _read(layer, pixels, element) + kept + inside + results
    kind = layer.convolution if form.enlarges else "res"
    dispatches = 3 * len(layers.bands(layer, across * down, BAND_BYTES)) + 1
    return Work(kind, dispatches, positions * form.inputs * outputs, inside, moved)


def _read(layer: Layer, pixels: int, element: int) -> int:
    form = layer.form
    if form.reading.is_picture:
        return 3 * pixels
    sources = 2 if form.reading is Reading.RESIDUAL else 1
    return sources * pixels * form.inputs * element

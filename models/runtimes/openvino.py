"""Intel's OpenVINO on a CPU, an Intel GPU or an NPU. Only this module imports it, on first use."""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.precision import Precision
from models.runtimes.program import Pictures
from models.runtimes.runtime import WRITERS, Compiled, Runtime, RuntimeFault, Size
from utils.translation.joints import enumerated
from utils.translation.texts import tr

TELEMETRY = "openvino_telemetry"
_importing = threading.Lock()  # the engine and the panel may ask at the same time
TYPES = {Precision.fp32: "f32", Precision.fp16: "f16", Precision.bf16: "bf16"}


class OpenVino(Runtime):
    """OpenVINO on one kind of device: "CPU", "GPU" or "NPU".

    `packages` are required, by default with the converters to ONNX.
    """

    extra = "openvino"

    def __init__(self, device: str, packages: tuple[str, ...] = ("openvino", *WRITERS)) -> None:
        self._device, self.packages = device, packages
        self.title = f"OpenVINO {device}"
        self.key = "openvino" if device == "CPU" else f"openvino-{device.lower()}"

    def device_missing(self) -> str:
        found: list[str] = _core().available_devices
        if any(name.partition(".")[0] == self._device for name in found):
            return ""
        if not found:
            return tr("OpenVINO found no devices")
        return tr(
            "OpenVINO found no {device} on this machine, only {others}",
            device=self._device,
            others=enumerated(found),
        )

    def precisions(self) -> tuple[Precision, ...]:
        has: list[str] = _core().get_property(self._device, "OPTIMIZATION_CAPABILITIES")
        return tuple(precision for precision in TYPES if precision.title in has)

    def device_title(self) -> str:
        name: str = _core().get_property(self._device, "FULL_DEVICE_NAME")
        return f"OpenVINO: {name} ({self._device})"

    def compile(
        self, model: bytes | Path, precision: Precision, size: Size | None = None
    ) -> Compiled:
        """Compile for the device, with PyTorch's number of threads."""
        # By default, a GPU would compute in FP16 and some CPUs in BF16.
        options: dict[str, Any] = {"INFERENCE_PRECISION_HINT": TYPES[precision]}
        if self._device == "CPU":
            options["INFERENCE_NUM_THREADS"] = torch.get_num_threads()
        try:
            network = _core().read_model(model)
            if size is not None:
                network.reshape(_shape(network, size))
            compiled = _core().compile_model(network, self._device, options)
            used: str = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        except RuntimeError as exc:
            said = _last_line(exc)
            raise RuntimeFault(
                tr("{runtime} cannot run this network: {error}", runtime=self.title, error=said)
            ) from exc
        if used != TYPES[precision]:
            raise RuntimeFault(
                tr(
                    "{runtime} computes in {precisions} here, not in {precision}",
                    runtime=self.title,
                    precisions=used,
                    precision=precision.title,
                )
            )
        request = compiled.create_infer_request()

        def run(picture: NDArray[Any]) -> NDArray[Any]:
            # Reads the picture in place, and copies the result, which the next call overwrites.
            return np.array(request.infer([picture], share_inputs=True)[0])

        return run


@cache
def openvino_module() -> Any:
    """Import OpenVINO, without its telemetry; no other code imports it.

    Its package reports imports and conversions to its makers over the network, unless the module
    that does so cannot be imported.
    """
    with _importing:
        found = sys.modules.get(TELEMETRY)
        sys.modules[TELEMETRY] = None  # pyright: ignore[reportArgumentType]  (Python allows it)
        try:
            return import_module("openvino")
        finally:
            del sys.modules[TELEMETRY]
            if found is not None:
                sys.modules[TELEMETRY] = found


@cache
def _core() -> Any:
    return openvino_module().Core()


def _shape(network: Any, size: Size) -> list[int]:
    width, height = size
    pictures = Pictures.uint8 if network.input(0).partial_shape[3] == 3 else Pictures.float
    return [1, 3, height, width] if pictures.planes else [1, height, width, 3]


def _last_line(exc: RuntimeError) -> str:
    return str(exc).strip().splitlines()[-1].strip()

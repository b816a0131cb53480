"""ONNX Runtime with one of its execution providers. The package is imported on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from models.precision import Precision
from models.runtimes.onnx_model import HEIGHT, WIDTH
from models.runtimes.program import INPUT
from models.runtimes.runtime import WRITERS, Compiled, Runtime, RuntimeFault, Size
from utils.devices import cpu_name
from utils.translation.joints import enumerated
from utils.translation.texts import tr

CPU = "CPU"
OPTIONS = {"CUDA": {"use_tf32": "0"}}  # otherwise FP32 would be TF32


class OnnxRuntime(Runtime):
    """ONNX Runtime with one execution provider, named without "ExecutionProvider".

    `device` is its name for users: "CPU", "CUDA". `packages` has the converters to ONNX by default.
    """

    extra = "onnx"

    def __init__(
        self, device: str, provider: str = "", packages: tuple[str, ...] = ("onnxruntime", *WRITERS)
    ) -> None:
        self._device, self._provider, self.packages = device, provider or device, packages
        self.title = f"ONNX Runtime {device}"
        self.key = "onnxruntime" if device == CPU else f"onnxruntime-{device.lower()}"

    def device_missing(self) -> str:
        found: list[str] = _module().get_available_providers()
        if self._name in found:
            return ""
        listed = enumerated(name.removesuffix("ExecutionProvider") for name in found)
        return tr(
            "this ONNX Runtime has no {device}, only {others}", device=self._device, others=listed
        )

    def precisions(self) -> tuple[Precision, ...]:
        """Return the precision of converted networks; on a CPU, FP16 would run in FP32."""
        return (Precision.fp32,)

    def device_title(self) -> str:
        return f"ONNX Runtime: {cpu_name() if self._device == CPU else self._device}"

    def compile(
        self,
        model: bytes | Path,
        precision: Precision,  # noqa: ARG002  (the model sets it)
        size: Size | None = None,
    ) -> Compiled:
        """Load the model, with PyTorch's number of threads; no part runs on another device."""
        runtime = _module()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3  # errors
        # Threads that spin while waiting would slow down the next measurement.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if self._device != CPU:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        if size is not None:
            for name, side in zip((WIDTH, HEIGHT), size, strict=True):
                options.add_free_dimension_override_by_name(name, side)
        given = model if isinstance(model, bytes) else str(model)
        providers = [(self._name, OPTIONS.get(self._device, {}))]
        faults = runtime.capi.onnxruntime_pybind11_state
        names = (
            "Fail",
            "NotImplemented",
            "EPFail",
            "InvalidGraph",
            "InvalidProtobuf",
            "NoSuchFile",
        )
        refused = (RuntimeError, ValueError, *(getattr(faults, name) for name in names))
        try:
            session = runtime.InferenceSession(given, options, providers=providers)
        except refused as exc:
            said = str(exc).strip().splitlines()[-1]
            raise RuntimeFault(
                tr("{runtime} cannot run this network: {error}", runtime=self.title, error=said)
            ) from exc
        if session.get_providers()[0] != self._name:
            raise RuntimeFault(tr("{runtime} does not start on this machine", runtime=self.title))

        def run(picture: NDArray[Any]) -> NDArray[Any]:
            return session.run(None, {INPUT: picture})[0]

        return run

    @property
    def _name(self) -> str:
        return f"{self._provider}ExecutionProvider"


@cache
def _module() -> Any:
    runtime: Any = import_module("onnxruntime")
    runtime.disable_telemetry_events()  # its builds for Windows send it by default
    return runtime

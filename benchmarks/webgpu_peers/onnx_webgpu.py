"""ONNX Runtime's WebGPU execution provider. The package is imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import distributions
from importlib.util import find_spec
from typing import Any

from numpy.typing import NDArray

from benchmarks.webgpu_peers.models import Models
from benchmarks.webgpu_peers.peer import OfPlanes, Painter, Peer, Planes, Size
from models.runtimes.onnx_model import HEIGHT, WIDTH
from models.runtimes.program import INPUT
from models.runtimes.runtime import RuntimeFault

PROVIDER = "WebGpuExecutionProvider"
WHOLE = "onnxruntime-webgpu"  # replaces onnxruntime
PLUG_IN = "onnxruntime_ep_webgpu"
ERRORS = 3  # the level of the log, which names each node otherwise


class OnnxWebGpu(Peer):
    """The provider in the package onnxruntime-webgpu, or as a plug-in of onnxruntime.

    Every node must run on the GPU; otherwise the session refuses. The provider chooses the GPU.
    """

    def __init__(self, title: str, *, half_norms: bool = False) -> None:
        """Name a way.

        Args:
            half_norms: Whether norms are FP16 too. The way then has no storage in FP32.
        """
        self.title, self._half_norms = title, half_norms
        self.storages = (True,) if half_norms else (False, True)
        whole = any(distributions(name=WHOLE))
        self.packages = (WHOLE,) if whole else ("onnxruntime", PLUG_IN)

    def missing(self, gpu: str) -> str:
        del gpu
        if find_spec("onnxruntime") is None:
            return f"{self.title} needs the package onnxruntime-webgpu"
        runtime = _module()
        if PROVIDER in runtime.get_available_providers():
            return ""
        if find_spec(PLUG_IN) is None:
            return "this ONNX Runtime has no WebGPU: install onnxruntime-webgpu"
        return "" if _devices(runtime) else "the WebGPU plug-in of ONNX Runtime finds no GPU"

    def open(self, models: Models, size: Size, *, half: bool, gpu: str) -> Painter:
        del gpu
        runtime, path = _module(), models.onnx(half=half, half_norms=self._half_norms)
        options = runtime.SessionOptions()
        options.log_severity_level = ERRORS
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        for name, side in zip((WIDTH, HEIGHT), size, strict=True):
            options.add_free_dimension_override_by_name(name, side)
        faults = _faults(runtime)
        providers = [PROVIDER] if PROVIDER in runtime.get_available_providers() else None
        if providers is None:
            options.add_provider_for_devices(_devices(runtime)[:1], {})
        try:
            # Without `enable_fallback`, a session that fails would start again on the CPU.
            session = runtime.InferenceSession(
                str(path), options, providers=providers, enable_fallback=0
            )
        except faults as exc:
            raise RuntimeFault(f"{self.title} cannot run this network: {_said(exc)}") from exc
        if session.get_providers()[0] == "CPUExecutionProvider":
            raise RuntimeFault(f"{self.title} would compute on the CPU")

        def run(planes: Planes) -> NDArray[Any]:
            try:
                return session.run(None, {INPUT: planes})[0]
            except faults as exc:
                raise RuntimeFault(f"{self.title} failed: {_said(exc)}") from exc

        return OfPlanes(run)


def _module() -> Any:
    runtime: Any = import_module("onnxruntime")
    runtime.disable_telemetry_events()  # its builds for Windows send it by default
    return runtime


def _devices(runtime: Any) -> list[Any]:
    """Return the GPUs of the plug-in, which is registered once in a process."""
    plug_in: Any = import_module(PLUG_IN)
    name = plug_in.get_ep_name()
    found = [each for each in runtime.get_ep_devices() if each.ep_name == name]
    if not found and name not in _registered:
        _registered.add(name)
        runtime.register_execution_provider_library(name, plug_in.get_library_path())
        found = [each for each in runtime.get_ep_devices() if each.ep_name == name]
    return found


_registered: set[str] = set()


def _faults(runtime: Any) -> tuple[type[Exception], ...]:
    """Return the runtime's own exceptions, which share no base class."""
    known = vars(runtime.capi.onnxruntime_pybind11_state).values()
    own = [each for each in known if isinstance(each, type) and issubclass(each, Exception)]
    return (RuntimeError, ValueError, *own)


def _said(error: Exception) -> str:
    """Return the end of a message, without the source lines of the runtime before it."""
    return str(error).strip().splitlines()[-1].rpartition(" was false. ")[2]

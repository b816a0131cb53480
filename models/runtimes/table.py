"""The table of runtimes: the choices of `--kernels` besides our own."""

from __future__ import annotations

from models.runtimes.onnxruntime import OnnxRuntime
from models.runtimes.openvino import OpenVino
from models.runtimes.runtime import Runtime

RUNTIMES: dict[str, Runtime] = {
    runtime.key: runtime
    for runtime in (
        OpenVino("CPU"),
        OpenVino("GPU"),
        OpenVino("NPU"),
        OnnxRuntime("CPU"),
        OnnxRuntime("CUDA"),
        OnnxRuntime("DirectML", "Dml"),
        OnnxRuntime("CoreML"),
    )
}

"""ONNX files, checked in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

from torch.export import ExportedProgram

from app.export.network.file_format import FileFormat, Source
from models.precision import Precision
from models.runtimes.onnx_model import convert, serialize
from models.runtimes.onnxruntime import CPU, OnnxRuntime
from models.runtimes.program import PortableNetwork, export_program, in_half
from models.runtimes.runtime import Compiled


def traced(source: Source, *, half: bool) -> ExportedProgram:
    """Return the program of a network, with weights in FP16 if `half`."""
    network = in_half(source.network) if half else source.network
    portable = PortableNetwork(network, source.pictures)
    return export_program(portable, source.pictures, source.multiple, source.size)


class OnnxFile(FileFormat):
    """ONNX, in one file."""

    ending = ".onnx"
    title, runtime = "ONNX", "ONNX Runtime"
    packages = ("onnx", "onnxscript", "onnxruntime")
    extra = "onnx"
    script = "run_onnx"

    def write(self, source: Source, path: Path) -> None:
        model = convert(traced(source, half=source.half))
        path.write_bytes(serialize(model, source.pictures, source.texts))

    def load(self, path: Path) -> Compiled:
        return OnnxRuntime(CPU, packages=("onnxruntime",)).compile(path, Precision.fp32)

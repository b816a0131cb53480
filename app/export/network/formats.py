"""The formats of exported networks, by the ending of a file: how each is written and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch.export import ExportedProgram

from app.export.network.file_format import FileFormat, Source
from models.precision import Precision
from models.runtimes.onnx_model import convert, serialize
from models.runtimes.onnxruntime import CPU, OnnxRuntime
from models.runtimes.openvino import OpenVino, openvino_module
from models.runtimes.program import PortableNetwork, export_program, in_half, quiet
from models.runtimes.runtime import Compiled

SECTION = "styleforge"  # of an OpenVINO file's metadata
TEXTS = "styleforge.json"  # name of the metadata in an exported program


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


class Pt2File(FileFormat):
    """An exported program, as torch.export.load reads it."""

    ending = ".pt2"
    title, runtime = "PyTorch", "PyTorch"
    script = "run_pt2"

    def write(self, source: Source, path: Path) -> None:
        texts = {TEXTS: json.dumps(dict(source.texts), ensure_ascii=False, indent=1)}
        program = traced(source, half=source.half)
        program.example_inputs = None  # for a single size, they may be larger than the weights
        with quiet():
            torch.export.save(program, path, extra_files=texts)

    def load(self, path: Path) -> Compiled:
        with quiet():
            network = torch.export.load(path).module()

        def run(picture: NDArray[Any]) -> NDArray[Any]:
            with torch.inference_mode():
                return network(torch.from_numpy(picture)).numpy()

        return run


class OpenVinoFile(FileFormat):
    """OpenVINO's intermediate representation: a text file with the graph, and its weights."""

    ending = ".xml"
    title, runtime = "OpenVINO", "OpenVINO"
    packages = ("onnx", "onnxscript", "openvino")
    extra = "openvino"
    script = "run_openvino"
    companions = (".bin",)

    def write(self, source: Source, path: Path) -> None:
        """Convert the program by way of ONNX, and write it."""
        openvino = openvino_module()
        data = serialize(convert(traced(source, half=False)), source.pictures)
        model = openvino.Core().read_model(data)
        for key, text in source.texts.items():
            model.set_rt_info(text, [SECTION, key])
        openvino.save_model(model, path, compress_to_fp16=source.half)

    def load(self, path: Path) -> Compiled:
        return OpenVino("CPU", packages=("openvino",)).compile(path, Precision.fp32)


FORMATS: dict[str, FileFormat] = {
    each.ending: each for each in (OnnxFile(), Pt2File(), OpenVinoFile())
}

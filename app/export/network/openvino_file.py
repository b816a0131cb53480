"""OpenVINO files, checked in OpenVINO."""

from __future__ import annotations

from pathlib import Path

from app.export.network.file_format import FileFormat, Source
from app.export.network.onnx_file import traced
from models.precision import Precision
from models.runtimes.onnx_model import convert, serialize
from models.runtimes.openvino import OpenVino, openvino_module
from models.runtimes.runtime import Compiled

SECTION = "styleforge"  # of the metadata


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

"""The table of formats, by the ending of a file."""

from __future__ import annotations

from app.export.network.file_format import FileFormat
from app.export.network.onnx_file import OnnxFile
from app.export.network.openvino_file import OpenVinoFile
from app.export.network.pt2_file import Pt2File

FORMATS: dict[str, FileFormat] = {
    each.ending: each for each in (OnnxFile(), Pt2File(), OpenVinoFile())
}

"""PyTorch's exported programs, checked in PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from app.export.network.file_format import FileFormat, Source
from app.export.network.onnx_file import traced
from models.runtimes.program import quiet
from models.runtimes.runtime import Compiled

TEXTS = "styleforge.json"  # name of the metadata in the file


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

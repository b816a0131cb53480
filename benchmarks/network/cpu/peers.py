"""Runtimes that only the benchmark uses: MNN and ncnn, in FP32 on the CPU.

Both convert the ONNX model of the network when they compile it. The packages are imported on first
use.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.precision import Precision
from models.runtimes.program import INPUT
from models.runtimes.runtime import Compiled, Runtime, RuntimeFault, Size
from utils.free_memory import free_bytes

# The converter's Python module, without `MNN.tools.mnnconvert`: that one installs a package for
# telemetry and reports every conversion to its makers.
CONVERT_TO_MNN = "import sys, _tools; _tools.mnnconvert(sys.argv)"
NCNN_BYTES_PER_PIXEL = 15_000  # of the full network, measured at 1280x720: 14 GB


class ProcessorRuntime(Runtime):
    """A runtime in FP32 on the CPU, with PyTorch's number of threads."""

    extra = "peers"

    def device_missing(self) -> str:
        return ""

    def precisions(self) -> tuple[Precision, ...]:
        return (Precision.fp32,)

    def device_title(self) -> str:
        return f"{self.title} (CPU)"


class Mnn(ProcessorRuntime):
    """MNN with its session interface; the input is copied in and the result is copied out."""

    key, title, packages = "mnn", "MNN", ("MNN",)

    def compile(
        self,
        model: bytes | Path,
        precision: Precision,  # noqa: ARG002  (FP32)
        size: Size | None = None,
    ) -> Compiled:
        mnn: Any = import_module("MNN")
        with tempfile.TemporaryDirectory() as folder:
            source, converted = _source(model, folder), Path(folder, "network.mnn")
            _run(
                self.title,
                [sys.executable, "-c", CONVERT_TO_MNN, "-f", "ONNX", "--bizCode", "benchmark",
                 "--modelFile", str(source), "--MNNModel", str(converted)],
                converted,
            )  # fmt: skip
            interpreter = mnn.Interpreter(str(converted))
        # "high" is FP32; the default may compute in fewer bits.
        threads = torch.get_num_threads()
        session = interpreter.createSession(
            {"numThread": threads, "precision": "high", "backend": "CPU"}
        )
        given = interpreter.getSessionInput(session)
        layout, kind = mnn.Tensor_DimensionType_Caffe, mnn.Halide_Type_Float
        if size is not None:
            interpreter.resizeTensor(given, (1, 3, size[1], size[0]))
            interpreter.resizeSession(session)

        def run(picture: NDArray[Any]) -> NDArray[Any]:
            given.copyFrom(mnn.Tensor(picture.shape, kind, picture, layout))
            interpreter.runSession(session)
            made = interpreter.getSessionOutput(session)
            result = np.empty(made.getShape(), np.float32)
            copy = mnn.Tensor(made.getShape(), kind, result, layout)
            made.copyToHostTensor(copy)
            return np.array(copy.getNumpyData()).reshape(result.shape)  # a copy: it frees its own

        return run


class Ncnn(ProcessorRuntime):
    """ncnn with its Winograd convolutions; pnnx converts the model for one size."""

    key, title, packages = "ncnn", "ncnn", ("ncnn", "pnnx")

    def compile(
        self,
        model: bytes | Path,
        precision: Precision,  # noqa: ARG002  (FP32)
        size: Size | None = None,
    ) -> Compiled:
        if size is None:
            raise RuntimeFault("ncnn runs pictures of one size, which must be given")
        needed, free = size[0] * size[1] * NCNN_BYTES_PER_PIXEL, free_bytes(torch.device("cpu"))
        if needed > free:
            raise RuntimeFault(
                f"ncnn needs about {needed / 1e9:.0f} GB at this size, "
                f"and {free / 1e9:.0f} GB are free"
            )
        ncnn: Any = import_module("ncnn")
        net = ncnn.Net()
        for option in ("packed", "storage", "arithmetic"):
            setattr(net.opt, f"use_fp16_{option}", False)
        net.opt.use_bf16_storage = False
        net.opt.use_winograd_convolution = True
        net.opt.num_threads = torch.get_num_threads()
        with tempfile.TemporaryDirectory() as folder:
            source = _source(model, folder)
            weights = source.with_suffix(".ncnn.bin")
            program: str = import_module("pnnx").EXEC_PATH
            shape = f"inputshape=[1,3,{size[1]},{size[0]}]"
            _run(self.title, [program, source.name, shape, "fp16=0"], weights, folder)
            net.load_param(str(source.with_suffix(".ncnn.param")))
            net.load_model(str(weights))

        def run(picture: NDArray[Any]) -> NDArray[Any]:
            extractor = net.create_extractor()
            extractor.input("in0", ncnn.Mat(picture[0]))
            return np.array(extractor.extract("out0")[1])[None]

        return run


PEERS: Sequence[Runtime] = (Mnn(), Ncnn())


def _source(model: bytes | Path, folder: str) -> Path:
    if isinstance(model, Path):
        return model
    source = Path(folder, f"{INPUT}.onnx")
    source.write_bytes(model)
    return source


def _run(title: str, command: list[str], result: Path, folder: str | None = None) -> None:
    """Run a converter, and require its result: converters may fail with status 0."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or not result.is_file():
        said = (done.stderr or done.stdout).strip().splitlines() or ["without a message"]
        raise RuntimeFault(f"the converter of {title} failed: {said[-1]}")

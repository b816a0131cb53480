"""The models that other runtimes load: ONNX in FP32 and FP16, and ncnn's files, for any size."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from models.checkpoints import load_checkpoint
from models.network_config import network_config
from models.runtimes.program import (
    INPUT,
    Pictures,
    PortableNetwork,
    export_program,
    in_half,
)
from models.runtimes.runtime import WRITERS, RuntimeFault, missing_packages
from models.transformer_net import TransformerNetBaseline

STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles"
MULTIPLE = 4  # the sides of pictures are multiples of this
TRACED = 64  # pixels of each side; the layers that ncnn reads do not depend on it


class Models:
    """The models of one file of weights, in a folder; each is converted at its first use.

    Names in the folder begin with the digest of the weights, so that no model of other weights is
    ever loaded.
    """

    def __init__(self, weights: Path, folder: Path) -> None:
        self.weights, self._folder = weights, folder
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        self._name = f"{weights.parent.name}-{weights.stem}-{digest[:12]}"

    def network(self) -> TransformerNetBaseline:
        """Return the network in plain PyTorch, in FP32 on the CPU, for inference."""
        state = load_checkpoint(self.weights)
        network = TransformerNetBaseline(**asdict(network_config(state)))
        network.load_state_dict(state)
        return network.requires_grad_(False).eval()

    def onnx(self, *, half: bool, half_norms: bool = False) -> Path:
        """Return the ONNX file, with planes in FP32: [1, 3, H, W] of 0-255, not clamped.

        Args:
            half: Whether weights and convolutions are FP16.
            half_norms: Whether norms are FP16 too, as generic converters write them.

        Raises:
            RuntimeFault: If the file is missing, and so are the packages that write it.
        """
        kind = f"{'fp16' if half else 'fp32'}{'-norms' if half_norms else ''}"
        path = self._folder / f"{self._name}-{kind}.onnx"
        if not path.is_file():
            if why := missing_packages(WRITERS, "ONNX", "onnx"):
                raise RuntimeFault(why)
            # Imported here, because machines with converted models need no package of ONNX.
            from models.runtimes.onnx_model import convert, serialize

            network = self.network()
            if half:
                network = network.half() if half_norms else in_half(network)
            portable = PortableNetwork(network, Pictures.raw)
            program = export_program(portable, Pictures.raw, MULTIPLE)
            path.write_bytes(serialize(convert(program), Pictures.raw))
        return path

    def ncnn(self) -> tuple[Path, Path]:
        """Return the files of ncnn's layers and of its weights in FP32.

        Raises:
            RuntimeFault: If they are missing, and so is pnnx, or if it fails.
        """
        layers, weights = (self._folder / f"{self._name}.ncnn.{end}" for end in ("param", "bin"))
        if not (layers.is_file() and weights.is_file()):
            if why := missing_packages(("pnnx",), "ncnn", "peers"):
                raise RuntimeFault(why)
            program: str = import_module("pnnx").EXEC_PATH
            source = self.onnx(half=False).read_bytes()
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, f"{INPUT}.onnx").write_bytes(source)
                shape = f"inputshape=[1,3,{TRACED},{TRACED}]"
                _convert([program, f"{INPUT}.onnx", shape, "fp16=0"], folder)
                for made in (layers, weights):
                    found = Path(folder, f"{INPUT}.ncnn{made.suffix}")
                    if not found.is_file():  # converters may fail with status 0
                        raise RuntimeFault("pnnx wrote no model for ncnn")
                    made.write_bytes(found.read_bytes())
        return layers, weights


def gpu_name() -> str:
    """Return the name of PyTorch's GPU; "" without one."""
    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""


def _convert(command: list[str], folder: str) -> None:
    done: Any = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["without a message"]
        raise RuntimeFault(f"pnnx failed: {said[-1]}")

"""A network as one program of PyTorch's operations, for conversion to other runtimes."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from models.pictures import MIN_SIDE

INPUT, OUTPUT = "picture", "styled"  # names in the files


class Pictures(Enum):
    """The format of a program's input and output pictures; the value is its name in metadata.

    Attributes:
        raw: [1, 3, H, W] float32 RGB 0-255; the result is not clamped.
        float: The same, with a result of 0-255.
        uint8: [1, H, W, 3] uint8 RGB; the result is rounded.
    """

    raw = "raw"
    float = "float"
    uint8 = "uint8"

    @property
    def planes(self) -> bool:
        """Whether colors come first: [1, 3, H, W]."""
        return self is not Pictures.uint8


class Float32Norm(nn.Module):
    """A float32 instance norm for half-precision input: squares of halves would overflow at 256."""

    def __init__(self, norm: nn.InstanceNorm2d) -> None:
        super().__init__()
        self.norm = norm.float()

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.float()).to(x.dtype)


class PortableNetwork(nn.Module):
    """A network with pictures in the format of other programs; `run` replaces the network."""

    def __init__(
        self, network: nn.Module, pictures: Pictures, run: Callable[[Tensor], Tensor] | None = None
    ) -> None:
        super().__init__()
        self.network, self._pictures, self._run = network, pictures, run
        self._dtype = next(network.parameters()).dtype

    def forward(self, picture: Tensor) -> Tensor:
        x = picture if self._pictures.planes else picture.permute(0, 3, 1, 2)
        x = _cast(x, self._dtype)
        y = _cast(self.network(x) if self._run is None else self._run(x), torch.float32)
        if self._pictures is Pictures.raw:
            return y
        y = y.clamp(0, 255)
        if self._pictures.planes:
            return y
        return (y + 0.5).to(torch.uint8).permute(0, 2, 3, 1)


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert if the dtype differs: Core ML Tools does not know a conversion to the same dtype."""
    return x if x.dtype == dtype else x.to(dtype)


def in_half(network: nn.Module) -> nn.Module:
    """Copy a network with weights and convolutions in FP16, and norms in FP32."""
    network = copy.deepcopy(network).half()
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.InstanceNorm2d) and not isinstance(parent, Float32Norm):
                setattr(parent, name, Float32Norm(child))
    return network


def export_program(
    network: PortableNetwork, pictures: Pictures, multiple: int, size: tuple[int, int] | None = None
) -> ExportedProgram:
    """Trace a network on the CPU, for inference; the program refers to its weights.

    Weights loaded into the network later are also in the program. If `size`, (width, height) in
    pixels, is None, it accepts any multiple of `multiple` from MIN_SIDE on.
    """
    width, height = size or (8 * multiple, 6 * multiple)
    rows, columns = (2, 3) if pictures.planes else (1, 2)
    example = torch.zeros((1, 3, height, width) if pictures.planes else (1, height, width, 3))
    if not pictures.planes:
        example = example.to(torch.uint8)
    axes: dict[int, Any] = {}
    if size is None:
        fewest = -(-MIN_SIDE // multiple)
        axes = {
            rows: multiple * Dim("rows", min=fewest),
            columns: multiple * Dim("columns", min=fewest),
        }
    with torch.inference_mode(mode=False), torch.no_grad(), quiet():
        program = torch.export.export(
            network.eval(), (example,), dynamic_shapes=(axes,), strict=False
        )
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # names folders of this machine
    return program


@contextmanager
def quiet() -> Generator[None]:
    """Silence PyTorch's exporters, which report missing packages and their own deprecations."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

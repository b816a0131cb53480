"""Runs a PyTorch network in another runtime, which compiles it for each size of picture."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.onnx import ONNXProgram

from models.precision import Precision
from models.runtimes.onnx_model import convert, serialize
from models.runtimes.program import Pictures, PortableNetwork, export_program
from models.runtimes.runtime import Compiled, Runtime, RuntimeFault, Size

SIZES_KEPT = 2  # each has a copy of the weights, and its buffers
_PRECISIONS = {each.value.dtype: each for each in (Precision.fp16, Precision.bf16, Precision.fp32)}


class RuntimeExecutor:
    """A network in a runtime, for the last SIZES_KEPT sizes. Not thread-safe.

    The height and width of pictures are multiples of `multiple`.
    """

    def __init__(self, runtime: Runtime, multiple: int) -> None:
        self._runtime, self._multiple = runtime, multiple
        self._model: ONNXProgram | None = None  # refers to the network's weights
        self._bytes = b""
        self._compiled: dict[tuple[Precision, Size], Compiled] = {}

    def forget_weights(self) -> None:
        """Compile again for the next picture: the network's weights have changed."""
        self._bytes = b""
        self._compiled.clear()

    def __call__(
        self, network: nn.Module, run: Callable[[Tensor], Tensor], pictures: Tensor
    ) -> Tensor:
        """Stylize pictures [N, 3, H, W], RGB 0-255, one after another, without clamping.

        `network`, always the same one, has float32 weights on the CPU; `run` is its computation in
        PyTorch.

        Raises:
            RuntimeFault: If the runtime cannot compute in the pictures' dtype here.
        """
        amp = torch.is_autocast_enabled("cpu")
        precision = Precision.amp if amp else _PRECISIONS[pictures.dtype]
        size = pictures.shape[3], pictures.shape[2]
        compiled = self._compiled.pop((precision, size), None)
        if compiled is None:
            if reason := self._runtime.refusal(precision):
                raise RuntimeFault(reason)
            compiled = self._runtime.compile(self._onnx(network, run), precision, size)
        self._compiled[precision, size] = compiled  # last: the first is the least recently used
        if len(self._compiled) > SIZES_KEPT:
            self._compiled.pop(next(iter(self._compiled)))
        given = pictures.to("cpu", torch.float32).contiguous().numpy()
        styled = torch.empty(pictures.shape)
        for number in range(len(given)):
            styled[number] = torch.as_tensor(compiled(given[number : number + 1])[0])
        return styled.to(pictures)

    def _onnx(self, network: nn.Module, run: Callable[[Tensor], Tensor]) -> bytes:
        if self._model is None:
            portable = PortableNetwork(network, Pictures.raw, run)
            self._model = convert(export_program(portable, Pictures.raw, self._multiple))
        if not self._bytes:
            self._bytes = serialize(self._model, Pictures.raw)
        return self._bytes

"""PyTorch's eager network through CUDA, with the libraries' convolutions."""

from __future__ import annotations

import torch

from benchmarks.webgpu_peers.models import Models, gpu_name
from benchmarks.webgpu_peers.peer import OfBytes, Painter, Peer, Picture, Size
from models.precision import Precision, computing

CUDA = torch.device("cuda")


class TorchEager(Peer):
    """The network in plain PyTorch, in FP32 without TF32 or in FP16.

    cuDNN chooses its fastest convolution for each layer and size (`benchmark`).
    """

    packages = ("torch",)

    def __init__(self, layout: torch.memory_format, title: str) -> None:
        self._layout, self.title = layout, title

    def missing(self, gpu: str) -> str:
        found = gpu_name()
        if not found:
            return "PyTorch finds no CUDA GPU"
        return "" if found == gpu else f"PyTorch's GPU is {found}, not {gpu}"

    def open(self, models: Models, size: Size, *, half: bool, gpu: str) -> Painter:
        del size, gpu
        dtype = torch.float16 if half else torch.float32
        network = models.network().to(CUDA, dtype)
        # PyTorch: its types lack the call with a layout alone.
        network = network.to(memory_format=self._layout)  # pyright: ignore[reportCallIssue]

        def run(picture: Picture) -> Picture:
            given = torch.from_numpy(picture).to(CUDA).permute(2, 0, 1)[None]
            with (
                torch.inference_mode(),
                torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=False),
                computing(Precision.fp32, CUDA),
            ):
                styled = network(given.to(dtype, memory_format=self._layout))
                result = styled[0].float().clamp(0, 255).round().byte().permute(1, 2, 0)
                return result.contiguous().cpu().numpy()

        return OfBytes(run)

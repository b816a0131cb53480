"""ncnn on a GPU through Vulkan. The package is imported on first use."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.webgpu_peers.models import Models
from benchmarks.webgpu_peers.peer import OfPlanes, Painter, Peer, Planes, Size
from models.runtimes.runtime import RuntimeFault, missing_packages


class NcnnVulkan(Peer):
    """ncnn with its default choice of convolutions; sums are FP32 also with storage in FP16."""

    title, packages = "ncnn Vulkan", ("ncnn",)

    def __init__(self) -> None:
        self._kept: tuple[Path | None, str] = None, ""
        self._nets: dict[bool, Any] = {}  # of the kept weights and GPU, by storage in FP16

    def missing(self, gpu: str) -> str:
        if why := missing_packages(("ncnn",), self.title, "peers"):
            return why
        found = self._gpus()
        if gpu not in found:
            return f"ncnn finds no Vulkan GPU named {gpu}, only {', '.join(found) or 'none'}"
        return ""

    def open(self, models: Models, size: Size, *, half: bool, gpu: str) -> Painter:
        """Load the network, or take it from a call with another size: pipelines have none."""
        del size
        if self._kept != (models.weights, gpu):
            self._nets.clear()  # their memory is free before the next one loads
            self._kept = models.weights, gpu
        if half not in self._nets:
            self._nets[half] = self._loaded(models, half, gpu)
        ncnn, net = _module(), self._nets[half]

        def run(planes: Planes) -> NDArray[Any]:
            extractor = net.create_extractor()
            extractor.input("in0", ncnn.Mat(planes[0]))
            failed, made = extractor.extract("out0")
            if failed:
                raise RuntimeFault(f"ncnn failed with status {failed}")
            return np.array(made)[None]

        return OfPlanes(run)

    def _loaded(self, models: Models, half: bool, gpu: str) -> Any:
        layers, weights = models.ncnn()
        net = _module().Net()
        net.opt.use_vulkan_compute = True
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = half
        for option in ("use_fp16_arithmetic", "use_bf16_storage", "use_bf16_packed"):
            setattr(net.opt, option, False)
        net.set_vulkan_device(self._gpus().index(gpu))
        if net.load_param(str(layers)) or net.load_model(str(weights)):
            raise RuntimeFault(f"ncnn cannot load {layers.name}")
        return net

    @staticmethod
    def _gpus() -> list[str]:
        ncnn = _module()
        return [ncnn.get_gpu_info(n).device_name() for n in range(ncnn.get_gpu_count())]


def _module() -> Any:
    return import_module("ncnn")

"""Loads everything that the first painting loads, before a style waits for it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from models.inference.vit.executor import VitExecutor
from models.inference.vit.weights import prepare
from models.vit_config import VitConfig

# (height, width) of pictures. Attention loads different kernels with all tokens as keys and with
# fewer.
SIZES = (256, 256), (720, 1280)


def warm_up(config: VitConfig, state: Mapping[str, Tensor], device: torch.device) -> None:
    """Paint a picture of each of SIZES once, in half precision on a separate stream.

    On a GPU the first calls load libraries, kernel images and PyTorch's own kernels: 0.9 s on an
    H200, 0.5 s of it for attention. Thread-safe, even while another thread computes or captures a
    CUDA graph in the thread-local error mode.
    """
    stream = torch.cuda.Stream(device)
    with torch.cuda.device(device), torch.cuda.stream(stream):
        paint_once(config, state, device, torch.float16)
    stream.synchronize()


def paint_once(
    config: VitConfig, state: Mapping[str, Tensor], device: torch.device, dtype: torch.dtype
) -> None:
    """Paint an empty picture of each of SIZES, with an empty code."""
    with torch.inference_mode():
        executor = VitExecutor(config, prepare(state, config, dtype, device))
        executor.set_code(torch.zeros(1, config.code_dim, dtype=dtype, device=device))
        for height, width in SIZES:
            executor(torch.zeros(1, 3, height, width, dtype=dtype, device=device))

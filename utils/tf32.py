"""Allows or forbids TF32 on CUDA temporarily, in every flag that PyTorch has for it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

# The fastest access to PyTorch's flags; every frame of a network pays for it.
_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_precision_of = _torch._get_fp32_precision_getter
_set_precision = _torch._set_fp32_precision_setter
_OPERATIONS = "conv", "rnn", "matmul"


def convolutions_use_tf32() -> bool:
    """Return whether FP32 convolutions on CUDA may use TF32, whichever flag was set.

    `torch.backends.cudnn.allow_tf32` raises if it contradicts `fp32_precision` of convolutions or
    of recurrent layers.
    """
    return _precision_of("cuda", "conv") == "tf32"


def products_use_tf32() -> bool:
    """Return whether FP32 matrix products on CUDA may use TF32, whichever flag was set."""
    return _precision_of("cuda", "matmul") == "tf32"


@contextmanager
def tf32_allowed(allowed: bool) -> Generator[None]:
    """Allow or forbid TF32 in PyTorch's FP32 convolutions and matrix products in the block.

    The setting applies to the whole process: threads that need the other value must not run
    meanwhile. PyTorch has two generations of flags, and its exporter and compiler raise if cuDNN's
    flags disagree. Within the block they agree, whatever the caller had set.
    """
    before = [_precision_of("cuda", operation) for operation in _OPERATIONS]
    cudnn, products = _cudnn(before), _products()
    _torch._set_cudnn_allow_tf32(allowed)
    if products:
        _torch._set_cublas_allow_tf32(allowed)
    _set_each(["tf32" if allowed else "ieee"] * 3)
    try:
        yield
    finally:
        _torch._set_cudnn_allow_tf32(cudnn)
        if products == "medium":
            _torch._set_float32_matmul_precision(products)
        elif products:
            _torch._set_cublas_allow_tf32(products == "high")
        _set_each(before)


def _set_each(precisions: list[str]) -> None:
    """Set the newer flags, which also change when the older ones are set."""
    for operation, precision in zip(_OPERATIONS, precisions, strict=True):
        _set_precision("cuda", operation, precision)


def _cudnn(precisions: list[str]) -> bool:
    """Return `cudnn.allow_tf32`, which cannot be read if newer flags disagree with it."""
    convolutions, recurrent = (each == "tf32" for each in precisions[:2])
    try:
        return _torch._get_cudnn_allow_tf32()
    except RuntimeError:
        return not convolutions if convolutions == recurrent else True


def _products() -> str:
    """Return `torch.get_float32_matmul_precision()`; "" if newer flags disagree with it."""
    try:
        return _torch._get_float32_matmul_precision()
    except RuntimeError:
        return ""

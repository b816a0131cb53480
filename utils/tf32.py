"""Allows or forbids TF32 on CUDA for a while, in every flag that PyTorch keeps for it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

# Of PyTorch's ways to its flags these take the least time, which every frame of a network pays.
_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_precision_of = _torch._get_fp32_precision_getter
_set_precision = _torch._set_fp32_precision_setter
_OPERATIONS = "conv", "rnn", "matmul"


def convolutions_use_tf32() -> bool:
    """Whether FP32 convolutions on CUDA may use TF32, by whichever flag that was set.

    `torch.backends.cudnn.allow_tf32` raises where `fp32_precision` of convolutions or of recurrent
    layers says something else than it.
    """
    return _precision_of("cuda", "conv") == "tf32"


def products_use_tf32() -> bool:
    """Whether FP32 matrix products on CUDA may use TF32, by whichever flag that was set."""
    return _precision_of("cuda", "matmul") == "tf32"


@contextmanager
def tf32_allowed(allowed: bool) -> Generator[None]:
    """Allow or forbid TF32 in PyTorch's FP32 convolutions and matrix products on CUDA.

    PyTorch keeps this setting for the whole process: threads that need the other value must not
    run meanwhile. There are two generations of flags, and PyTorch's exporter and compiler raise
    where those of cuDNN disagree; inside of the block they agree, whatever the caller mixed.

    Args:
        allowed: The setting inside the `with` block; the previous one is restored afterwards.
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
    """Set the newer flags, which setting the older ones has changed as well."""
    for operation, precision in zip(_OPERATIONS, precisions, strict=True):
        _set_precision("cuda", operation, precision)


def _cudnn(precisions: list[str]) -> bool:
    """The value of `cudnn.allow_tf32`, which cannot be read where newer flags disagree with it."""
    convolutions, recurrent = (each == "tf32" for each in precisions[:2])
    try:
        return _torch._get_cudnn_allow_tf32()
    except RuntimeError:
        return not convolutions if convolutions == recurrent else True


def _products() -> str:
    """`torch.get_float32_matmul_precision()`; empty where newer flags disagree with it."""
    try:
        return _torch._get_float32_matmul_precision()
    except RuntimeError:
        return ""

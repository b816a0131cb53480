"""The precision modes: one member per mode, iterated by menus, flags and tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Mode:
    """`dtype` holds the weights and activations; `autocast` instead keeps FP32 weights and
    lets PyTorch choose per operation. `tf32` lets a GPU multiply FP32 numbers with the 11
    significant bits of TF32. `bits` are the significant bits of a factor in a product (24 in
    FP32). `capability` is the lowest CUDA compute capability that
    runs it on tensor cores. Two pictures made in this mode agree when their largest difference
    is at most `max_difference` (0-255) or, where that is None, their PSNR at least `min_psnr`.
    """

    title: str
    dtype: torch.dtype
    bits: int
    autocast: bool = False
    tf32: bool = False
    capability: tuple[int, int] = (0, 0)
    max_difference: float | None = None
    min_psnr: float = 38.0


class Precision(Enum):
    fp32 = Mode("FP32", torch.float32, 24, max_difference=0.5)
    tf32 = Mode("TF32", torch.float32, 11, tf32=True, capability=(8, 0), min_psnr=50.0)
    fp16 = Mode("FP16", torch.float16, 11, capability=(5, 3))
    bf16 = Mode("BF16", torch.bfloat16, 8, capability=(8, 0))
    amp = Mode("AMP", torch.float32, 11, autocast=True, capability=(7, 0))

    @property
    def title(self) -> str:
        return self.value.title

    @property
    def safer(self) -> Precision | None:
        """What to step down to when this mode produces a broken picture: FP16 (and AMP, which
        is FP16 inside), BF16, FP32; None for FP32."""
        return {
            Precision.fp16: Precision.bf16,
            Precision.amp: Precision.bf16,
            Precision.bf16: Precision.fp32,
            Precision.tf32: Precision.fp32,
        }.get(self)

    def agree(self, difference: float, psnr: float) -> tuple[bool, str]:
        """Whether two pictures made in this mode agree, and the bound they were held to, in
        words. `difference` is the largest on 0-255, `psnr` in dB."""
        if self.value.max_difference is not None:
            bound = self.value.max_difference
            return difference <= bound, f"largest difference at most {bound:g} of 255"
        return psnr >= self.value.min_psnr, f"PSNR at least {self.value.min_psnr:g} dB"

    @property
    def cost(self) -> str:
        """What it costs in exactness, in words; empty for FP32."""
        bits, full = self.value.bits, Precision.fp32.value.bits
        return f"{self.title} multiplies {bits} of FP32's {full} bits" if bits < full else ""

    def remark(self, device: torch.device) -> str:
        """Why this mode cannot run on `device`, or would be slower there than FP32; empty if
        neither. A mode with a remark is still offered, with the remark beside it."""
        if self is Precision.fp32:
            return ""
        if self is Precision.tf32:
            if device.type != "cuda":
                return "TF32 is FP32 on a CPU"
            if torch.cuda.get_device_capability(device) < self.value.capability:
                return "TF32 is FP32 on this GPU"
            return ""
        if device.type == "cuda":
            if torch.cuda.get_device_capability(device) < self.value.capability:
                return f"{self.title} is emulated on this GPU and slower than FP32"
            return ""
        if self is Precision.fp16 and not torch.cpu._is_amx_fp16_supported():
            return "FP16 is slower than FP32 on this CPU: it has no FP16 matrix instructions"
        if self is not Precision.fp16 and not torch.cpu._is_avx512_bf16_supported():
            return f"{self.title} is slower than FP32 on this CPU: it has no BF16 instructions"
        return ""


@contextmanager
def tf32_allowed(allowed: bool) -> Iterator[None]:
    """Within, PyTorch's convolutions and matrix products of FP32 on CUDA may use TF32, or not.

    PyTorch keeps this for the whole process: threads that need it otherwise must not run
    meanwhile.
    """
    backends = torch.backends
    before = backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32
    backends.cudnn.allow_tf32 = backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32 = before


def compute_dtype(x: Tensor) -> torch.dtype:
    """The dtype to compute in where `x` is: that of autocast, where it is on."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype

"""The precision modes: one enum member per mode, which menus, flags and tests iterate."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor

from models.webgpu_devices import adapter_of, is_webgpu
from utils.tf32 import tf32_allowed as tf32_allowed
from utils.translation.texts import mark


@dataclass(frozen=True, slots=True)
class Mode:
    """The parameters of one precision mode.

    Attributes:
        dtype: Dtype of weights and activations.
        bits: Significant bits of the factors in a product; 24 in FP32.
        autocast: Whether PyTorch's autocast chooses the dtype per operation; weights are FP32.
        tf32: Whether a GPU may multiply FP32 numbers as TF32.
        int8: Whether a GPU may multiply 8-bit integers instead of FP16 numbers.
        capability: The lowest CUDA compute capability that runs the mode on tensor cores.
        max_difference: The largest difference (on 0-255) at which two pictures made in this mode
            agree; None to compare their PSNR with `min_psnr` in dB instead.
    """

    title: str
    dtype: torch.dtype
    bits: int
    autocast: bool = False
    tf32: bool = False
    int8: bool = False
    capability: tuple[int, int] = (0, 0)
    max_difference: float | None = None
    min_psnr: float = 38.0


class Precision(Enum):
    """The precisions a network can run in; the value of a member is its `Mode`."""

    fp32 = Mode("FP32", torch.float32, 24, max_difference=0.5)
    tf32 = Mode("TF32", torch.float32, 11, tf32=True, capability=(8, 0), min_psnr=50.0)
    fp16 = Mode("FP16", torch.float16, 11, capability=(5, 3))
    bf16 = Mode("BF16", torch.bfloat16, 8, capability=(8, 0))
    amp = Mode("AMP", torch.float32, 11, autocast=True, capability=(7, 0))
    int8 = Mode("INT8", torch.float16, 8, int8=True, capability=(8, 0))

    @property
    def title(self) -> str:
        return self.value.title

    @property
    def safer(self) -> Precision | None:
        """The mode to fall back to on overflow: more range or bits; None for FP32.

        INT8 falls back to FP16; FP16 and AMP (FP16 on a GPU) to BF16; BF16 and TF32 to FP32.
        """
        return {
            Precision.int8: Precision.fp16,
            Precision.fp16: Precision.bf16,
            Precision.amp: Precision.bf16,
            Precision.bf16: Precision.fp32,
            Precision.tf32: Precision.fp32,
        }.get(self)

    def agree(self, difference: float, psnr: float) -> tuple[bool, str]:
        """Return whether two pictures are equal up to rounding, and the applied bound as text.

        `difference` is their largest absolute one, on 0-255; `psnr` is in dB.
        """
        if self.value.max_difference is not None:
            bound = self.value.max_difference
            return difference <= bound, f"largest difference at most {bound:g} of 255"
        return psnr >= self.value.min_psnr, f"PSNR at least {self.value.min_psnr:g} dB"

    @property
    def cost(self) -> str:
        """The loss of precision as a sentence; empty for FP32."""
        bits, full = self.value.bits, Precision.fp32.value.bits
        return f"{self.title} multiplies {bits} of FP32's {full} bits" if bits < full else ""

    def refusal(self, device: torch.device) -> str:
        """Return why no network of ours is offered in this mode on `device`, a sentence; else "".

        On a GPU that WebGPU reaches, it may list the GPUs, and raises WebGpuError as `adapter_of`.

        Only a measurement tells whether BF16 helps on a CPU that has its instructions: see
        `NetworkFamily.refusal` in models.families.family.
        """
        if device.type == "cuda" or self is Precision.fp32:
            return ""
        if is_webgpu(device):
            if self is not Precision.fp16:
                return _NOT_BY_WEBGPU.format(title=self.title)
            return "" if adapter_of(device).half else _NO_FP16_BY_WEBGPU
        if self in (Precision.tf32, Precision.int8):
            return _NEEDS_GPU.format(title=self.title)
        if self is Precision.bf16:
            return "" if _cpu_has_bf16() else _NO_BF16
        return _SLOWER_ON_CPU.format(title=self.title)

    def absence(self, device: torch.device) -> str:
        """Return why this mode cannot run on `device`, a sentence; "" if it can, perhaps slowly."""
        slow = self in (Precision.fp16, Precision.bf16, Precision.amp)
        return "" if slow and device.type == "cpu" else self.refusal(device)

    def remark(self, device: torch.device) -> str:
        """Return why this mode has no advantage over FP32 on `device`, a sentence; "" if it has.

        On a GPU, menus still offer a mode that has a remark, with the remark next to it.
        """
        if device.type != "cuda" or self is Precision.fp32:
            return self.refusal(device)
        if self is Precision.tf32:
            if torch.cuda.get_device_capability(device) < self.value.capability:
                return _TF32_ON_GPU
            return ""
        if self is Precision.int8:
            capability = torch.cuda.get_device_capability(device)
            if capability < self.value.capability:
                return _INT8_ON_GPU
            # Hopper's FP16 has its own, faster kernels.
            return _INT8_ON_HOPPER if capability == (9, 0) else ""
        if torch.cuda.get_device_capability(device) < self.value.capability:
            return _EMULATED.format(title=self.title)
        return ""


# Remark of every network but the fused one about INT8 on a GPU.
INT8_NEEDS_FUSED = mark("INT8 needs the fused network; runs in FP16")
# Refusal of BF16 if the CPU has its instructions, and the network of a family does not gain.
BF16_IS_NO_GAIN = "the fused network is not faster in BF16 than in FP32 on this CPU"
_NEEDS_GPU = "{title} needs a GPU"
_NOT_BY_WEBGPU = "WebGPU has no {title}"
_NO_FP16_BY_WEBGPU = "this GPU has no FP16 in shaders"
_SLOWER_ON_CPU = "{title} is slower than FP32 on a CPU"
_TF32_ON_GPU = "TF32 runs as FP32 on this GPU"
_INT8_ON_GPU = "INT8 runs as FP16 on this GPU"
_INT8_ON_HOPPER = "INT8 is slower than FP16 on this GPU"
_EMULATED = "{title} is emulated on this GPU and slower than FP32"
_NO_BF16 = "BF16 is slower than FP32 on this CPU: it has no BF16 instructions"


def sentences() -> tuple[str, ...]:
    """Return every sentence about a precision on any device, for translations."""
    absent, slower = (Precision.tf32, Precision.int8), (Precision.fp16, Precision.amp)
    by_webgpu = (Precision.tf32, Precision.bf16, Precision.amp, Precision.int8)
    emulated = (Precision.fp16, Precision.bf16, Precision.amp)
    return (
        *(each.cost for each in Precision if each.cost),
        *(_NEEDS_GPU.format(title=each.title) for each in absent),
        *(_SLOWER_ON_CPU.format(title=each.title) for each in slower),
        *(_NOT_BY_WEBGPU.format(title=each.title) for each in by_webgpu),
        *(
            _NO_FP16_BY_WEBGPU,
            _NO_BF16,
            BF16_IS_NO_GAIN,
            _TF32_ON_GPU,
            _INT8_ON_GPU,
            _INT8_ON_HOPPER,
        ),
        *(_EMULATED.format(title=each.title) for each in emulated),
    )


def _cpu_has_bf16() -> bool:
    # PyTorch 2.9 has no public name for this query.
    return torch.cpu._is_avx512_bf16_supported()  # pyright: ignore[reportPrivateUsage]


_int8: ContextVar[bool] = ContextVar("whether integers may be multiplied", default=False)


@contextmanager
def int8_allowed(allowed: bool) -> Generator[None]:
    """Allow or forbid 8-bit integers in FP16 networks on CUDA, for this thread, in the block."""
    token = _int8.set(allowed)
    try:
        yield
    finally:
        _int8.reset(token)


def is_int8_allowed() -> bool:
    return _int8.get()


@contextmanager
def computing(precision: Precision, device: torch.device) -> Generator[None]:
    """Make PyTorch compute in a precision on `device` in the block."""
    mode, half = precision.value, torch.float16 if device.type == "cuda" else torch.bfloat16
    autocast = torch.autocast(device.type, half, enabled=mode.autocast)
    with tf32_allowed(mode.tf32), int8_allowed(mode.int8), autocast:
        yield


def compute_dtype(x: Tensor) -> torch.dtype:
    """Return autocast's dtype if autocast is enabled on the device of `x`, else x's dtype."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype

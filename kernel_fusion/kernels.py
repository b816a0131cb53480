"""The native kernels without a fallback; a kernel that cannot run raises KernelUnavailable.

Kernels are grouped, as `kf.kernels.elementwise.add_relu`; a few, such as `fused_gelu_dropout`, are
also available here.
"""

from __future__ import annotations

from typing import Any

from kernels.ops.native import GROUPS, flat, flat_names


def __getattr__(name: str) -> Any:
    if name in GROUPS:
        return GROUPS[name]
    kernel = flat(name)
    if kernel is not None:
        return kernel
    raise AttributeError(f"module {__name__!r} has no group of kernels {name!r}")


def __dir__() -> list[str]:
    return sorted({*GROUPS, *flat_names()})

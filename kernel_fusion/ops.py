"""The fused operations as functions: native if kernels are built, otherwise in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels import ops
from kernels.ops.registry import ALIASES, OPS, named


def __getattr__(name: str) -> Callable[..., Any]:
    if named(name) is not None:
        globals()[name] = getattr(ops, name)  # the next access does not call this function
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no operation {name!r}")


def __dir__() -> list[str]:
    return sorted({*OPS, *ALIASES})

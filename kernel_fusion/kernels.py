"""The native kernels by group, without a fallback: where one cannot run, it raises
KernelUnavailable."""

from __future__ import annotations

from types import SimpleNamespace

from kernels.ops.native import GROUPS


def __getattr__(name: str) -> SimpleNamespace:
    if name in GROUPS:
        return GROUPS[name]
    raise AttributeError(f"module {__name__!r} has no group of kernels {name!r}")


def __dir__() -> list[str]:
    return sorted(GROUPS)

"""The fused operations, as functions: native where a kernel is loaded, reference elsewhere.

Every module of this folder is imported. The operations it registers with `@fused` are attributes
here. They raise ValueError for an argument of an invalid shape, dtype, device or value.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from kernels.ops.registry import ALIASES, OPS, named

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def __getattr__(name: str) -> Callable[..., Any]:
    op = named(name)
    if op is not None:
        globals()[name] = op.operation  # the next lookup skips this function
        return op.operation
    raise AttributeError(f"module {__name__!r} has no operation {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *OPS, *ALIASES})

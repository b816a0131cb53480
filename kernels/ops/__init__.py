"""The fused operations, as functions: native where a kernel is loaded, reference elsewhere.

Every module of this folder is imported, and what it registers with `@fused` is an attribute here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from kernels.ops.registry import OPS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def __getattr__(name: str) -> Callable[..., Any]:
    if name in OPS:
        globals()[name] = OPS[name].operation  # found without this function the next time
        return OPS[name].operation
    raise AttributeError(f"module {__name__!r} has no operation {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *OPS})

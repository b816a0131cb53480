"""The fused operations, as functions: native where a kernel is loaded, reference elsewhere.

Each folder in `style`, `transformer` and `general` holds one operation or a few that share code:

| file | content |
| --- | --- |
| `api.py` | the declarations: signature, documentation, parts |
| `reference.py` | the same in PyTorch, which defines the result |
| `on_cpu.py`, `on_cuda.py` | the launches of the kernels |
| `samples.py`, `timed.py` | arguments for tests, and for benchmarks beside PyTorch's calls |
| `*.cpp`, `*.cu`, `*.h`, `*.cuh` | the kernels |

Every module is imported. The operations it registers with `@fused` are attributes here. They raise
ValueError for an argument of an invalid shape, dtype, device or value.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from kernels.table.registry import ALIASES, OPS, named

for _family in ("style", "transformer", "general"):  # the order of reports
    _package = importlib.import_module(f"{__name__}.{_family}")
    for _module in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        importlib.import_module(_module.name)


def __getattr__(name: str) -> Callable[..., Any]:
    op = named(name)
    if op is not None:
        globals()[name] = op.operation  # the next lookup skips this function
        return op.operation
    raise AttributeError(f"module {__name__!r} has no operation {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *OPS, *ALIASES})

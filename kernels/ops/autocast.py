"""Has operations compute in the dtypes of their arguments, whatever autocast would choose.

Below the dispatcher a launcher passes addresses, and with them the dtypes that its arguments have.
PyTorch's products in it would come out in 16 bits under autocast, and a kernel that was told FP32
would read beside them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")

_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_any_enabled: Callable[[], bool] = _torch._is_any_autocast_enabled
_disabled: Callable[[], AbstractContextManager[None]] = _torch._DisableAutocast


def without_autocast(run: Callable[P, R]) -> Callable[P, R]:
    """The same function, in which no device casts."""

    @functools.wraps(run)
    def plain(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _any_enabled():
            return run(*args, **kwargs)
        with _disabled():
            return run(*args, **kwargs)

    return plain

"""Calls of an operation's launch as the table makes them: with all arguments, in order."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kernels.table.operation import OPS
from kernels.table.signature import in_order


def bound(name: str, launch: Callable[..., Any]) -> Callable[..., Any]:
    """Return the launch of an operation, which takes the arguments of its function after the first.

    The first one is the launcher.
    """
    bind = in_order(inspect.signature(OPS[name].operation))

    def run(launcher: Any, *args: Any, **kwargs: Any) -> Any:
        return launch(launcher, *bind(*args, **kwargs))

    return run

"""PyTorch's own check of a custom operation, without what PyTorch says of itself meanwhile."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import torch


def opcheck(overload: Any, args: tuple[Any, ...], **options: Any) -> None:
    """Run `torch.library.opcheck`, which raises where an operation is registered wrongly.

    PyTorch 2.15 warns of the check's own reading of gradients, and 2.9 logs of its own shapes.
    """
    shapes = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    before = shapes.level
    shapes.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"The \.grad attribute of a Tensor")
            torch.library.opcheck(overload, args, **options)
    finally:
        shapes.setLevel(before)

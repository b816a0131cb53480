"""What every call of the operations' launchers on a GPU needs: types, addresses and buffers."""

from __future__ import annotations

import torch
from torch import Tensor

# As include/common/data_type.h numbers them; other types run on PyTorch.
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
MOMENTS_BYTES = 16  # of the statistics of a channel, and of its affine


def launched(error: int, what: str) -> None:
    """Raise RuntimeError if a launcher of the operation `what` returned an error."""
    if error:
        raise RuntimeError(f"{what} could not be launched: CUDA error {error}")


def address(x: Tensor | None) -> int | None:
    """Of the first element; None, a null pointer, of no tensor."""
    return None if x is None else x.data_ptr()


def bytes_beside(x: Tensor, count: int) -> Tensor:
    """An uninitialized buffer of `count` bytes on the device of `x`."""
    return torch.empty(count, dtype=torch.uint8, device=x.device)

"""Operations on the parts of sharded tensors (torch.distributed.tensor.DTensor).

An elementwise update works on each process's own part; a norm needs a sum over the processes.
Tensors that are not sharded pass through.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from kernels.ops import total_norm


def _module() -> Any:
    """Return torch.distributed.tensor, or None if nothing is sharded because it is not imported."""
    return sys.modules.get("torch.distributed.tensor")


def is_sharded(x: Tensor) -> bool:
    module = _module()
    return module is not None and isinstance(x, module.DTensor)


def local(tensors: Iterable[Any]) -> list[Tensor]:
    """Return this process's parts, which share memory with the tensors."""
    given = list(tensors)
    return given if _module() is None else [x.to_local() if is_sharded(x) else x for x in given]


def whole(x: Any) -> Tensor:
    """Return the whole tensor, gathered from all processes."""
    return x.full_tensor() if is_sharded(x) else x


def placed_as(like: Sequence[Any], tensors: Sequence[Any]) -> Sequence[Tensor]:
    """Return tensors in the placements of `like`; partial terms are summed."""
    if _module() is None:
        return tensors
    return [
        x.redistribute(y.device_mesh, y.placements) if is_sharded(x) else x
        for x, y in zip(tensors, like, strict=True)
    ]


def by_mesh(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """Group plain tensors by device, and sharded ones by mesh and placements."""
    found: dict[Any, list[Tensor]] = {}
    for each in tensors:
        x: Any = each
        where = (x.device_mesh, x.placements) if is_sharded(x) else x.device
        found.setdefault(where, []).append(x)
    return list(found.values())


def norm_over_mesh(tensors: Sequence[Tensor], norm_type: float) -> Tensor:
    """Return the norm over one mesh or device.

    Raises:
        ValueError: If the tensors are sharded and `norm_type` is not positive.
    """
    first: Any = tensors[0]
    if not is_sharded(first):
        return total_norm(list(tensors), norm_type)
    if not norm_type > 0:
        raise ValueError(
            f"total_norm: norm_type is {norm_type}; expected a number above 0 for sharded tensors"
        )
    module, mesh = _module(), first.device_mesh
    summed = [module.Replicate() if p.is_partial() else p for p in first.placements]
    given: Sequence[Any] = tensors
    parts: list[Any] = [x.redistribute(mesh, summed) for x in given]
    of_part = total_norm(local(parts), norm_type)
    is_largest = norm_type == math.inf
    # In FP64 a power of an FP32 norm does not overflow.
    part = of_part.double() if is_largest else of_part.double() ** norm_type
    over = module.Partial("max" if is_largest else "sum")
    placements = [over if p.is_shard() else module.Replicate() for p in summed]
    found = module.DTensor.from_local(part, mesh, placements).full_tensor()
    return (found if is_largest else found ** (1 / norm_type)).to(of_part.dtype)

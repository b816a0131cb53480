"""The library's operations with the arguments of their rows, or with their largest samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.operations.case import Case, changed, shape_of
from kernels.table.autograd import tensors_of
from kernels.table.registry import GENERAL, OPS, Operation, Timed


def operations(group: str | None = None, device: str = "cpu") -> list[Operation]:
    """Return the library's operations that return a result, except backward operations.

    On a GPU, operations for the CPU alone are left out: another operation computes their reference
    natively there, or PyTorch is as fast. `group` names groups, such as "a,b"; all by default.

    Raises:
        ValueError: If a group is unknown.
    """
    rows = [op for op in OPS.values() if op.family == GENERAL]
    groups = dict.fromkeys(op.group for op in rows)
    chosen = list(groups) if group is None else group.split(",")
    for name in chosen:
        if name not in groups:
            raise ValueError(f"there is no group '{name}'; expected {', '.join(groups)}")
    return [
        op
        for op in rows
        if op.group in chosen
        and not op.mutates
        and not op.name.endswith("_backward")
        and (op.is_composite or op.library_on(device))
    ]


def cases(
    device: torch.device,
    chosen: Sequence[Operation],
    sizes: Sequence[tuple[int, int]],
    precisions: Mapping[str, torch.dtype],
    of_products: Sequence[tuple[int, int]] | None = None,
    has_large: bool = False,
) -> Iterator[Case]:
    """Yield the cases to measure; an operation timed on its samples uses only the first size.

    `of_products` has sizes for operations with `Timed.is_of_products`, and defaults to `sizes`.
    """
    for op in chosen:
        by = op.timed or Timed(op.reference, partial(_largest_sample, op))
        each = sizes if of_products is None or not by.is_of_products else of_products
        usual = [partial(by.arguments, *size) for size in (each if op.timed else each[:1])]
        for make in (*usual, *(by.large if has_large else ())):
            for precision, dtype in precisions.items():
                with device:  # random numbers of 4 GB take a CPU ten seconds
                    made = make()

                def moved(x: Tensor, dtype: torch.dtype = dtype) -> Tensor:
                    return x.to(device, dtype if x.is_floating_point() else None)

                given = [changed(x, moved) for x in made]
                yield Case(
                    op.name,
                    shape_of(tensors_of(given)),
                    precision,
                    given,
                    by.eager,
                    op.operation,
                    # Only the reference draws the same random numbers as the operation.
                    op.reference if by.is_random else by.eager,
                    group=op.group,
                    constants=by.constants,
                    is_random=by.is_random,
                    is_joint=by.is_joint,
                    is_large=make in by.large,
                )


def _largest_sample(op: Operation, _rows: int, _columns: int) -> Sequence[Any]:
    return max(op.samples(), key=lambda given: sum(x.numel() for x in tensors_of(given)))

"""Rotary position embeddings (Su et al., "RoFormer", 2021), which rotate pairs of numbers.

FP64 runs in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.table.autograd import Grad, Kept
from kernels.table.calls import TYPES
from kernels.table.launcher import Argument, CpuLauncher, CudaLauncher

_THREADS, _VECTOR, _MOST_GROUPS = 256, 16, 2**31 - 1


def check(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    if x.dim() not in (3, 4) or not x.is_floating_point() or x.shape[-1] % 2:
        raise ValueError(
            f"apply_rope: x is {x.dtype} {list(x.shape)}; expected floating [N, H, L, D] or "
            "[N, L, D] with an even D"
        )
    wanted = (x.shape[-2], x.shape[-1] // 2)
    for name, table in (("cos", cos), ("sin", sin)):
        if table.shape not in (wanted, (x.shape[0], *wanted)) or table.shape != cos.shape:
            raise ValueError(
                f"apply_rope: {name} has the shape {list(table.shape)}; expected {list(wanted)} or "
                f"{[x.shape[0], *wanted]}, as cos"
            )
        if not table.is_floating_point() or table.device != x.device:
            raise ValueError(
                f"apply_rope: {name} is {table.dtype} on {table.device}; expected a floating dtype "
                f"on {x.device}"
            )


def reference(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False, back: bool = False
) -> Tensor:
    check(x, cos, sin)
    wide = torch.promote_types(x.dtype, torch.float32)
    first, second = _pairs(x.to(wide), interleaved)
    c, s = _tables(x, cos.to(wide), -sin.to(wide) if back else sin.to(wide))
    turned = first * c - second * s, second * c + first * s
    joined = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
    return joined.to(x.dtype).contiguous()


def _pairs(x: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    if interleaved:
        return x[..., ::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _tables(x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    if cos.dim() == 3 and x.dim() == 4:
        return cos[:, None], sin[:, None]
    return cos, sin


def save(arguments: Sequence[Any], _results: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the tensors to save for backward; only the gradients of the tables need x."""
    x, cos, sin = arguments[:3]
    return [x if cos.requires_grad or sin.requires_grad else None, cos, sin]


def gradients(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    x, cos, sin = kept.tensors
    interleaved, back = kept.options[3:]
    turn: Any = torch.ops.styleforge.apply_rope
    of_x = turn(grad, cos, sin, interleaved, not back) if kept.needs[0] else None
    of_cos = of_sin = None
    if x is not None:
        (first, second), (g, h) = _pairs(x, interleaved), _pairs(grad, interleaved)
        sign = -1.0 if back else 1.0
        of_cos, of_sin = (
            _summed(part, cos) for part in (g * first + h * second, sign * (h * first - g * second))
        )
    return of_x, of_cos, of_sin, None, None


def _summed(part: Tensor, table: Tensor) -> Tensor:
    if part.dim() == 4:
        part = part.sum(1)
    return part.sum_to_size(table.shape).to(table.dtype)


def launch_cpu(
    launch: CpuLauncher,
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool,
    back: bool,
) -> Tensor:
    check(x, cos, sin)
    if x.dtype not in TYPES or not x.numel():
        return reference(x, cos, sin, interleaved, back)
    tables = _tables_in(torch.float32, cos, sin)
    y, arguments = _arguments(x, tables, interleaved, back)
    launch("styleforge_rope", *arguments, x.numel() // x.shape[-1])
    return y


def launch_cuda(
    launch: CudaLauncher,
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool = False,
    back: bool = False,
) -> Tensor:
    check(x, cos, sin)
    if x.dtype not in TYPES or not x.numel() or x.numel() // 2 > _MOST_GROUPS:
        return reference(x, cos, sin, interleaved, back)
    # Tables of x's dtype are read as they are; converting them would need two more launches.
    alike = cos.dtype == sin.dtype == x.dtype != torch.float32
    tables = _tables_in(x.dtype if alike else torch.float32, cos, sin)
    y, arguments = _arguments(x, tables, interleaved, back)
    tensors = [each for each in arguments[:3] if isinstance(each, Tensor)]
    count = _VECTOR // x.element_size()
    vector = (
        x.shape[-1] // 2 % count == 0
        and all(stride % count == 0 for stride in tensors[0].stride()[:-1])
        and all(each.data_ptr() % _VECTOR == 0 for each in tensors)
    )
    groups = x.numel() // 2 // (count if vector else 1)
    launch("styleforge_rope", -(-groups // _THREADS), _THREADS, *arguments, alike, groups, vector)
    return y


def _tables_in(dtype: torch.dtype, *tables: Tensor) -> list[Tensor]:
    return [table.to(dtype).contiguous() for table in tables]


def _arguments(
    x: Tensor, tables: Sequence[Tensor], interleaved: bool, back: bool
) -> tuple[Tensor, list[Argument]]:
    if x.stride(-1) != 1:
        x = x.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    cos = tables[0]
    length, pairs = cos.shape[-2:]
    heads, of_head = (x.shape[1], x.stride(1)) if x.dim() == 4 else (1, 0)
    strides = x.stride(0), of_head, x.stride(-2), length * pairs if cos.dim() == 3 else 0
    numbers = TYPES[x.dtype], pairs, length, heads
    return y, [x, *tables, y, *numbers, *strides, interleaved, back]


def refuses(**arguments: Any) -> str:
    x: Tensor = arguments["x"]
    return "" if x.dtype in TYPES else f"no native kernel in {x.dtype}; PyTorch's runs"


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield both pairings, shared and per-sample tables, vectors and odd sizes, some strides."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape in ((2, 3, 5, 16), (2, 5, 6), (1, 2, 3, 32)):
            x = torch.randn(shape, generator=generator).to(dtype)
            length, pairs = shape[-2], shape[-1] // 2
            angles = torch.randn(shape[0], length, pairs, generator=generator)
            for of_angles in (angles, angles[0]):
                for interleaved in (False, True):
                    yield x, of_angles.cos(), of_angles.sin(), interleaved, False
            yield x, angles.cos().to(dtype), angles.sin().to(dtype), True, False
            if x.dim() == 4:
                apart = x.transpose(1, 2).contiguous().transpose(1, 2)
                yield apart, angles[0].cos().to(dtype), angles[0].sin().to(dtype), False, True

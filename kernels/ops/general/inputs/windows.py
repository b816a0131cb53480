"""Windows over series, each reduced to a number.

PyTorch computes FP64 and, on a GPU, more than MOST elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.fusion.arguments import takes_vectors
from kernels.ops.general.inputs import MOST
from kernels.table.autograd import Grad, Kept
from kernels.table.calls import TYPES
from kernels.table.launcher import Argument, CpuLauncher, CudaLauncher

REDUCTIONS = {"sum": 0, "mean": 1, "max": 2, "min": 3}  # as kernels number them
_THREADS, _GROUPS = 256, 2048  # per block: threads, and groups of elements
_VECTOR, _SIDE = 16, 4  # bytes; rows per thread, as kSide of model_inputs.cu


def check(x: Tensor, size: int, step: int, reduce: str) -> int:
    """Return the number of windows.

    Raises:
        ValueError: If an argument is invalid.
    """
    if not x.dim() or not x.is_floating_point():
        raise ValueError(
            f"sliding_window: x is {x.dtype} {list(x.shape)}; expected floating [..., length]"
        )
    if not 1 <= size <= x.shape[-1]:
        raise ValueError(f"sliding_window: size is {size}; expected 1 to {x.shape[-1]}")
    if step < 1:
        raise ValueError(f"sliding_window: step is {step}; expected at least 1")
    if reduce not in REDUCTIONS:
        raise ValueError(
            f"sliding_window: reduce is '{reduce}'; expected one of {', '.join(REDUCTIONS)}"
        )
    return (x.shape[-1] - size) // step + 1


def reference(x: Tensor, size: int, step: int, reduce: str) -> Tensor:
    check(x, size, step, reduce)
    windows = x.to(torch.promote_types(x.dtype, torch.float32)).unfold(-1, size, step)
    if reduce in ("max", "min"):
        y = windows.amax(-1) if reduce == "max" else windows.amin(-1)
    else:
        y = windows.sum(-1) if reduce == "sum" else windows.mean(-1)
    return y.to(x.dtype).contiguous()


def backward_reference(
    grad: Tensor, x: Tensor, y: Tensor, size: int, step: int, reduce: str
) -> Tensor:
    """Compute `sliding_window_backward` as a differentiable gather by whole windows."""
    _check_backward(grad, x, y, size, step, reduce)
    wide = torch.promote_types(x.dtype, torch.float32)
    shares = grad.to(wide)[..., None].expand(*grad.shape, size)
    if reduce in ("max", "min"):
        chosen = (x.unfold(-1, size, step) == y[..., None]).to(wide)
        shares = shares * chosen / chosen.sum(-1, keepdim=True)
    elif reduce == "mean":
        shares = shares / size
    at = torch.arange(x.shape[-1], device=x.device).unfold(-1, size, step).flatten()
    out = torch.zeros(x.shape, dtype=wide, device=x.device)
    return out.index_add(-1, at, shares.flatten(-2)).to(x.dtype)


def save(arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
    return [arguments[0], *results]


def gradients(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    backward: Any = torch.ops.styleforge.sliding_window_backward
    return backward(grad, *kept.tensors, *kept.options[1:]), None, None, None


def launch_cpu(launch: CpuLauncher, x: Tensor, size: int, step: int, reduce: str) -> Tensor:
    def run(_elements: int, *arguments: Argument) -> None:
        launch("styleforge_windows", *arguments)

    return _run(run, x, size, step, reduce)


def launch_cuda(launch: CudaLauncher, x: Tensor, size: int, step: int, reduce: str) -> Tensor:
    if x.numel() > MOST:
        return reference(x, size, step, reduce)

    def run(elements: int, *arguments: Any) -> None:
        x, y, kind, rows, length, windows, size, step, number = arguments
        group, of_window, apart = _grouped(size, step)
        if of_window > _GROUPS:
            launch("styleforge_large_windows", -(-elements // _THREADS), _THREADS, *arguments)
            return
        tile = min(windows, (_GROUPS - of_window) // apart + 1)
        of_row = (tile - 1) * apart + of_window
        tile_rows = min(rows, _GROUPS // of_row)
        launch(
            "styleforge_windows",
            -(-rows // tile_rows) * -(-windows // tile),
            _THREADS,
            *(x, y, kind, rows, length, windows, of_window, apart, number),
            *(group, tile_rows, tile, _at_once(group, length, x)),
        )

    return _run(run, x, size, step, reduce)


def _grouped(size: int, step: int) -> tuple[int, int, int]:
    """Return the group of elements that share their windows; size and step in groups."""
    group = math.gcd(size, step)
    return group, size // group, step // group


def _at_once(group: int, length: int, x: Tensor) -> int:
    """Return the elements of a group per load: a full 16 bytes, half of them, or 1 element."""
    most = _VECTOR // x.element_size()
    for count in (most, most // 2):
        if math.gcd(group, length) % count == 0 and x.data_ptr() % (count * x.element_size()) == 0:
            return count
    return 1


def backward_on_cpu(
    launch: CpuLauncher,
    grad: Tensor,
    x: Tensor,
    y: Tensor,
    size: int,
    step: int,
    reduce: str,
) -> Tensor:
    def run(_elements: int, *arguments: Argument) -> None:
        launch("styleforge_windows_gradient", *arguments)

    return _run_backward(run, grad, x, y, size, step, reduce)


def backward_on_cuda(
    launch: CudaLauncher,
    grad: Tensor,
    x: Tensor,
    y: Tensor,
    size: int,
    step: int,
    reduce: str,
) -> Tensor:
    if x.numel() > MOST:
        return backward_reference(grad, x, y, size, step, reduce)

    def run(elements: int, *arguments: Any) -> None:
        grad, x, y, out, kind, rows, length, windows, size, step, _ = arguments
        if reduce in ("max", "min"):
            given = grad, x, y, out, kind, rows, length, windows, size, step
            launch("styleforge_windows_gradient", -(-elements // _THREADS), _THREADS, *given)
            return
        group, of_window, apart = _grouped(size, step)
        at_once, vector = _at_once(group, length, out), takes_vectors(length, out)
        of_row = length // (_VECTOR // out.element_size() if vector else at_once)
        launch(
            "styleforge_window_sums_gradient",
            -(-(of_row * -(-rows // _SIDE)) // _THREADS),
            _THREADS,
            *(grad, out, kind, rows, length, windows, of_window, apart),
            *(1 / size if reduce == "mean" else 1.0, group, vector, at_once),
        )

    return _run_backward(run, grad, x, y, size, step, reduce)


def _run(run: Callable[..., None], x: Tensor, size: int, step: int, reduce: str) -> Tensor:
    windows = check(x, size, step, reduce)
    if x.dtype not in TYPES or not x.numel():
        return reference(x, size, step, reduce)
    x = x.contiguous()
    y = x.new_empty((*x.shape[:-1], windows))
    run(y.numel(), x, y, *_numbers(x, windows, size, step, reduce))
    return y


def _run_backward(
    run: Callable[..., None],
    grad: Tensor,
    x: Tensor,
    y: Tensor,
    size: int,
    step: int,
    reduce: str,
) -> Tensor:
    windows = _check_backward(grad, x, y, size, step, reduce)
    if x.dtype not in TYPES or not x.numel():
        return backward_reference(grad, x, y, size, step, reduce)
    tensors = grad.contiguous(), x.contiguous(), y.contiguous()
    out = torch.empty_like(tensors[1])
    run(x.numel(), *tensors, out, *_numbers(x, windows, size, step, reduce))
    return out


def _numbers(x: Tensor, windows: int, size: int, step: int, reduce: str) -> tuple[int, ...]:
    length = x.shape[-1]
    sizes = x.numel() // length, length, windows, size, step
    return TYPES[x.dtype], *sizes, REDUCTIONS[reduce]


def _check_backward(grad: Tensor, x: Tensor, y: Tensor, size: int, step: int, reduce: str) -> int:
    windows = check(x, size, step, reduce)
    wanted = (*x.shape[:-1], windows)
    for name, given in (("grad", grad), ("y", y)):
        if given.shape != wanted or given.dtype != x.dtype:
            raise ValueError(
                f"sliding_window_backward: {name} is {given.dtype} {list(given.shape)}; expected "
                f"{x.dtype} {list(wanted)}"
            )
    return windows


def refuses(**arguments: Any) -> str:
    dtype = arguments["x"].dtype
    return "" if dtype in TYPES else f"no native kernel in {dtype}; PyTorch's runs"


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield samples of every reduction.

    The windows overlap, touch, leave gaps or are large; one sample has equal values.
    """
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for reduce in REDUCTIONS:
            for shape, size, step in (((7,), 3, 1), ((2, 3, 20), 4, 4), ((5, 33), 3, 5)):
                x = torch.randn(shape, generator=generator).to(dtype)
                yield x, size, step, reduce
        yield torch.zeros(2, 2500).to(dtype), 5, 2, "max"
        yield torch.randn(1, 2110, generator=generator).to(dtype), 2100, 1, "max"
        yield torch.randn(2, 2500, generator=generator).to(dtype), 6, 1, "mean"


def samples_of_backward() -> Iterator[tuple[Any, ...]]:
    for x, *options in samples():
        y = reference(x, *options)
        grad = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).to(y.dtype)
        yield grad, x, y, *options

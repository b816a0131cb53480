"""Embeddings of tokens, with positions, or padded and cut to one length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ctypes import c_longlong, c_void_p
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.autograd import Gradient, Kept
from kernels.ops.cuda.calls import TYPES
from kernels.ops.launcher import Argument, CpuLauncher, CudaLauncher
from kernels.ops.model_inputs import MOST

_THREADS, _VECTOR = 256, 16
_OF_SEQUENCES = c_longlong, *[c_void_p] * 5, *[c_longlong] * 6, c_void_p  # of cpu/model_inputs.cpp
_ZEROS = -1  # in place of a token: a row of zeros


def reference(
    tokens: Tensor, weight: Tensor, position: Tensor, scale: float = 1.0, start: int = 0
) -> Tensor:
    """`embedding_position`."""
    _check_positions(tokens, weight, position, start)
    wide = torch.promote_types(weight.dtype, torch.float32)
    added = position[start : start + tokens.shape[1]].to(wide)
    return (F.embedding(tokens, weight).to(wide) * scale + added).to(weight.dtype)


def token_reference(
    tokens: list[Tensor], weight: Tensor, length: int, padding: int | None = None
) -> tuple[Tensor, Tensor]:
    """`token_embedding`."""
    numbers, given = padded(tokens, weight, length, padding)
    rows = F.embedding(numbers.clamp(min=0), weight, padding)
    if padding is None:
        rows = rows * given[..., None]
    return rows, given


def padded(
    tokens: list[Tensor], weight: Tensor, length: int, padding: int | None
) -> tuple[Tensor, Tensor]:
    """The tokens as a matrix [N, length], `_ZEROS` or `padding` behind them; which are given."""
    _check_tokens(tokens, weight, length, padding)
    flat, offsets = _flat(tokens, weight.device)
    place = torch.arange(length, device=weight.device)
    given = place < offsets.diff()[:, None]
    at = (offsets[:-1, None] + place).clamp(max=max(flat.numel() - 1, 0))
    behind = _ZEROS if padding is None else padding
    numbers = flat[at] if flat.numel() else at
    return torch.where(given, numbers, behind), given


def save(arguments: Sequence[Any], _results: Sequence[Tensor]) -> list[Tensor | None]:
    """What is kept for the backward of `embedding_position`: no more than shapes of the tables."""
    return list(arguments[:3])


def gradients(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
    """The gradients of the tables of `embedding_position`."""
    tokens, weight, position = kept.tensors
    scale, start = kept.options[3:]
    of_weight = of_position = None
    if kept.needs[1]:
        of_weight = _of_table(grad, tokens, weight, _ZEROS)
        if scale != 1:
            of_weight = of_weight * scale
    if kept.needs[2]:
        behind = position.shape[0] - start - tokens.shape[1]
        of_position = grad[0] if grad.shape[0] == 1 else grad.sum(0)
        if start or behind:
            of_position = F.pad(of_position, (0, 0, start, behind))
    return None, of_weight, of_position, None, None


def token_save(arguments: Sequence[Any], _results: Sequence[Tensor]) -> list[Tensor | None]:
    """What is kept for the backward of `token_embedding`."""
    tokens, weight, length, padding = arguments
    return [padded(tokens, weight, length, padding)[0], weight]


def token_gradients(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
    """The gradient of the table of `token_embedding`; the row of the padding has none."""
    numbers, weight = kept.tensors
    padding = kept.options[3]
    of_weight = None
    if kept.needs[1]:
        of_weight = _of_table(grad, numbers, weight, _ZEROS if padding is None else padding)
    return None, of_weight, None, None


def _of_table(grad: Tensor, tokens: Tensor, weight: Tensor, left_out: int) -> Tensor:
    run: Any = torch.ops.styleforge.embedding_backward
    return run(tokens, grad, weight.shape[0], left_out)


def launch_cpu(
    launch: CpuLauncher,
    tokens: Tensor,
    weight: Tensor,
    position: Tensor,
    scale: float = 1.0,
    start: int = 0,
) -> Tensor:
    """`embedding_position` by the C++ kernel; FP64 by PyTorch."""
    if weight.dtype not in TYPES:
        return reference(tokens, weight, position, scale, start)
    return _positions(_on_cpu(launch), tokens, weight, position, scale, start)


def launch_cuda(
    launch: CudaLauncher,
    tokens: Tensor,
    weight: Tensor,
    position: Tensor,
    scale: float = 1.0,
    start: int = 0,
) -> Tensor:
    """`embedding_position` by the CUDA kernel; FP64 and what is too large by PyTorch."""
    if weight.dtype not in TYPES or tokens.numel() * weight.shape[-1] > MOST:
        return reference(tokens, weight, position, scale, start)
    return _positions(_on_cuda(launch), tokens, weight, position, scale, start)


def launch_tokens_on_cpu(
    launch: CpuLauncher,
    tokens: list[Tensor],
    weight: Tensor,
    length: int,
    padding: int | None = None,
) -> tuple[Tensor, Tensor]:
    """`token_embedding` by the C++ kernel; FP64 by PyTorch."""
    if weight.dtype not in TYPES:
        return token_reference(tokens, weight, length, padding)
    return _sequences_on_cpu(launch, tokens, weight, length, padding)


def launch_tokens_on_cuda(
    launch: CudaLauncher,
    tokens: list[Tensor],
    weight: Tensor,
    length: int,
    padding: int | None = None,
) -> tuple[Tensor, Tensor]:
    """`token_embedding` by the CUDA kernel; FP64 and what is too large by PyTorch."""
    if weight.dtype not in TYPES or len(tokens) * length * weight.shape[-1] > MOST:
        return token_reference(tokens, weight, length, padding)
    return _tokens(_on_cuda(launch), tokens, weight, length, padding)


Embed = Callable[..., None]  # (rows, tokens, offsets, table, position, out, numbers...)


def _positions(
    embed: Embed, tokens: Tensor, weight: Tensor, position: Tensor, scale: float, start: int
) -> Tensor:
    _check_positions(tokens, weight, position, start)
    rows, (entries, width) = tokens.numel(), weight.shape
    out = weight.new_empty((*tokens.shape, width))
    if out.numel():
        tensors = tokens.contiguous(), None, weight.contiguous(), position[start:].contiguous(), out
        embed(
            rows,
            *tensors,
            TYPES[weight.dtype],
            rows,
            tokens.shape[1],
            width,
            entries,
            _ZEROS,
            float(scale),
        )
    return out


def _tokens(
    embed: Embed, tokens: list[Tensor], weight: Tensor, length: int, padding: int | None
) -> tuple[Tensor, Tensor]:
    _check_tokens(tokens, weight, length, padding)
    flat, offsets = _flat(tokens, weight.device)
    rows, (entries, width) = len(tokens) * length, weight.shape
    out = weight.new_empty((len(tokens), length, width))
    behind = _ZEROS if padding is None else padding
    if out.numel():
        tensors = flat, offsets, weight.contiguous(), None, out
        embed(rows, *tensors, TYPES[weight.dtype], rows, length, width, entries, behind, 1.0)
    return out, torch.arange(length, device=weight.device) < offsets.diff()[:, None]


def _flat(tokens: list[Tensor], device: torch.device) -> tuple[Tensor, Tensor]:
    """All tokens one after another, and where sequences begin and the last one ends."""
    offsets = [0]
    for each in tokens:
        offsets.append(offsets[-1] + each.numel())
    return torch.cat(tokens), torch.tensor(offsets, device=device)


def _on_cpu(launch: CpuLauncher) -> Embed:
    def embed(_rows: int, *arguments: Argument) -> None:
        tokens, _offsets, *tables, size, width, entries, _behind, scale = arguments
        missing = torch.zeros(1, dtype=torch.int64)
        launch("styleforge_embed", tokens, *tables, size, width, entries, scale, missing)
        _refuse_missing(missing)

    return embed


def _sequences_on_cpu(
    launch: CpuLauncher, tokens: list[Tensor], weight: Tensor, length: int, padding: int | None
) -> tuple[Tensor, Tensor]:
    """As `_tokens`, of sequences where they lie."""
    _check_tokens(tokens, weight, length, padding)
    given = [each.contiguous() for each in tokens]
    table, count = weight.contiguous(), len(tokens)
    out = table.new_empty((count, length, table.shape[1]))
    mask = torch.empty((count, length), dtype=torch.bool)
    missing = torch.zeros(1, dtype=torch.int64)
    run = launch.function("styleforge_embed_sequences", *_OF_SEQUENCES)
    run(
        torch.get_num_threads(),
        (c_void_p * count)(*(each.data_ptr() for each in given)),
        (c_longlong * count)(*(each.numel() for each in given)),
        table.data_ptr(),
        out.data_ptr(),
        mask.data_ptr(),
        TYPES[table.dtype],
        count,
        length,
        table.shape[1],
        table.shape[0],
        _ZEROS if padding is None else padding,
        missing.data_ptr(),
    )
    _refuse_missing(missing)
    return out, mask


def _refuse_missing(missing: Tensor) -> None:
    if missing.item():
        raise IndexError("a token is not in the table of embeddings")


def _on_cuda(launch: CudaLauncher) -> Embed:
    def embed(rows: int, *arguments: Argument) -> None:
        tables = [x for x in arguments[2:5] if isinstance(x, Tensor)]
        width, size = tables[0].shape[1], tables[0].element_size()
        vector = width * size % _VECTOR == 0 and all(x.data_ptr() % _VECTOR == 0 for x in tables)
        groups = rows * (width * size // _VECTOR if vector else width)
        launch("styleforge_embed", -(-groups // _THREADS), _THREADS, *arguments, vector)

    return embed


def _check_positions(tokens: Tensor, weight: Tensor, position: Tensor, start: int) -> None:
    name = "embedding_position"
    _check_table(name, weight)
    _check_numbers(name, tokens, weight, 2)
    if position.dtype != weight.dtype or position.device != weight.device:
        raise ValueError(
            f"{name}: position is {position.dtype} on {position.device}; expected {weight.dtype} "
            f"on {weight.device}"
        )
    last = start + tokens.shape[1]
    if position.dim() != 2 or position.shape[1] != weight.shape[1] or position.shape[0] < last:
        raise ValueError(
            f"{name}: position has the shape {list(position.shape)}; expected "
            f"[at least {last}, {weight.shape[1]}]"
        )
    if start < 0:
        raise ValueError(f"{name}: start is {start}; expected at least 0")


def _check_tokens(tokens: list[Tensor], weight: Tensor, length: int, padding: int | None) -> None:
    name = "token_embedding"
    _check_table(name, weight)
    if not tokens:
        raise ValueError(f"{name}: tokens is an empty list; expected at least one sequence")
    for each in tokens:
        _check_numbers(name, each, weight, 1)
    if length < 1:
        raise ValueError(f"{name}: length is {length}; expected at least 1")
    if padding is not None and not 0 <= padding < weight.shape[0]:
        raise ValueError(f"{name}: padding is {padding}; expected a row of the table, or None")


def _check_table(name: str, weight: Tensor) -> None:
    if weight.dim() != 2 or not weight.is_floating_point():
        raise ValueError(
            f"{name}: weight is {weight.dtype} {list(weight.shape)}; expected floating "
            "[tokens, size]"
        )


def _check_numbers(name: str, tokens: Tensor, weight: Tensor, dims: int) -> None:
    if tokens.dtype != torch.int64 or tokens.dim() != dims or tokens.device != weight.device:
        shape = "[N, L]" if dims == 2 else "[length]"
        raise ValueError(
            f"{name}: tokens is {tokens.dtype} {list(tokens.shape)} on {tokens.device}; expected "
            f"int64 {shape} on {weight.device}"
        )


def samples() -> Iterator[tuple[Any, ...]]:
    """Widths that fill vectors or not, and positions that begin later."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for width in (8, 5, 48):
            weight, position = (
                torch.randn(rows, width, generator=generator).to(dtype) for rows in (7, 9)
            )
            tokens = torch.randint(7, (2, 4), generator=generator)
            yield tokens, weight, position, 1.0, 0
            yield tokens.t(), weight, position, width**0.5, 3


def token_samples() -> Iterator[tuple[Any, ...]]:
    """Sequences that are cut, that are padded, and an empty one."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for width in (8, 5, 48):
            weight = torch.randn(7, width, generator=generator).to(dtype)
            tokens = [torch.randint(7, (n,), generator=generator) for n in (3, 6, 0, 1)]
            yield tokens, weight, 4, None
            yield tokens, weight, 4, 2


def refuses(**arguments: Any) -> str:
    """Why no kernel can run with these arguments; empty if one can."""
    dtype = arguments["weight"].dtype
    return "" if dtype in TYPES else f"no native kernel in {dtype}: PyTorch's runs there"

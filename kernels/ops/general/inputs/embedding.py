"""Embeddings of tokens, with positions, or padded and cut to one length.

PyTorch computes FP64 and, on a GPU, more than MOST elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ctypes import Structure, c_int, c_longlong, c_void_p
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.fusion.arguments import takes_vectors
from kernels.ops.general.inputs import MOST
from kernels.table.autograd import Grad, Kept
from kernels.table.calls import TYPES
from kernels.table.launcher import Argument, CpuLauncher, CudaLauncher

_THREADS, _WARP, _VECTOR = 256, 32, 16  # threads per block, threads per warp, bytes per load
_OF_ROW = 4  # vectors of a row per thread, as kOfRow of model_inputs.cu
_MOST_SEQUENCES = 256  # per launch
# argument types of model_inputs.cpp
_OF_SEQUENCES = c_longlong, *[c_void_p] * 6, *[c_longlong] * 6, c_void_p
_ZEROS = -1  # in place of a token, for a row of zeros


class StyleforgeSequences(Structure):
    """Mirror of StyleforgeSequences in sequences.h."""

    _fields_ = [
        ("tokens", c_void_p * _MOST_SEQUENCES),
        ("sizes", c_int * _MOST_SEQUENCES),
    ]


def reference(
    tokens: Tensor, weight: Tensor, position: Tensor, scale: float = 1.0, start: int = 0
) -> Tensor:
    _check_positions(tokens, weight, position, start)
    wide = torch.promote_types(weight.dtype, torch.float32)
    added = position[start : start + tokens.shape[1]].to(wide)
    return (F.embedding(tokens, weight).to(wide) * scale + added).to(weight.dtype)


def token_reference(
    tokens: list[Tensor], weight: Tensor, length: int, padding: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    _check_tokens(tokens, weight, length, padding)
    sizes = torch.tensor([each.numel() for each in tokens], device=weight.device)
    given = torch.arange(length, device=weight.device) < sizes[:, None]
    behind = _ZEROS if padding is None else padding
    numbers = weight.new_full((len(tokens), length), behind, dtype=torch.int64)
    for row, each in zip(numbers, tokens, strict=True):
        row[: each.numel()] = each[:length]
    rows = F.embedding(numbers.clamp(min=0), weight, padding)
    if padding is None:
        rows = rows * given[..., None]
    return rows, given, numbers


def save(arguments: Sequence[Any], _results: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the tensors to save; the backward pass uses only the shapes of the tables."""
    return list(arguments[:3])


def gradients(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    """Return the gradients of the tables of `embedding_position`."""
    tokens, weight, position = kept.tensors
    scale, start = kept.options[3:]
    of_weight = of_position = None
    if kept.needs[1]:
        of_weight = _of_table(grad, tokens, weight, _ZEROS)
        if scale != 1:
            of_weight = of_weight * scale
    if kept.needs[2]:
        behind = position.shape[0] - start - tokens.shape[1]
        of_position = _of_one_sequence(grad) if grad.shape[0] == 1 else grad.sum(0)
        if start or behind:
            of_position = F.pad(of_position, (0, 0, start, behind))
    return None, of_weight, of_position, None, None


def _of_one_sequence(grad: Tensor) -> Tensor:
    """Return grad[0] without a copy.

    Autograd uses a gradient as .grad without a copy if nothing else references it. So grad also
    references the view: while something else holds grad, such as a second sum of positions, .grad
    becomes a copy.
    """
    if torch.is_grad_enabled():
        return grad[0]
    # a view of grad itself would reference grad, and neither would ever be freed
    view = grad.detach()[0]
    grad.of_one_sequence = view  # pyright: ignore[reportAttributeAccessIssue]
    return view


def token_save(arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
    return [results[2], arguments[1]]


def token_gradients(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    """Return the gradient of the table of `token_embedding`, without the row of the padding."""
    numbers, weight = kept.tensors
    padding = kept.options[3]
    of_weight = None
    if kept.needs[1]:
        of_weight = _of_table(grad, numbers, weight, _ZEROS if padding is None else padding)
    return None, of_weight, None, None


def _of_table(grad: Tensor, tokens: Tensor, weight: Tensor, left_out: int) -> Tensor:
    run: Any = torch.ops.styleforge.embedding_backward
    return run(tokens, grad, weight.shape[0], left_out)


def launch_cpu(launch: CpuLauncher, tokens: Tensor, weight: Tensor, *options: Any) -> Tensor:
    if weight.dtype not in TYPES:
        return reference(tokens, weight, *options)
    missing = torch.zeros(1, dtype=torch.int64)

    def embed(*arguments: Argument) -> None:
        launch("styleforge_embed", *arguments, missing)
        _refuse_missing(missing)

    return _positions(embed, tokens, weight, *options)


def launch_cuda(launch: CudaLauncher, tokens: Tensor, weight: Tensor, *options: Any) -> Tensor:
    if weight.dtype not in TYPES or tokens.numel() * weight.shape[-1] > MOST:
        return reference(tokens, weight, *options)

    def embed(*arguments: Any) -> None:
        _, table, position, out, _, rows, *_ = arguments
        vector = takes_vectors(table.shape[1], table, position, out)
        blocks, lanes = _shared_out(rows, table, vector)
        launch("styleforge_embed", blocks, _THREADS, *arguments, vector, lanes)

    return _positions(embed, tokens, weight, *options)


def launch_tokens_on_cpu(
    launch: CpuLauncher,
    tokens: list[Tensor],
    weight: Tensor,
    length: int,
    padding: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    if weight.dtype not in TYPES:
        return token_reference(tokens, weight, length, padding)
    sequences = _Sequences(tokens, weight, length, padding)
    count, table = len(tokens), sequences.table
    missing = torch.zeros(1, dtype=torch.int64)
    run = launch.function("styleforge_embed_sequences", *_OF_SEQUENCES)
    run(
        torch.get_num_threads(),
        (c_void_p * count)(*sequences.addresses),
        (c_longlong * count)(*sequences.sizes),
        *(x.data_ptr() for x in (table, *sequences.results)),
        *(TYPES[table.dtype], count, length, table.shape[1], table.shape[0], sequences.behind),
        missing.data_ptr(),
    )
    _refuse_missing(missing)
    return sequences.results


def launch_tokens_on_cuda(
    launch: CudaLauncher,
    tokens: list[Tensor],
    weight: Tensor,
    length: int,
    padding: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if weight.dtype not in TYPES or len(tokens) * length * weight.shape[-1] > MOST:
        return token_reference(tokens, weight, length, padding)
    sequences = _Sequences(tokens, weight, length, padding)
    table = sequences.table
    vector = takes_vectors(table.shape[1], table, sequences.results[0])
    for first in range(0, len(tokens), _MOST_SEQUENCES):
        part = slice(first, first + _MOST_SEQUENCES)
        sizes = [min(size, length) for size in sequences.sizes[part]]
        told, rows = StyleforgeSequences(), len(sizes) * length
        told.tokens[: len(sizes)] = sequences.addresses[part]
        told.sizes[: len(sizes)] = sizes
        blocks, lanes = _shared_out(rows, table, vector)
        launch(
            "styleforge_embed_sequences",
            blocks,
            _THREADS,
            *(told, table, *(x[part] for x in sequences.results), TYPES[table.dtype]),
            *(rows, length, table.shape[1], table.shape[0], sequences.behind, vector, lanes),
        )
    return sequences.results


class _Sequences:
    """The checked arguments of `token_embedding`, by sequence, and its results.

    `behind` is the padding of sequences, a row of the table or `_ZEROS`.
    """

    def __init__(
        self, tokens: list[Tensor], weight: Tensor, length: int, padding: int | None
    ) -> None:
        _check_tokens(tokens, weight, length, padding)
        # keeps them alive while kernels read them
        self._tokens = [each.contiguous() for each in tokens]
        self.table = weight.contiguous()
        self.addresses = [each.data_ptr() for each in self._tokens]
        self.sizes = [each.numel() for each in self._tokens]
        self.behind = _ZEROS if padding is None else padding
        shape = len(tokens), length
        self.results = (
            weight.new_empty((*shape, weight.shape[1])),
            weight.new_empty(shape, dtype=torch.bool),
            weight.new_empty(shape, dtype=torch.int64),
        )


def _shared_out(rows: int, table: Tensor, vector: bool) -> tuple[int, int]:
    """Return blocks of `_THREADS` for the rows of a result, and threads per part of a row."""
    of_row = table.shape[1] // (_VECTOR // table.element_size() if vector else 1)
    lanes = 1
    while lanes < _WARP and lanes * _OF_ROW < of_row:
        lanes *= 2
    parts = -(-of_row // (lanes * _OF_ROW))
    return -(-rows * parts * lanes // _THREADS), lanes


def _positions(
    embed: Callable[..., None],
    tokens: Tensor,
    weight: Tensor,
    position: Tensor,
    scale: float,
    start: int,
) -> Tensor:
    _check_positions(tokens, weight, position, start)
    rows, (entries, width) = tokens.numel(), weight.shape
    out = weight.new_empty((*tokens.shape, width))
    if out.numel():
        tensors = tokens.contiguous(), weight.contiguous(), position[start:].contiguous(), out
        numbers = TYPES[weight.dtype], rows, tokens.shape[1], width, entries, float(scale)
        embed(*tensors, *numbers)
    return out


def _refuse_missing(missing: Tensor) -> None:
    if missing.item():
        raise IndexError("a token is not in the table of embeddings")


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
    """Yield widths that fill vectors or not, and positions that begin later."""
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
    """Yield cut sequences, padded ones, and an empty one."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for width in (8, 5, 48):
            weight = torch.randn(7, width, generator=generator).to(dtype)
            tokens = [torch.randint(7, (n,), generator=generator) for n in (3, 6, 0, 1)]
            yield tokens, weight, 4, None
            yield tokens, weight, 4, 2


def refuses(**arguments: Any) -> str:
    dtype = arguments["weight"].dtype
    return "" if dtype in TYPES else f"no native kernel in {dtype}; PyTorch's runs"

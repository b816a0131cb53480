"""The operations that prepare text for any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.model_inputs import CPU, CUDA, embedding, tables
from kernels.ops.model_inputs.timed import TIMED
from kernels.ops.registry import LIBRARY, fused


def _without_numbers(_given: Sequence[Any], results: Any) -> tuple[Tensor, Tensor]:
    """What a caller gets: the numbers serve the gradient."""
    return results[0], results[1]


@fused(
    CPU,
    reference=embedding.token_reference,
    samples=embedding.token_samples,
    launch_cpu=embedding.launch_tokens_on_cpu,
    cuda=CUDA,
    launch_cuda=embedding.launch_tokens_on_cuda,
    family=LIBRARY,
    timed=TIMED,
    save=embedding.token_save,
    backward=embedding.token_gradients,
    statistics=2,
    finish=_without_numbers,
    refuses=embedding.refuses,
    cuda_dtypes=(torch.int64,),
)
def token_embedding(
    tokens: list[Tensor], weight: Tensor, length: int, padding: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The embeddings of sequences that are cut or padded to one length.

    Args:
        tokens: The sequences, each int64 [any length], rows of the table. One that is not in the
            table is an IndexError on the CPU, and NaN on a GPU.
        weight: [tokens, size] of FP16, BF16, FP32 or FP64.
        length: Of the result: longer sequences lose their end.
        padding: The row of the table that stands behind shorter ones, which has no gradient, as in
            torch.nn.Embedding; zeros where it is None.

    Returns:
        [N, length, size] of weight's dtype, contiguous, and a mask, bool [N, length], that is true
        where a token was given. The operation itself gives for backward also the numbers of the
        rows, int64 [N, length].

    Raises:
        ValueError: A shape, a dtype, a device or a number does not fit.
        IndexError: On the CPU, a token is not in the table.
    """
    ...


@fused(
    CPU,
    reference=tables.reference,
    samples=tables.samples,
    launch_cpu=tables.launch_cpu,
    cuda=CUDA,
    launch_cuda=tables.launch_cuda,
    tolerance_scale=8,
    family=LIBRARY,
    refuses=tables.refuses,
    cuda_dtypes=(torch.int64,),
)
def embedding_backward(tokens: Tensor, grad: Tensor, entries: int, left_out: int = -1) -> Tensor:
    """The gradient of a table of embeddings: of each row the sum of what its tokens have.

    Tokens are sorted, and every sum has a fixed order.

    Args:
        tokens: int64 [...], rows of the table. One that is not in it has no gradient.
        grad: [..., size] of FP16, BF16, FP32 or FP64, by token. Sums are FP32 (FP64 in FP64).
        entries: Rows of the table.
        left_out: The row that has no gradient, such as that of a padding, or -1.

    Returns:
        [entries, size] of grad's dtype.

    Raises:
        ValueError: An argument does not fit.
    """
    ...

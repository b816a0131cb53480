"""The operations that prepare text for any model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.ops.general.inputs import CPU, CUDA, embedding, tables
from kernels.ops.general.inputs.timed import TIMED
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient, Hidden

__all__ = ["embedding_backward", "token_embedding"]


@Operation(
    reference=embedding.token_reference,
    samples=embedding.token_samples,
    cpu=Cpu(CPU, embedding.launch_tokens_on_cpu),
    cuda=Cuda(CUDA, embedding.launch_tokens_on_cuda, dtypes=(torch.int64,)),
    gradient=Gradient(embedding.token_save, embedding.token_gradients, statistics=2),
    hidden=Hidden(1),
    refuses=embedding.refuses,
    timed=TIMED["token_embedding"],
)
def token_embedding(
    tokens: Sequence[Tensor], weight: Tensor, length: int, padding: int | None = None
) -> tuple[Tensor, Tensor]:
    """Embed sequences that are cut or padded to one length.

    Returns [N, length, size] of weight's dtype, contiguous, and a mask, bool [N, length], true for
    a given token. The operation itself also returns the row numbers for the backward pass, int64
    [N, length].

    Args:
        tokens: The sequences, each int64 [any length] of table rows. A token that is not in the
            table raises IndexError on the CPU and gives NaN on a GPU.
        weight: [tokens, size] of FP16, BF16, FP32 or FP64.
        length: Length of the result. Longer sequences lose their end.
        padding: The table row that pads shorter sequences and has no gradient, as in
            torch.nn.Embedding. None pads with zeros.
    """
    ...


@Operation(
    reference=tables.reference,
    samples=tables.samples,
    cpu=Cpu(CPU, tables.launch_cpu),
    cuda=Cuda(CUDA, tables.launch_cuda, dtypes=(torch.int64,)),
    refuses=tables.refuses,
    tolerance_scale=8,
)
def embedding_backward(tokens: Tensor, grad: Tensor, entries: int, left_out: int = -1) -> Tensor:
    """Compute the gradient of an embedding table: each row sums the gradients of its tokens.

    The tokens are sorted, and every sum has a fixed order. Returns [entries, size] of grad's dtype.

    Args:
        tokens: int64 [...], table rows. A token that is not in the table has no gradient.
        grad: [..., size] of FP16, BF16, FP32 or FP64, per token. Sums are FP32 (FP64 in FP64).
        left_out: The row without a gradient, such as the padding's, or -1.
    """
    ...

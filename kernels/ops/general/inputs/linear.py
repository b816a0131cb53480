"""The linear operations for embeddings with positions and for products of many tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.inputs import CPU, CUDA, embedding
from kernels.ops.general.inputs.timed import TIMED
from kernels.ops.general.linear.timed import TIMED as PRODUCTS
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient

__all__ = ["contract_reshape", "embedding_position"]


def _contract(equation: str, operands: list[Tensor], shape: list[int]) -> Tensor:
    try:
        return torch.einsum(equation, *operands).reshape(shape)
    except RuntimeError as error:
        given = ", ".join(str(list(x.shape)) for x in operands)
        raise ValueError(
            f"contract_reshape: operands have the shapes {given}; expected ones that "
            f"'{equation}' contracts to as many elements as shape, {list(shape)}: {error}"
        ) from error


def _samples() -> Iterator[tuple[Any, ...]]:
    generator = torch.Generator().manual_seed(0)
    x, y, z = (torch.randn(shape, generator=generator) for shape in ((2, 3), (3, 4), (4, 5)))
    yield "ij,jk->ik", [x, y], [2, 2, 2]
    yield "ij,jk,kl->li", [x, y, z], [-1]


@Operation(
    reference=embedding.reference,
    samples=embedding.samples,
    cpu=Cpu(CPU, embedding.launch_cpu),
    cuda=Cuda(CUDA, embedding.launch_cuda, dtypes=(torch.int64,)),
    gradient=Gradient(embedding.save, embedding.gradients),
    refuses=embedding.refuses,
    timed=TIMED["embedding_position"],
)
def embedding_position(
    tokens: Tensor, weight: Tensor, position: Tensor, scale: float = 1.0, start: int = 0
) -> Tensor:
    """Compute weight[tokens] scale + position[start : start + L].

    These are embeddings with learned positions. Returns [N, L, size] of weight's dtype, contiguous.

    Args:
        tokens: int64 [N, L], table rows. A token that is not in the table raises IndexError on the
            CPU and gives NaN on a GPU.
        weight: [tokens, size] of FP16, BF16, FP32 or FP64.
        position: [at least start + L, size] of weight's dtype.
        scale: Such as size**0.5 in "Attention Is All You Need" (Vaswani et al., 2017).
        start: The position of the first token.
    """
    ...


@Operation(
    reference=_contract,
    samples=_samples,
    cpu=Cpu(named="PyTorch's einsum"),
    composed=_contract,
    timed=PRODUCTS["contract_reshape"],
)
def contract_reshape(equation: str, operands: Sequence[Tensor], shape: Sequence[int]) -> Tensor:
    """Compute torch.einsum(equation, *operands).reshape(shape) with PyTorch's matrix products.

    Returns a tensor of this shape, a view of the product if possible. One size may be -1. The
    operands have one dtype.

    Raises:
        ValueError: If the shapes do not match the equation, or the product does not match the
            shape.
    """
    ...

"""The table of elementwise functions: their inputs, and the inputs that share a gradient."""

from __future__ import annotations

from typing import NamedTuple

import torch

# Numbered as in StyleforgeElements.
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.float64: 3}


class Function(NamedTuple):
    """A row of the table.

    Attributes:
        name: As in the functors' table in functors.h, in the same order.
        inputs: Names of the tensors in messages, in the order that kernels read them.
        gradients: For each distinct gradient, the indices of its inputs; inputs that are added
            share one.
        drops: Whether it has dropout, whose elements are numbered row by row.
        of_result: Whether its gradients follow from its result. Backward then reads that one tensor
            in place of the inputs, as in PyTorch.
    """

    name: str
    inputs: tuple[str, ...]
    gradients: tuple[tuple[int, ...], ...]
    drops: bool = False
    of_result: bool = False

    @property
    def kept(self) -> tuple[str, ...]:
        """The names, in messages, of the tensors that backward reads besides the gradient."""
        return ("result",) if self.of_result else self.inputs

    @property
    def number(self) -> int:
        """The index in the functors' table."""
        return tuple(FUNCTIONS).index(self.name)


FUNCTIONS = {
    row.name: row
    for row in (
        Function("add_relu", ("x", "y"), ((0, 1),), of_result=True),
        Function("multiply_relu", ("x", "y"), ((0,), (1,))),
        Function("add_sigmoid", ("x", "y"), ((0, 1),), of_result=True),
        Function("mul_tanh", ("x", "y"), ((0,), (1,))),
        Function("bias_gelu", ("x", "bias"), ((0, 1),)),
        Function("bias_gelu_tanh", ("x", "bias"), ((0, 1),)),
        Function("gelu_dropout", ("x",), ((0,),), drops=True),
        Function("swish_multiply", ("x", "gate"), ((0,), (1,))),
        Function("mish_scale", ("x", "scale"), ((0,), (1,))),
        Function("prelu_bias", ("x", "bias", "alpha"), ((0, 1), (2,))),
        Function("attention_dropout", ("scores",), ((0,),), drops=True),
    )
}

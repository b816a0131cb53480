"""Losses and the norm of gradients against PyTorch's calls one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from app.commands.bench.operation_case import Case
from kernels.ops import cross_entropy, linear_cross_entropy, mse_loss, total_norm

# Backwards are not measured alone, and what is written in place not here.
OPERATIONS = (
    "cross_entropy", "cross_entropy_backward", "linear_cross_entropy",
    "linear_cross_entropy_backward", "mse_loss", "adam_step", "sgd_step", "total_norm",
    "clip_grads_with_norm",
)  # fmt: skip
DTYPES = {"FP32": torch.float32, "BF16": torch.bfloat16}
SIDE = 2048
ON_CPU = 256, 32000, 64  # tokens, classes, features
ON_GPU = 8192, 128256, 4096

Way = Callable[..., Tensor]


def cases(device: torch.device) -> Iterator[Case]:
    """Each operation in two precisions; on a GPU with the classes of a large language model."""
    tokens, classes, features = ON_GPU if device.type == "cuda" else ON_CPU
    generator = torch.Generator(device).manual_seed(0)
    for precision, dtype in DTYPES.items():

        def normal(*shape: int, dtype: torch.dtype = dtype) -> Tensor:
            return torch.randn(shape, generator=generator, device=device).to(dtype)

        labels = torch.randint(0, classes, (tokens,), generator=generator, device=device)
        logits = normal(tokens, classes)
        hidden, head = normal(tokens, features), normal(classes, features) / features**0.5
        x, y = normal(SIDE, SIDE), normal(SIDE, SIDE)
        case = partial(_case, precision)
        of_logits, of_hidden = f"{tokens}x{classes}", f"{tokens}x{features} to {classes}"
        yield case("cross_entropy", of_logits, F.cross_entropy, cross_entropy, logits, labels)
        yield case(
            "linear_cross_entropy", of_hidden, _linear, linear_cross_entropy, hidden, head, labels
        )
        yield case("mse_loss", f"{SIDE}x{SIDE}", F.mse_loss, mse_loss, x, y)
        yield case("total_norm", f"{SIDE}x{SIDE} and {SIDE}x{SIDE}", _norm, _total_norm, x, y)


def _linear(hidden: Tensor, head: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(hidden, head), labels)


def _norm(*tensors: Tensor) -> Tensor:
    return torch.nn.utils.get_total_norm(tensors)


def _total_norm(*tensors: Tensor) -> Tensor:
    return total_norm(list(tensors))


def _case(precision: str, name: str, shape: str, eager: Way, ours: Way, *given: Tensor) -> Case:
    def exact() -> Any:
        return eager(*(x.double() if x.is_floating_point() else x for x in given))

    return Case(
        name, shape, precision, "rows", partial(eager, *given), lambda _: ours(*given), exact
    )

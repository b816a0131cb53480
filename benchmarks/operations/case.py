"""One operation on arguments: our way to compute it, PyTorch's, and an exact one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from kernels.table.autograd import tensors_of

DTYPES = {"FP32": torch.float32, "FP16": torch.float16, "BF16": torch.bfloat16}

Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One operation on arguments, in a precision.

    Attributes:
        precision: A name in DTYPES, or "TF32".
        given: The arguments of every way.
        eager: PyTorch's calls.
        ours: The operation as it runs by default.
        exact: Called with the arguments in float64; `eager` by default.
        layout: "NCHW", "NHWC", or in words.
        own: Our own kernel, if another one may be the default.
        why_not: Returns why it is not the default here; "" if it is.
        group: The operation's module in the library.
        constants: Indices of arguments without a gradient.
        is_random: Whether `eager` draws other random numbers, so that its error is meaningless.
        is_joint: Whether backward is timed only together with forward.
        is_large: Whether it is timed so as well.
    """

    operation: str
    shape: str
    precision: str
    given: Sequence[Any]
    eager: Run
    ours: Run
    exact: Run | None = None
    layout: str = ""
    own: Run | None = None
    why_not: Callable[[], str] = str
    group: str = ""
    constants: tuple[int, ...] = ()
    is_random: bool = False
    is_joint: bool = False
    is_large: bool = False


class Draw(NamedTuple):
    """Normal random numbers on a device in a precision, the same in every run."""

    device: torch.device
    precision: str

    def __call__(self, *shape: int, scale: float = 1.0) -> Tensor:
        generator = torch.Generator().manual_seed(sum(shape))
        x = torch.randn(shape, generator=generator) * scale
        return x.to(self.device, DTYPES.get(self.precision, torch.float32))

    def planes(self, *shape: int) -> Tensor:
        """Draw [N, C, H, W] in channels-last layout."""
        return self(*shape).contiguous(memory_format=torch.channels_last)


def in_float64(given: Sequence[Any]) -> list[Any]:
    """Return arguments with floating-point tensors in float64."""
    return [changed(x, lambda x: x.double() if x.is_floating_point() else x) for x in given]


def changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return an argument with every tensor changed, including the ones in a list."""
    if isinstance(value, list):
        return [changed(each, change) for each in cast("list[Any]", value)]
    return change(value) if isinstance(value, Tensor) else value


def shape_of(tensors: Iterable[Tensor]) -> str:
    """Return the shape of the largest tensor as text, such as "4x8"."""
    largest = max((x.shape for x in tensors), key=lambda shape: shape.numel())
    return "x".join(map(str, largest)) or "1"


def results(found: Any) -> tuple[Tensor, ...]:
    """Return the tensors of a result."""
    return (found,) if isinstance(found, Tensor) else tuple(tensors_of(found))

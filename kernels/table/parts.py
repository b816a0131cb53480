"""The named parts of an operation: its way on each device, its gradient, its hidden results.

Each function of a part is called with all arguments of the operation, in order. The signature of
the operation states them once; a call is bound to it once, with its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, NamedTuple

import torch

from kernels.table.autograd import Backward, Save
from kernels.table.launcher import CpuLauncher, CudaLauncher


@dataclass(frozen=True, slots=True)
class Cpu:
    """The way of an operation on the CPU. Without a launch and a path, its reference runs.

    Attributes:
        library: The library of its kernel, see kernels.jit.libraries. For a path composed of other
            operations, their library; empty if they are PyTorch's own.
        launch: Runs the operation: it allocates the result and calls the functions of the library
            through its first argument, the CpuLauncher.
        path: The fast path if it is composed of operations and is not the reference.
        named: The name of PyTorch's or a composed path, which also runs on a GPU without a kernel;
            "{norm}" stands for the norm in use.
    """

    library: str = ""
    launch: Callable[Concatenate[CpuLauncher, ...], Any] | None = None
    path: Callable[..., Any] | None = None
    named: str = ""

    def __post_init__(self) -> None:
        _demand_library(self.library, self.launch)


@dataclass(frozen=True, slots=True)
class Cuda:
    """The kernel of an operation on a GPU.

    Attributes:
        library: The library of its kernel, or of the operations it is composed of.
        launch: Runs the operation on the current GPU, through its first argument, the CudaLauncher.
        dtypes: The dtypes that the kernel accepts for its first tensor.
    """

    library: str
    launch: Callable[Concatenate[CudaLauncher, ...], Any] | None = None
    dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.float16, torch.bfloat16)

    def __post_init__(self) -> None:
        _demand_library(self.library, self.launch)


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of an operation. Without `save` and `backward`, its reference is differentiated.

    Attributes:
        save: Selects the tensors to save from the arguments and the results. Random numbers of the
            forward pass are saved as their state, an argument of the operation, so that backward
            draws the same ones.
        backward: Returns the gradient of each argument from the saved state (autograd.Kept) and the
            gradients of the results: a tensor, a list of them for a list, or None. It calls
            operations that the dispatcher knows, so that it can be traced. For a second derivative,
            these operations need a gradient themselves.
        statistics: Number of last results that only serve `backward` and have no gradient.
        recorded: Runs in place of the operation if an argument needs a gradient. It calls other
            operations of the table, with their gradients. If it returns None, the operation runs.
    """

    save: Save | None = None
    backward: Backward | None = None
    statistics: int = 0
    recorded: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        has_backward = self.backward is not None
        if (self.save is not None) != has_backward or (self.statistics and not has_backward):
            raise ValueError("an operation must have both save and backward, or neither")


@dataclass(frozen=True, slots=True)
class Hidden:
    """The last results of the dispatcher's operation, which the function does not return.

    The decorated signature leaves them out.

    Attributes:
        results: Their number.
        update: Called with all arguments in order and all results. It writes the tensors that
            PyTorch's own operations can write, such as running statistics, so that the operation
            itself writes nothing and has gradients.
    """

    results: int = 0
    update: Callable[[Sequence[Any], Any], None] | None = None

    def __post_init__(self) -> None:
        if self.update is not None and not self.results:
            raise ValueError("an operation with an update has hidden results that it reads")


class Timed(NamedTuple):
    """How `python -m kernel_fusion bench` times an operation for any model.

    Attributes:
        eager: The equivalent PyTorch calls, with the same arguments.
        arguments: Called with rows and columns; returns arguments on the default device around a
            tensor of that size, in FP32 if they are floating.
        is_random: Whether PyTorch's calls draw other random numbers, so that an error is
            meaningless.
        constants: Indices of arguments without a gradient in a model, such as running statistics
            and the angles of positions.
        is_joint: Whether the forward pass computes wanted gradients already, so that it is also
            timed together with backward.
        is_of_products: Whether matrix products dominate its time, which then grows faster than its
            data, so that smaller sizes are timed.
        large: Each returns arguments of a fixed size, on which a GPU is timed as well, also forward
            and backward together, because saved tensors are part of the memory they need.
    """

    eager: Callable[..., Any]
    arguments: Callable[[int, int], Sequence[Any]]
    is_random: bool = False
    constants: tuple[int, ...] = ()
    is_joint: bool = False
    is_of_products: bool = False
    large: tuple[Callable[[], Sequence[Any]], ...] = ()


def seeded(seed: int) -> torch.Generator:
    """Return a generator on the default device, where `Timed.arguments` makes its tensors."""
    return torch.Generator(torch.get_default_device()).manual_seed(seed)


def _demand_library(library: str, launch: object) -> None:
    if launch is not None and not library:
        raise ValueError("an operation with a launch must name its library")

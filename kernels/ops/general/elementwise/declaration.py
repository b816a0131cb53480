"""The shared declaration of the elementwise operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec

import torch
from torch import Tensor

from kernels.ops.general.elementwise import dropped, on_cpu, on_cuda, reference
from kernels.ops.general.elementwise.arguments import check_dropout
from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES, Function
from kernels.ops.general.elementwise.timed import TIMED, pair
from kernels.table.autograd import Grad, Kept
from kernels.table.launcher import CpuLauncher, CudaLauncher
from kernels.table.names import GENERAL, NAMESPACE
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient, Timed
from kernels.table.philox import draw_state

P = ParamSpec("P")
# Returns the arguments of `reference.forward` from the operation's: the function and its inputs,
# and with dropout the probability and the random state.
Spelled = Callable[..., tuple[Any, ...]]


def elementwise(
    *,
    samples: Callable[[], Iterable[tuple[Any, ...]]],
    spelled: Spelled | None = None,
    recorded: Callable[..., Any] | None = None,
    **parts: Any,
) -> Callable[[Callable[P, Tensor]], Callable[P, Tensor]]:
    """Declare the decorated signature as the function of that name in the table.

    Its tensors have the names of the function's inputs. All other arguments match `Operation`.

    Args:
        spelled: By default, the operation's arguments are the function's inputs in their order. A
            function with dropout has the arguments x, p, training and state.
    """

    def register(signature: Callable[P, Tensor]) -> Callable[P, Tensor]:
        row = FUNCTIONS[signature.__name__]
        spell = spelled or (_dropping(row.name) if row.drops else _alone(row.name))

        def means(*args: Any) -> Tensor:
            return reference.forward(*spell(*args))

        def launch_cpu(launch: CpuLauncher, *args: Any) -> Tensor:
            return on_cpu.forward(launch, *spell(*args))

        def launch_cuda(launch: CudaLauncher, *args: Any) -> Tensor:
            return on_cuda.forward(launch, *spell(*args))

        names = list(inspect.signature(signature).parameters)
        own = _Gradients(row, spell, [names.index(each) for each in row.inputs])
        instead = dropped.in_place_of(row.name) if row.drops else recorded
        return Operation(
            reference=means,
            samples=samples,
            cpu=Cpu(on_cpu.LIBRARY_ON_CPU, launch_cpu),
            cuda=Cuda(GENERAL, launch_cuda, dtypes=tuple(TYPES)),
            gradient=Gradient(own.save, own.backward, recorded=instead),
            complete=_drawn if row.drops else None,
            refuses=_refuses,
            timed=TIMED.get(row.name) or Timed(row.forward, pair),
            **parts,
        )(signature)

    return register


def _alone(function: str) -> Spelled:
    def spell(*inputs: Tensor) -> tuple[Any, ...]:
        return function, inputs

    return spell


def _dropping(function: str) -> Spelled:
    def spell(x: Tensor, p: float, training: bool, state: Tensor | None) -> tuple[Any, ...]:
        active = training and p > 0
        check_dropout(function, p, state, active)
        return function, (x,), p, state if active else None

    return spell


def _drawn(x: Tensor, p: float, training: bool, state: Tensor | None) -> tuple[Any, ...]:
    """Return the arguments of a dropout operation, with a state if it drops elements."""
    if state is None and training and p > 0:
        state = draw_state(x.device)
    return x, p, training, state


class _Gradients:
    """The gradient of an operation.

    Args:
        places: For each input of the function, the index of its argument.
    """

    def __init__(self, row: Function, spell: Spelled, places: Sequence[int]) -> None:
        self._row, self._spell, self._places = row, spell, places

    def save(self, arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
        """Return the tensors to save: the inputs, the result or None, and the state of dropout.

        If backward reads the result in place of the inputs, inputs like the result are None. The
        others are saved because their gradients need their shape and dtype.
        """
        given: list[Tensor | None] = [arguments[at] for at in self._places]
        result = results[0] if self._row.of_result else None
        if result is not None:
            given = [None if x is not None and _alike(x, result) else x for x in given]
        return [*given, result, arguments[-1] if self._row.drops else None]

    def backward(self, kept: Kept, grad: Tensor) -> Sequence[Grad]:
        """Compute the gradients of all arguments and their broadcast sums, in one pass."""
        *given, result, state = kept.tensors
        given = [result if x is None else x for x in given]
        arguments = [*kept.options]
        for at, x in zip(self._places, given, strict=True):
            arguments[at] = x
        if self._row.drops:
            arguments[-1] = state
        name, inputs, *dropout = self._spell(*arguments)
        needs = [kept.needs[at] for at in self._places]
        # For each gradient, the inputs of its shape, and the inputs broadcast to it.
        whole = [[each for each in of if needs[each]] for of in self._row.gradients]
        small = [
            (number, each)
            for number, of in enumerate(whole)
            for each in of
            if inputs[each].shape != grad.shape
        ]
        for number, each in small:
            whole[number].remove(each)
        wanted = [bool(of) for of in whole]
        read = [result] if self._row.of_result else list(inputs)
        operations = getattr(torch.ops, NAMESPACE)
        if small:
            like, of_gradient = [inputs[each] for _, each in small], [number for number, _ in small]
            sums = operations.elementwise_sums_backward
            found = iter(sums(grad, read, name, wanted, like, of_gradient, *dropout))
        else:
            found = iter(operations.elementwise_backward(grad, read, name, wanted, *dropout))
        gradients: list[Grad] = [None] * len(arguments)
        for of in [*(of for of in whole if of), *([each] for _, each in small)]:
            made: Tensor = next(found)
            for each in of:
                own, x = made, given[each]
                # Inputs that are added share one tensor, which autograd copies if it keeps both.
                # Views of it would look like two tensors with their own memory.
                if not _alike(made, x):
                    own = made.reshape(x.shape).to(x.dtype)
                gradients[self._places[each]] = own
        return gradients


def _alike(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and first.dtype == second.dtype


def _refuses(**arguments: Any) -> str:
    found = [x for x in arguments.values() if isinstance(x, Tensor) and x.dtype in TYPES]
    return on_cpu.refuses(found) if found else ""

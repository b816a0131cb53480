"""The shared registration of the elementwise operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, cast

import torch
from torch import Tensor

from kernels.ops.general.elementwise import on_cpu, on_cuda, reference
from kernels.ops.general.elementwise.arguments import check_dropout
from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES
from kernels.ops.general.elementwise.timed import TIMED
from kernels.table.autograd import Gradient, Kept
from kernels.table.launcher import CpuLauncher, CudaLauncher
from kernels.table.philox import draw_state
from kernels.table.registry import LIBRARY, NAMESPACE, fused

P = ParamSpec("P")


class Run(Protocol):
    """A callable that computes a function of the table, in PyTorch or in a kernel."""

    def __call__(
        self, function: str, inputs: Sequence[Tensor], p: float = 0.0, state: Tensor | None = None
    ) -> Tensor: ...


def _same(*inputs: Tensor) -> Sequence[Tensor]:
    return inputs


def _never(_arguments: Sequence[Any]) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Spelling:
    """A mapping from the arguments of an operation to a function of the table.

    Attributes:
        forward: The operation, called with a `Run` and its arguments.
        function: Returns the function's name from all arguments, with None in place of tensors.
        places: For each input of the function, the index of its argument.
        dropped: Returns the dropout probability from the arguments.
    """

    forward: Callable[..., Tensor]
    function: Callable[[Sequence[Any]], str]
    places: tuple[int, ...]
    dropped: Callable[[Sequence[Any]], float] = _never
    adapted: Callable[..., Sequence[Tensor]] = _same

    def save(self, arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
        """Return the tensors to save: the inputs, the result or None, and the state of dropout.

        If backward reads the result in place of the inputs, inputs like the result are None. The
        others are saved because their gradients need their shape and dtype.
        """
        row = FUNCTIONS[self.function(arguments)]
        given: list[Tensor | None] = [arguments[at] for at in self.places]
        result = results[0] if row.of_result else None
        if result is not None:
            given = [None if x is not None and _alike(x, result) else x for x in given]
        return [*given, result, arguments[-1] if row.drops else None]

    def backward(self, kept: Kept, grad: Tensor) -> Sequence[Gradient]:
        """Compute the gradients of all arguments and their broadcast sums, in one pass."""
        *given, result, state = kept.tensors
        given = [result if x is None else x for x in given]
        name, inputs = self.function(kept.options), self.adapted(*given)
        needs = [kept.needs[at] for at in self.places]
        row = FUNCTIONS[name]
        p = self.dropped(kept.options)
        # For each gradient, the inputs of its shape, and the inputs broadcast to it.
        whole = [[each for each in of if needs[each]] for of in row.gradients]
        small = [
            (number, each)
            for number, of in enumerate(whole)
            for each in of
            if inputs[each].shape != grad.shape
        ]
        for number, each in small:
            whole[number].remove(each)
        wanted = [bool(of) for of in whole]
        read = [result] if row.of_result else list(inputs)
        drawn = state if p > 0 else None
        operations = getattr(torch.ops, NAMESPACE)
        if small:
            like, of_gradient = [inputs[each] for _, each in small], [number for number, _ in small]
            arguments = (grad, read, name, wanted, like, of_gradient, p, drawn)
            found = iter(operations.elementwise_sums_backward(*arguments))
        else:
            found = iter(operations.elementwise_backward(grad, read, name, wanted, p, drawn))
        gradients: list[Gradient] = [None] * len(kept.options)
        for of in [*(of for of in whole if of), *([each] for _, each in small)]:
            made: Tensor = next(found)
            for each in of:
                own, x = made, given[each]
                # Inputs that are added share one tensor, which autograd copies if it keeps both.
                # Views of it would look like two tensors with their own memory.
                if not _alike(made, x):
                    own = made.reshape(x.shape).to(x.dtype)
                gradients[self.places[each]] = own
        return gradients


def _alike(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and first.dtype == second.dtype


def two(function: str) -> Spelling:
    """Return the spelling of an operation whose arguments are the two inputs of a function."""

    def forward(run: Run, x: Tensor, y: Tensor) -> Tensor:
        return run(function, (x, y))

    return Spelling(forward, lambda _: function, (0, 1))


def dropping(function: str) -> Spelling:
    """Return the spelling of a dropout operation with the arguments x, p, training and state."""

    def forward(
        run: Run, x: Tensor, p: float = 0.5, training: bool = True, state: Tensor | None = None
    ) -> Tensor:
        active = training and p > 0
        check_dropout(function, p, state, active)
        return run(function, (x,), p, state if active else None)

    def dropped(arguments: Sequence[Any]) -> float:
        _, p, training, _ = arguments
        return p if training else 0.0

    return Spelling(forward, lambda _: function, (0,), dropped)


def drawn(x: Tensor, p: float, training: bool, state: Tensor | None) -> tuple[Any, ...]:
    """Return the arguments of a dropout operation, with a state if it drops elements."""
    if state is None and training and p > 0:
        state = draw_state(x.device)
    return x, p, training, state


def elementwise(
    spelling: Spelling,
    *,
    samples: Callable[[], Iterable[tuple[Any, ...]]],
    aliases: tuple[str, ...] = (),
    is_flat: bool = False,
    tolerance_scale: float = 1.0,
    complete: Callable[..., tuple[Any, ...]] | None = None,
    recorded: Callable[..., Any] | None = None,
) -> Callable[[Callable[P, Tensor]], Callable[P, Tensor]]:
    """Register the decorated signature as an elementwise operation.

    All other arguments match `fused`; `complete` draws the random state if the caller passed none.
    """

    def means(*args: Any, **kwargs: Any) -> Tensor:
        return spelling.forward(reference.forward, *args, **kwargs)

    def launch_cpu(launch: CpuLauncher, *args: Any, **kwargs: Any) -> Tensor:
        def run(
            function: str, inputs: Sequence[Tensor], p: float = 0.0, state: Tensor | None = None
        ) -> Tensor:
            return on_cpu.forward(launch, function, inputs, p, state)

        return spelling.forward(run, *args, **kwargs)

    def launch_cuda(launch: CudaLauncher, *args: Any, **kwargs: Any) -> Tensor:
        def run(
            function: str, inputs: Sequence[Tensor], p: float = 0.0, state: Tensor | None = None
        ) -> Tensor:
            return on_cuda.forward(launch, function, inputs, p, state)

        return spelling.forward(run, *args, **kwargs)

    register = fused(
        on_cpu.LIBRARY_ON_CPU,
        reference=means,
        samples=samples,
        launch_cpu=launch_cpu,
        launch_cuda=launch_cuda,
        cuda=LIBRARY,
        family=LIBRARY,
        cuda_dtypes=tuple(TYPES),
        tolerance_scale=tolerance_scale,
        save=spelling.save,
        backward=spelling.backward,
        refuses=_refuses,
        aliases=aliases,
        is_flat=is_flat,
        timed=TIMED,
        complete=complete,
        recorded=recorded,
    )
    return cast("Callable[[Callable[P, Tensor]], Callable[P, Tensor]]", register)


def _refuses(**arguments: Any) -> str:
    found = [x for x in arguments.values() if isinstance(x, Tensor) and x.dtype in TYPES]
    return on_cpu.refuses(found) if found else ""

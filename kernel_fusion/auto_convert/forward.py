"""What a converted model's `forward` is: a program in inference, the model's own elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from kernel_fusion.auto_convert.comparison import difference, exact
from kernel_fusion.auto_convert.graphs import NotExported, exported
from kernel_fusion.auto_convert.inputs import Inputs
from kernel_fusion.auto_convert.program import Execution, Program
from kernel_fusion.auto_convert.stats import ConversionStats
from kernel_fusion.auto_convert.weights import Weights

MOST_PROGRAMS = 8  # kept; calls of further shapes run the model's own forward
MOST_TOLD = 16  # of such calls are written down


class Forward:
    """Runs programs where no gradient is wanted, and the model's own forward where one is.

    A program serves one set of shapes; for others of the same kind a new one is made at the first
    call, which takes seconds, and compared with the model's own result. Where weights were changed,
    what follows from them is computed again.

    Args:
        model: Whose forward this is.
        kind: Of the inputs that programs are made for, see `Inputs.kind`.
        rewrites: The names of the rewrites that are made.
        execution: How programs are executed.
        threshold: The largest difference from the model's own result, by `difference`.
        stats: Where it is written what does not become a program, and which calls have none.
    """

    def __init__(
        self,
        model: nn.Module,
        kind: tuple[Any, ...],
        rewrites: Sequence[str],
        execution: Execution,
        threshold: float,
        stats: ConversionStats,
    ) -> None:
        self._model, self._kind = model, kind
        self._rewrites, self._execution = tuple(rewrites), execution
        self._threshold, self._stats = threshold, stats
        self._told: set[str] = set()  # calls without a program that were written down
        self._programs: list[tuple[tuple[Any, ...], Program | None]] = []
        self._watched = Weights(model)
        self._weights: tuple[list[int], list[int]] | None = None
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As the model's own forward."""
        own = type(self._model).forward
        if _wants_gradient_or_is_traced():
            return own(self._model, *args, **kwargs)
        weights = self._watched.look()
        if weights is None:
            return own(self._model, *args, **kwargs)
        inputs = Inputs.of(args, kwargs)
        key = inputs.key()
        if Inputs.kind_of(key) != self._kind:
            inputs = inputs.as_declared(own)
            key = inputs.key()
            if Inputs.kind_of(key) != self._kind:
                self._tell(inputs, "they are of another kind than the example of the conversion")
                return own(self._model, *args, **kwargs)
        if weights != self._weights:
            self._follow(weights)
        program = self._program(key, inputs)
        return own(self._model, *args, **kwargs) if program is None else program(inputs)

    def adopt(self, inputs: Inputs, program: Program) -> None:
        """Take a program that was made and compared already; the model is in evaluation."""
        self._weights = self._watched.look()
        self._programs = [(inputs.key(), program)]

    def _follow(self, weights: tuple[list[int], list[int]]) -> None:
        """Have programs read the weights as they are now."""
        with self._lock:
            if self._weights is None or weights[0] != self._weights[0]:
                self._programs = []  # other tensors, or moved ones
            for _, program in self._programs:
                if program is not None:
                    program.forget()
            self._weights = weights

    def _program(self, key: tuple[Any, ...], inputs: Inputs) -> Program | None:
        for other, program in self._programs:
            if other == key:
                return program
        with self._lock:
            if len(self._programs) >= MOST_PROGRAMS:
                self._tell(inputs, f"{MOST_PROGRAMS} other sizes have a program, and no more can")
                return None
            program = self._made(inputs)
            self._programs.append((key, program))
            return program

    def _tell(self, inputs: Inputs, reason: str) -> None:
        """Write down that the model's own forward runs, once for each kind and size."""
        what = f"inputs of {inputs.described()}"
        if what not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(what)
            self._stats.skip(what, reason)

    def _made(self, inputs: Inputs) -> Program | None:
        """A program for these inputs, if its result is the model's."""
        what = f"inputs of {inputs.described()}"
        with AsItWas(self._model):
            try:
                source = exported(self._model, inputs)
            except NotExported as error:
                self._stats.skip(what, str(error))
                return None
        program = Program(source, self._rewrites, self._execution)
        with exact(inputs.device), torch.no_grad():
            expected = type(self._model).forward(self._model, *inputs.args, **inputs.kwargs)
            apart = difference(program(inputs), expected)
        program.forget()  # TF32 may be on in calls
        if apart > self._threshold:
            self._stats.skip(what, f"results differ by {apart:.1e} of the largest value")
            return None
        return program

    def __getstate__(self) -> dict[str, Any]:
        # Graphs are made again where the model is copied to or loaded.
        dropped: dict[str, Any] = {
            "_programs": [], "_weights": None, "_watched": None, "_lock": None
        }  # fmt: skip
        return self.__dict__ | dropped

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._watched = Weights(self._model)


class AsItWas:
    """Gives a converted model its own forward, as long as the context lasts."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model

    def __enter__(self) -> None:
        self._forward = self._model.__dict__.pop("forward", None)

    def __exit__(self, *_: object) -> None:
        if self._forward is not None:
            self._model.__dict__["forward"] = self._forward


def _wants_gradient_or_is_traced() -> bool:
    return (
        torch.is_grad_enabled()
        or torch.is_autocast_enabled("cpu")
        or torch.is_autocast_enabled("cuda")
        or torch.compiler.is_compiling()
    )


def has_hooks(module: Any) -> bool:
    """Whether something wants to see the calls of a module."""
    return bool(module._forward_hooks or module._forward_pre_hooks)

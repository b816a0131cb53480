"""The `forward` of a converted model: a program in inference, otherwise the model's own forward."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from types import CodeType
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad

from kernel_fusion.auto_convert.comparison import difference, exact
from kernel_fusion.auto_convert.graphs import exported
from kernel_fusion.auto_convert.inputs import Inputs
from kernel_fusion.auto_convert.program import Execution, Program
from kernel_fusion.auto_convert.stats import ConversionStats
from kernel_fusion.auto_convert.watched import MOVED, OURS, NotExported, Watched
from utils.tf32 import convolutions_use_tf32, products_use_tf32

_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
# its _current_level is the level of dual tensors, -1 outside of one
_forward_mode: Any = forward_ad
MOST_PROGRAMS = 8  # calls with further shapes run the model's own forward
MOST_TOLD = 16  # recorded calls without a program


class Forward:
    """A forward that runs programs if nothing needs a gradient, else the model's own forward.

    A program serves one set of shapes. The first call with other shapes of the same `Inputs.kind`
    makes a new program, which takes seconds, and compares it with the model's own result by
    `difference`. Programs read weights at every call. They are made anew after tensors were
    exchanged or moved. After any other change of the model, its own forward runs until the change
    is undone.
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
        self._told: set[str] = set()  # recorded calls without a program
        self._programs: list[tuple[tuple[Any, ...], Program | None]] = []
        self._watched: Watched | None = None  # state of the model that programs were made of
        self._flags: tuple[bool, bool] | None = None
        self._lock = threading.RLock()

    @property
    def __code__(self) -> CodeType:
        """The code of the model's own forward, whose arguments torch.export reads."""
        return type(self._model).forward.__code__

    def scriptable(self) -> nn.Module:
        """Return a copy with the model's own forward, which torch.jit.script compiles instead."""
        own = copy.copy(self._model)
        for name in OURS:
            own.__dict__.pop(name, None)
        return own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = type(self._model).forward
        if _wants_gradient_or_is_traced():
            return own(self._model, *args, **kwargs)
        if not self._is_unchanged():
            return own(self._model, *args, **kwargs)
        inputs = Inputs.of(args, kwargs)
        key = inputs.key()
        if Inputs.kind_of(key) != self._kind:
            inputs = inputs.as_declared(own)
            key = inputs.key()
            if Inputs.kind_of(key) != self._kind:
                self._tell(
                    inputs, "the arguments differ in kind from the example of the conversion"
                )
                return own(self._model, *args, **kwargs)
        program = self._program(key, inputs)
        return own(self._model, *args, **kwargs) if program is None else program(inputs)

    def adopt(self, inputs: Inputs, program: Program, watched: Watched) -> None:
        """Adopt a program that is made and compared already; the model is in evaluation."""
        self._watched = watched
        self._programs = [(inputs.key(), program)]

    def _is_unchanged(self) -> bool:
        """Return whether programs still compute the model's results, and record why not."""
        if self._watched is None:
            if any(module.training for module in self._model.modules()):
                return False
            self._watched = Watched(self._model)
        changed = self._watched.change()
        if changed == MOVED:
            with self._lock:
                self._programs, self._watched, changed = [], Watched(self._model), None
        if changed:
            self._stats.suspend(changed)
        elif changed is None:
            self._stats.resume()
            flags = products_use_tf32(), convolutions_use_tf32()
            if flags != self._flags:
                self._forget(flags)
        return changed is None

    def _forget(self, flags: tuple[bool, bool]) -> None:
        """Let CUDA graphs be captured again, because the precision of products changed."""
        with self._lock:
            for _, program in self._programs:
                if program is not None:
                    program.forget()
            self._flags = flags

    def _program(self, key: tuple[Any, ...], inputs: Inputs) -> Program | None:
        for other, program in self._programs:
            if other == key:
                return program
        with self._lock:
            if len(self._programs) >= MOST_PROGRAMS:
                self._tell(
                    inputs,
                    f"at most {MOST_PROGRAMS} input sizes can have a program",
                )
                return None
            program = self._made(inputs)
            self._programs.append((key, program))
            return program

    def _tell(self, inputs: Inputs, reason: str) -> None:
        what = f"inputs of {inputs.described()}"
        if what not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(what)
            self._stats.skip(what, reason)

    def _made(self, inputs: Inputs) -> Program | None:
        what = f"inputs of {inputs.described()}"
        try:
            with AsItWas(self._model):
                source = exported(self._model, inputs)
            program = Program(source, self._rewrites, self._execution)
            with exact(inputs.device), torch.no_grad():
                apart = difference(program(inputs), source.expected.value)
        except NotExported as error:
            self._stats.skip(what, str(error))
            return None
        program.forget()  # later calls may allow TF32
        if apart > self._threshold:
            self._stats.skip(what, f"results differ by {apart:.1e} of the largest value")
            return None
        return program

    def __getstate__(self) -> dict[str, Any]:
        # A copied or loaded model captures its graphs anew.
        dropped: dict[str, Any] = {
            "_programs": [], "_watched": None, "_lock": None
        }  # fmt: skip
        return self.__dict__ | dropped

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


class AsItWas:
    """A context in which a converted model has its own forward."""

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
        or _torch._get_tracing_state() is not None
        or _torch._len_torch_dispatch_stack() > 0
        or _torch._len_torch_function_stack() > 0
        or _torch._functorch.peek_interpreter_stack() is not None
        or _forward_mode._current_level >= 0
    )

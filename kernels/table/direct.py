"""Detection of calls that PyTorch's dispatcher would only pass on to the kernel.

Inference mode records nothing for a gradient. If nothing else intercepts a call, the way through
the dispatcher and back into Python only costs time, as much as a short kernel's launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_TENSORS = frozenset({Tensor, Parameter})  # others are subclasses
_NUMBERS = frozenset({int, float, bool, str, type(None)})
_autograd: Any = torch.autograd
_profiler_enabled: Callable[[], bool] = _autograd._profiler_enabled
_dispatch_modes: Callable[[], int] = _torch._len_torch_dispatch_stack
_function_mode: Callable[[], bool] = _torch._is_torch_function_mode_enabled
_functorch: Callable[[], object] = _torch._functorch.peek_interpreter_stack
_tracing: Callable[[], object] = _torch._get_tracing_state


def is_watched() -> bool:
    """Return whether a compiler, a tracer, a mode or a transform of torch.func sees calls."""
    return bool(
        torch.compiler.is_compiling()
        or _dispatch_modes()
        or _function_mode()
        or _functorch() is not None
        or _tracing() is not None
    )


def device_of_plain(args: Sequence[Any]) -> int | None:
    """Return the GPU's index, or -1 for the CPU, of a call that the dispatcher would only pass on.

    None if the dispatcher has to decide: outside of inference mode, under a compiler, a tracer, a
    profiler, a mode or a transform of torch.func, and for tensor subclasses, lazily negated
    tensors, and tensors on several devices. The first of `args`, all arguments of the call, is a
    tensor.
    """
    if (
        torch.compiler.is_compiling()  # which could not trace the next condition
        or not torch.is_inference_mode_enabled()
        or is_watched()
        or _profiler_enabled()
    ):
        return None
    first = args[0]
    if first.__class__ not in _TENSORS or not (first.is_cuda or first.is_cpu):
        return None
    device: int = first.get_device()
    for each in args:
        kind: type[Any] = each.__class__
        if kind in _TENSORS:
            here = each.is_cpu if device < 0 else each.get_device() == device
            if not here or each.is_neg():
                return None
        elif kind not in _NUMBERS:
            return None
    return device

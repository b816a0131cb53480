"""Detection of calls that PyTorch's dispatcher would only pass on to the kernel.

If nothing else intercepts a call, the way through the dispatcher and back into Python only costs
time, as much as a short kernel's launch. Autograd needs no dispatcher: an autograd.Function records
the call.
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
_keys_of: Callable[[Tensor], Any] = _torch._dispatch_keys
_autograd: Any = torch.autograd
_forward_mode: Any = torch.autograd.forward_ad  # the level of dual tensors, -1 without any
_profiler_enabled: Callable[[], bool] = _autograd._profiler_enabled
_dispatch_modes: Callable[[], int] = _torch._len_torch_dispatch_stack
_function_mode: Callable[[], bool] = _torch._is_torch_function_mode_enabled
_functorch: Callable[[], object] = _torch._functorch.peek_interpreter_stack
_tracing: Callable[[], object] = _torch._get_tracing_state


def _plain_keys() -> frozenset[int]:
    """Return the dispatch keys of plain tensors, inside and outside inference mode, as numbers."""
    found: list[int] = []
    for backend in ("CPU", "CUDA"):
        names = backend, f"Autocast{backend}", f"Autograd{backend}", "ADInplaceOrView"
        sets = [_torch.DispatchKeySet(getattr(_torch.DispatchKey, name)) for name in names]
        of_inference = sets[0] | sets[1]
        found += of_inference.raw_repr(), (of_inference | sets[2] | sets[3]).raw_repr()
    return frozenset(found)


_PLAIN = _plain_keys()


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

    None if the dispatcher has to decide: under a compiler, a tracer, a profiler, a mode, forward
    mode or a transform of torch.func, and for tensor subclasses, tensors that are sparse, nested or
    lazily negated, and tensors on several devices. The first of `args`, all arguments of the call,
    is a tensor.
    """
    if (
        torch.compiler.is_compiling()  # which could not trace the next condition
        or is_watched()
        or _profiler_enabled()
        or _forward_mode._current_level >= 0
    ):
        return None
    first = args[0]
    if first.__class__ not in _TENSORS:
        return None
    keys = _keys_of(first).raw_repr()
    if keys not in _PLAIN:
        return None
    device: int = first.get_device()
    for each in args:
        kind: type[Any] = each.__class__
        if kind in _TENSORS:
            if each.get_device() != device or _keys_of(each).raw_repr() not in _PLAIN:
                return None
        elif kind not in _NUMBERS:
            return None
    return device

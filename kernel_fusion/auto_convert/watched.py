"""Detects changes of a model since a program was made of it, and the side effects of a call.

Every call of a converted model begins with this check. It therefore compares identities, in loops
of the interpreter's C code, and reads no tensor: programs read the weights in place.
"""

from __future__ import annotations

import copy
import random
import types
from collections import deque
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from itertools import chain
from operator import attrgetter
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules import module as global_hooks
from torch.utils import _pytree as pytree

from kernel_fusion.auto_convert.comparison import Outputs, device_of, exact, sharing, strides_of
from kernel_fusion.auto_convert.inputs import Inputs

_shape: Callable[[Tensor], torch.Size] = Tensor.shape.__get__  # pyright: ignore
_training = attrgetter("training")
# Dictionaries of every module that no forward reads.
UNREAD = {
    "_non_persistent_buffers_set", "_backward_pre_hooks", "_backward_hooks",
    "_is_full_backward_hook", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
}  # fmt: skip
INNER = {"_modules", "_parameters", "_buffers"}  # their keys are attributes of the module
HOOKS = {"_forward_hooks", "_forward_pre_hooks"}
_of_all_modules: Any = global_hooks
GLOBAL_HOOKS: tuple[dict[int, Any], ...] = (
    _of_all_modules._global_forward_hooks, _of_all_modules._global_forward_pre_hooks,
)  # fmt: skip
# Attributes that a conversion sets on the model itself.
OURS = {"forward", "conversion_stats", "__prepare_scriptable__"}
PLAIN = (
    int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device, torch.Size,
    torch.layout, torch.memory_format, Enum, slice, range,
)  # fmt: skip
LISTS = (list, tuple, set, frozenset, deque)
# Objects of these classes have no settings of their own, or none visible to Python.
CLOSED = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
    *PLAIN,
)  # fmt: skip
MOVED = "its tensors were replaced or moved"


class NotExported(Exception):
    """Raised if a model cannot become a graph; the message says why."""


class Watched:
    """The state of a model in evaluation: modules, tensors, settings, hooks and classes.

    It follows attributes through lists, dictionaries and objects with attributes. It leaves out the
    model's own hooks, which run outside of its forward.
    """

    def __init__(self, model: nn.Module) -> None:
        self.modules: list[Any] = []
        self.tensors: dict[str, Tensor] = {}  # by name
        self._registered = list(model.modules())
        self._dicts: list[tuple[str, dict[Any, Any]]] = []
        self._lists: list[tuple[str, Any]] = []
        self._arrays: list[tuple[str, Any, bytes]] = []
        self._walk(model)
        bases = dict.fromkeys(chain.from_iterable(type(each).__mro__ for each in self.modules))
        self._classes = [each for each in bases if each is not object]
        # Views follow later changes, views of classes too.
        self._views: list[Any] = [found.values() for _, found in self._dicts]
        self._views += [found for _, found in self._lists]
        self._views += [each.__dict__.values() for each in self._classes]
        self._places = _places(self.tensors)
        self._take()

    def change(self) -> str | None:
        """Return how the model changed since it was recorded, as a phrase; None if it did not.

        MOVED means that only tensors changed, "" that the model is in training.
        """
        if any(map(_training, self._registered)):
            return ""
        if any(GLOBAL_HOOKS):
            return "global module hooks need to see its calls"
        if not self._is_as_kept():
            changed = self._first_change()
            if changed is not None:
                return changed
            self._take()  # the values are equal, but other objects
        for name, array, contents in self._arrays:
            if array.tobytes() != contents:
                return f"'{name}' was written to"
        try:
            moved = _places(self.tensors) != self._places
        except RuntimeError:  # fake tensors have no memory
            moved = True
        return MOVED if moved else None

    def hooked(self) -> str | None:
        """Return the name of a module with hooks on its forward, or None."""
        for name, found in self._dicts:
            if any(found.get(each) for each in HOOKS):
                return name or "the model"
        return "all modules" if any(GLOBAL_HOOKS) else None

    def _take(self) -> None:
        self._before, self._lengths = [*self._named()], [*map(len, self._views)]
        # Most views are empty, above all hooks; for these, comparing lengths suffices.
        self._filled = [found for found in self._views if found]
        self._keyed = [found for _, found in self._dicts if found]
        self._kept, self._names = self._identities(), [*chain.from_iterable(self._keyed)]

    def _is_as_kept(self) -> bool:
        return (
            [*map(len, self._views)] == self._lengths
            and self._identities() == self._kept
            and [*chain.from_iterable(self._keyed)] == self._names
        )

    def _identities(self) -> bytes:
        """Return the addresses of all values; references in `_before` prevent their reuse."""
        count = sum(self._lengths)
        found: Any = np.fromiter(chain.from_iterable(self._filled), object, count)
        return found.tobytes()

    def _named(self) -> Iterator[tuple[str, Any]]:
        for place, found in self._dicts:
            yield from ((_join(place, key), value) for key, value in found.items())
        for place, each in self._lists:
            yield from ((f"{place}[{n}]", value) for n, value in enumerate(each))
        for each in self._classes:
            yield from ((f"{each.__name__}.{name}", x) for name, x in each.__dict__.items())

    def _first_change(self) -> str | None:
        """Return the first value that changed, as a phrase; None without a change.

        MOVED means that only tensors changed.
        """
        before = [pair for pair in self._before if not _is_ours(pair[0])]
        now = [pair for pair in self._named() if not _is_ours(pair[0])]
        names, others = ([name for name, _ in pairs] for pairs in (before, now))
        if names != others:
            apart = set(names) ^ set(others)
            name = next((each for each in [*others, *names] if each in apart), "the order")
            return f"'{name}' was added or removed"
        moved = None
        for (name, old), (_, new) in zip(before, now, strict=True):
            if old is new or _equal(old, new):
                continue
            if not (isinstance(old, Tensor) and isinstance(new, Tensor)):
                return f"'{name}' was changed"
            moved = MOVED
        return moved

    def _walk(self, model: nn.Module) -> None:
        waiting: deque[tuple[str, Any]] = deque([("", model)])
        seen: set[int] = set()
        while waiting:
            name, value = waiting.popleft()
            if id(value) in seen or isinstance(value, CLOSED):
                continue
            seen.add(id(value))
            if isinstance(value, Tensor):
                self.tensors[name] = value
            elif isinstance(value, np.ndarray):
                array = cast("np.ndarray[Any, Any]", value)
                self._arrays.append((name, array, array.tobytes()))
            elif isinstance(value, LISTS):
                items = cast("Collection[Any]", value)
                self._lists.append((name, items))
                waiting.extend((f"{name}[{n}]", each) for n, each in enumerate(items))
            elif isinstance(value, dict) or hasattr(value, "__dict__"):
                found = cast("dict[Any, Any]", value if isinstance(value, dict) else vars(value))
                self._dicts.append((name, found))
                if isinstance(value, nn.Module):
                    self.modules.append(value)
                unread = UNREAD | OURS | HOOKS if value is model else UNREAD
                waiting.extend((_join(name, k), x) for k, x in found.items() if k not in unread)


def _is_ours(name: str) -> bool:
    return name in OURS or ".__" in name


def _join(place: str, key: Any) -> str:
    if key in INNER:
        return place
    return f"{place}.{key}" if place else str(key)


def _places(tensors: dict[str, Tensor]) -> list[Any]:
    found = tensors.values()
    return [*map(Tensor.data_ptr, found), *map(_shape, found), *map(Tensor.stride, found)]


def _equal(old: Any, new: Any) -> bool:
    if type(old) is not type(new):
        return False
    if isinstance(old, tuple):
        both = cast("tuple[Any, ...]", old), cast("tuple[Any, ...]", new)
        return len(both[0]) == len(both[1]) and all(map(_equal, *both))
    is_plain = isinstance(old, PLAIN)
    return is_plain and repr(cast("object", old)) == repr(new)  # 0.0 and -0.0 differ


class Trial:
    """A throwaway copy of a model, called to find its results and side effects."""

    def __init__(self, model: nn.Module) -> None:
        self._copy = copied_model(model)
        self._watched = Watched(self._copy)
        self._contents = {name: x.clone() for name, x in self._watched.tensors.items()}

    def run(self, inputs: Inputs) -> Outputs:
        """Call the copy with copies of the inputs, without TF32.

        Raises:
            NotExported: If hooks would see the call, or the model draws random numbers,
                or changes itself or the inputs.
        """
        hooked = self._watched.hooked()
        if hooked is not None:
            raise NotExported(f"hooks of {hooked} need to see its calls")
        given, untouched = inputs.twin(), inputs.twin()
        device = device_of(self._copy)
        with forked(device), exact(device):
            states = _random_states(device)
            result = self._copy(*given.args, **given.kwargs)
            is_random = _random_states(device) != states
        changed = self._watched.change()
        if changed == MOVED:
            changed = "its tensors were replaced"
        for name, x in self._watched.tensors.items():
            if changed is None and not _same(x, self._contents[name]):
                changed = f"'{name}' was written to"
        if changed is not None:
            raise NotExported(f"its forward changes the model: {changed}")
        if is_random:
            raise NotExported("it draws random numbers in evaluation mode")
        leaves = given.flat()[0]
        if not all(map(_same, leaves, untouched.flat()[0])):
            raise NotExported("it writes to its input")
        found, _ = pytree.tree_flatten(result)
        shared = sharing(found, leaves, self._watched.tensors)
        return Outputs(result, shared, tuple(map(strides_of, found)))


def copied_model(model: nn.Module) -> Any:
    """Return a deep copy without autograd's history.

    Raises:
        ValueError: If an attribute refuses a copy.
    """
    held = Watched(model).tensors.values()
    memo = {id(x): x.detach().clone() for x in held if x.grad_fn is not None}
    try:
        with torch.inference_mode(False):  # tensors made in inference mode could not be trained
            return copy.deepcopy(model, memo)
    except (TypeError, RuntimeError, AttributeError, NotImplementedError) as error:
        raise ValueError(f"{type(model).__name__} cannot be copied: {error}") from error


def forked(device: torch.device) -> Any:
    """Return a context that restores PyTorch's random state on exit."""
    devices = [device] if device.type == "cuda" else []
    return torch.random.fork_rng(devices)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _random_states(device: torch.device) -> list[Any]:
    _, words, *rest = cast("tuple[Any, ...]", np.random.get_state())
    torchs = [torch.get_rng_state()]
    if device.type == "cuda":
        torchs.append(torch.cuda.get_rng_state(device))
    return [*(bytes(x.numpy()) for x in torchs), random.getstate(), words.tobytes(), rest]


def _same(x: Any, y: Any) -> bool:
    """Return whether two tensors have equal numbers; NaN equals NaN."""
    if not isinstance(x, Tensor):
        return True
    return torch.equal(x, y) or bool(((x == y) | ((x != x) & (y != y))).all())

"""Tells whether a model's weights are those of the last call: a look at each tensor, no copy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from torch import Tensor, nn

from utils.tf32 import convolutions_use_tf32, products_use_tf32

_values: Callable[[dict[str, Any]], Any] = dict.values  # pyright: ignore
_training = attrgetter("training")
_hooks, _pre_hooks = attrgetter("_forward_hooks"), attrgetter("_forward_pre_hooks")
_address = Tensor.data_ptr
_version: Callable[[Tensor], int] = Tensor._version.__get__  # pyright: ignore


class _Found(NamedTuple):
    """Where a model keeps what it has, and what identified its layers."""

    modules: list[Any]
    children: list[dict[str, Any]]
    ids: list[int]
    tensors: list[dict[str, Any]]


class Weights:
    """Looks at a model's weights. Every look finds tensors and layers that were exchanged.

    Loops are those of the interpreter's C code: a look is a part of every call of a converted
    model, and one at ResNet-50's 320 tensors takes half as long as a walk in Python. Thread-safe.

    Args:
        model: Whose weights are looked at.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._found: _Found | None = None  # by the first look: a copied model has no layers yet

    def look(self) -> tuple[list[int], list[int]] | None:
        """What identifies the weights and the precision of products, and their versions.

        None where no program may run: in training, or where hooks want to see what happens inside.
        """
        here = self._found
        if here is None or _ids(here.children) != here.ids:
            here = self._found = _find(self._model)
        if any(map(_training, here.modules)):
            return None
        inside = here.modules[1:]
        if any(map(_hooks, inside)) or any(map(_pre_hooks, inside)):
            return None
        found = chain.from_iterable(map(_values, here.tensors))
        tensors = [x for x in found if x is not None]
        try:
            versions = [products_use_tf32(), convolutions_use_tf32(), *map(_version, tensors)]
            return [*map(id, tensors), *map(_address, tensors)], versions
        except RuntimeError:
            return None  # a tensor of inference mode, whose changes nobody counts


def _find(model: nn.Module) -> _Found:
    modules: list[Any] = list(model.modules())
    children = [module._modules for module in modules]
    tensors = [each for module in modules for each in (module._parameters, module._buffers)]
    return _Found(modules, children, _ids(children), tensors)


def _ids(children: list[dict[str, Any]]) -> list[int]:
    return [*map(id, chain.from_iterable(map(_values, children)))]

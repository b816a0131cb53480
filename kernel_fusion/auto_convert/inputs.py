"""Inputs of a model: built from a shape or from examples, and random variants of them."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree


@dataclass(frozen=True)
class Inputs:
    """The arguments of a call; named ones are sorted."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @classmethod
    def of(cls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Inputs:
        return cls(tuple(args), {name: kwargs[name] for name in sorted(kwargs)})

    def as_declared(self, function: Callable[..., Any]) -> Inputs:
        """Return the same call of `function(self, ...)` in one normal form.

        Arguments become positional if possible, and default values are left out. A call that does
        not fit the signature stays unchanged, so that the function itself reports the error.
        """
        try:
            signature = _signature(function)
            bound = signature.bind(None, *self.args, **self.kwargs)
        except (TypeError, ValueError):
            return self
        if all(each.kind in _BY_NAME for each in signature.parameters.values()):
            for name, each in signature.parameters.items():
                if name in bound.arguments and _is_default(bound.arguments[name], each.default):
                    del bound.arguments[name]
        return Inputs.of(bound.args[1:], bound.kwargs)

    def flat(self) -> tuple[list[Any], pytree.TreeSpec]:
        """Return tensors and values in order, and their structure."""
        return pytree.tree_flatten((self.args, self.kwargs))

    def key(self) -> tuple[Any, ...]:
        """Return the structure, layouts, dtypes, devices and other values.

        Inputs with equal keys can use the same program.
        """
        leaves, spec = self.flat()
        is_flat = spec.num_leaves == len(self.args) + len(self.kwargs)
        structure = (len(self.args), *self.kwargs) if is_flat else str(spec)
        return structure, tuple(
            (x.shape, _stride(x), x.dtype, x.device) if isinstance(x, Tensor) else _value(x)
            for x in leaves
        )

    def kind(self) -> tuple[Any, ...]:
        return self.kind_of(self.key())

    @staticmethod
    def kind_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
        structure, leaves = key
        return structure, tuple((len(x[0]), *x[2:]) if len(x) == 4 else x for x in leaves)

    def twin(self) -> Inputs:
        """Return the same values in other memory.

        Tensors that share memory here also share memory there; strides are the same.
        """
        memories: dict[int, Any] = {}

        def copied(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            if x.layout is not torch.strided:
                return x.detach().clone()
            memory = x.untyped_storage()
            if memory.data_ptr() not in memories:
                memories[memory.data_ptr()] = memory.clone()
            new = torch.empty(0, dtype=x.dtype, device=x.device)
            place = x.storage_offset(), x.size(), x.stride()
            return new.set_(memories[memory.data_ptr()], *place)

        return Inputs(*pytree.tree_map(copied, (self.args, self.kwargs)))

    @property
    def device(self) -> torch.device:
        """The device of the first tensor; the CPU without one."""
        leaves, _ = self.flat()
        return next((x.device for x in leaves if isinstance(x, Tensor)), torch.device("cpu"))

    def described(self) -> str:
        leaves, _ = self.flat()
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        return ", ".join(f"{str(x.dtype)[6:]} {list(x.shape)}" for x in tensors) or "no tensors"

    def random(self, seed: int) -> Inputs:
        """Return inputs of the same structure, with values between the extremes of these.

        Integers are only permuted, so that a number that indexes a table still does.
        """
        generator = torch.Generator().manual_seed(seed)

        def changed(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            if x.is_floating_point():
                return _between(x, torch.rand(x.shape, generator=generator))
            if x.dtype != torch.int64 or x.numel() < 2:
                return x  # a permuted mask would mean something else
            order = torch.randperm(x.numel(), generator=generator).to(x.device)
            return x.flatten()[order].view(x.shape)

        return Inputs(*pytree.tree_map(changed, (self.args, self.kwargs)))


_BY_NAME = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
}


# Immutable values.
PLAIN = (int, bool, str, bytes, type(None), torch.dtype, torch.device, torch.Size, Enum)


def _stride(x: Tensor) -> Any:
    return x.stride() if x.layout is torch.strided else x.layout


def _value(x: Any) -> tuple[Any, ...]:
    """Return a key that is equal for equal plain values; a mutable object equals no other."""
    if isinstance(x, float | complex):
        return x.__class__, repr(x)  # -0.0 differs from 0.0, and NaN equals NaN
    return (x.__class__, x) if isinstance(x, PLAIN) else (x.__class__, object())


def _between(x: Tensor, share: Tensor) -> Tensor:
    """Interpolate from the least to the largest of x, or from -2 to 2 without a finite range."""
    least, largest = (float(f(x)) for f in (torch.min, torch.max)) if x.numel() else (0.0, 0.0)
    if not math.isfinite(largest - least) or least == largest:
        least, largest = -2.0, 2.0
    return (share.double() * (largest - least) + least).to(x)


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        isinstance(default, bool | int | float | str)
        and type(value) is type(default)
        and value == default
    )


@functools.lru_cache(maxsize=256)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def inputs_of(model: nn.Module, given: Any, device: torch.device) -> Inputs:
    """Return the inputs for a shape, a tensor, or positional or keyword arguments.

    The model's first layer with parameters decides whether a shape means token ids.

    Raises:
        ValueError: If `given` is none of these.
    """
    if isinstance(given, Inputs):
        found = given
    elif _is_shape(given):
        found = Inputs((_of_shape(model, tuple(given)),), {})
    elif isinstance(given, Tensor):
        found = Inputs((given,), {})
    elif isinstance(given, Mapping):
        found = Inputs.of((), cast("Mapping[str, Any]", given))
    elif isinstance(given, tuple | list):
        found = Inputs.of(cast("Sequence[Any]", given), {})
    else:
        raise ValueError(
            f"input_shape is a {type(given).__name__}; expected sizes, a tensor, a tuple of "
            "arguments or a dictionary of named ones"
        )

    def moved(x: Any) -> Any:
        return x.to(device) if isinstance(x, Tensor) else x

    return Inputs(*pytree.tree_map(moved, (found.args, found.kwargs)))


def _is_shape(given: Any) -> bool:
    return (
        isinstance(given, tuple | list)
        and len(cast("Sequence[Any]", given)) > 0
        and all(type(n) is int and n >= 0 for n in cast("Sequence[Any]", given))
    )


def _of_shape(model: nn.Module, shape: tuple[int, ...]) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    layers = (module for module in model.modules() if next(module.children(), None) is None)
    first = next((layer for layer in layers if next(layer.parameters(), None) is not None), None)
    if isinstance(first, nn.Embedding):
        return torch.randint(first.num_embeddings, shape, generator=generator)
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    dtype = torch.float32 if parameter is None else parameter.dtype
    return torch.randn(shape, generator=generator).to(dtype)

"""The signature of an operation, written once: how calls are bound to it, and its schema."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

import torch

from utils.misfits import misfit

P = ParamSpec("P")
R = TypeVar("R")
Bind = Callable[..., tuple[Any, ...]]  # returns all arguments of a call, in order
Tails = Sequence[tuple[Any, ...]]  # by the number of given arguments, the defaults of the others


def needed_by(arguments: inspect.Signature) -> int:
    """Return how many arguments a call must pass."""
    return sum(each.default is each.empty for each in arguments.parameters.values())


def tails_of(arguments: inspect.Signature) -> Tails:
    defaults = tuple(each.default for each in arguments.parameters.values())
    return [defaults[given:] for given in range(len(defaults) + 1)]


def in_order(
    arguments: inspect.Signature, complete: Callable[..., tuple[Any, ...]] | None = None
) -> Bind:
    """Return a function that returns all arguments of a call in order, with defaults.

    `complete` replaces arguments. A number in place of a list becomes one, which the dispatcher
    needs. The function raises TypeError if an argument is missing or unknown.
    """
    tails, lists = tails_of(arguments), lists_in(arguments)
    needed, most = needed_by(arguments), len(arguments.parameters)

    def bound(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if not kwargs and needed <= len(args) <= most:  # binding takes microseconds
            return args + tails[len(args)]
        call = arguments.bind(*args, **kwargs)
        call.apply_defaults()
        return call.args

    def completed(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if not kwargs and needed <= len(args) <= most:
            args += tails[len(args)]
        else:
            args = bound(*args, **kwargs)
        return args if complete is None else complete(*args)

    if not lists:
        return bound if complete is None else completed

    def listed(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        given = completed(*args, **kwargs)
        for at in lists:
            value = given[at]
            if not (value is None or isinstance(value, list)):
                sizes = [value] if isinstance(value, int) else list(value)
                given = (*given[:at], sizes, *given[at + 1 :])
        return given

    return listed


def filling(run: Callable[..., R], tails: Tails) -> Callable[..., R]:
    """Return `run`, called with all arguments: the dispatcher omits trailing ones with defaults."""

    def filled(*args: Any) -> R:
        return run(*args, *tails[len(args)])

    return filled


def lists_in(arguments: inspect.Signature) -> list[int]:
    """Return the places of the arguments that may be a number or a list."""
    annotations = [each.annotation for each in arguments.parameters.values()]
    return [at for at, each in enumerate(annotations) if _takes_number_or_list(each)]


def dispatched(arguments: inspect.Signature, hidden: int) -> Callable[..., Any]:
    """Return a function with the dispatcher's signature.

    The dispatcher takes lists of numbers and returns the hidden results.
    """

    def function(*_: Any, **__: Any) -> Any: ...

    told = [
        each.replace(annotation=_in_schema(each.annotation))
        for each in arguments.parameters.values()
    ]
    returned: Any = arguments.return_annotation
    if hidden:
        returned = tuple.__class_getitem__((torch.Tensor,) * (results_of(arguments) + hidden))
    declared = arguments.replace(parameters=told, return_annotation=returned)
    vars(function)["__signature__"] = declared
    return function


def results_of(arguments: inspect.Signature) -> int:
    """Return the number of tensors that a function with this signature returns."""
    returned = arguments.return_annotation
    return 1 if returned is torch.Tensor else len(get_args(returned))


def explained(name: str, run: Callable[P, R]) -> Callable[P, R]:
    """Make a failing call raise TypeError if an argument does not match its annotation.

    The dispatcher, or a function behind it, would name itself instead of the operation.
    """

    @functools.wraps(run)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return run(*args, **kwargs)
        except Exception as error:
            found = misfit(inspect.signature(run), args, kwargs)
            if found:
                raise TypeError(f"{name}: {found}") from error
            raise

    return call


def _in_schema(annotation: Any) -> Any:
    """Return the type for PyTorch's schema, which has lists and no number in place of a list."""
    origin, of = get_origin(annotation), get_args(annotation)
    if origin is Sequence:
        return list.__class_getitem__(of)
    if origin is UnionType and any(map(_is_list, of)):
        return Union[tuple(_in_schema(each) for each in of if each is not int)]  # noqa: UP007
    return annotation


def _takes_number_or_list(annotation: Any) -> bool:
    of = get_args(annotation)
    return get_origin(annotation) is UnionType and int in of and any(map(_is_list, of))


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is Sequence
